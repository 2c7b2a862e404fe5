#!/usr/bin/env python3
"""Runs tools/ladder-table on results in the format that the command prints. ladder_table_test.py --root ROOT"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path()
HEADING = ("m,n,k,layout,dtype,acc,name,label,tflops,registers,spill_bytes,spill_store_bytes,spill_load_bytes,"
           "stack_bytes,smem_bytes,constant_bytes,warps_per_sm,gpu\n")


def row(label, tflops, size=1024, gpu="NVIDIA H200", dtype="f16", resources="40,0,0,0,8,4096,624,32"):
    name = {"cublas": "hgemm_cublas", "torch": "torch_mm"}.get(label, "hgemm_" + label)
    return f"{size},{size},{size},nn,{dtype},{dtype},{name},{label},{tflops},{resources},{gpu}\n"


class LadderTableTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name)

    def table(self, *words, expect=0):
        done = subprocess.run([sys.executable, str(TOOL), *words], capture_output=True, text=True, timeout=60,
                              check=False, cwd=self.path)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stderr if expect else done.stdout

    def csv(self, name, *rows, heading=HEADING):
        (self.path / name).write_text(heading + "".join(rows), encoding="utf-8")
        return name

    def test_sizes_and_gpus_stand_side_by_side(self):
        library = ",,,,,,,"
        h200 = self.csv("h200.csv", row("naive", 4), row("cublas", 700, resources=library), row("fast", 500),
                        row("naive", 5, 4096), row("cublas", 710, 4096, resources=library), row("fast", 600.06, 4096))
        h100 = self.csv("h100.csv", row("naive", 3, gpu="NVIDIA H100 80GB HBM3"), row("fast", "", gpu="NVIDIA H100"),
                        row("torch", 9, gpu="NVIDIA H100", resources=library))
        text = self.table(h200, h100)
        for line in ("## f16 with f16 sums, TFLOP/s",
                     "| rung | 1024³ H100 | 1024³ H200 | 4096³ H200 | registers | stack | spill stores | spill loads | smem | "
                     "constant | warps/SM |",
                     "| `naive` | **3.0** | 4.0 | 5.0 | 40 | 8 | 0 | 0 | 4096 | 624 | 32 |",
                     "| `fast` | - | **500.0** | **600.1** | 40 | 8 | 0 | 0 | 4096 | 624 | 32 |",
                     "| `cublas` | - | 700.0 | 710.0 | - | - | - | - | - | - | - |",
                     "| `torch` | 9.0 | - | - | - | - | - | - | - | - | - |"):
            self.assertIn(line + "\n", text)
        self.assertLess(text.index("`fast`"), text.index("`cublas`"))
        self.assertNotIn("material", text)

    def test_resources_stand_beside_those_that_the_material_states(self):
        name = self.csv("s8.csv", row("s8+128x256+t8x16", 30, dtype="s8", resources="255,16,8,8,24,50176,624,8"),
                        row("s8+other", 20, dtype="s8"))
        text = self.table(name)
        self.assertIn("| `s8+128x256+t8x16` | 255 / 255 | 24 / 96 | 8 / 284 | 8 / 196 | 50176 / 49152 | 624 / 388 |", text)
        self.assertEqual(text.count("s8+other"), 1)

    def test_old_files_have_no_gpu_and_fewer_columns(self):
        old = "m,n,k,layout,dtype,acc,name,label,tflops,registers\n"
        name = self.csv("old.csv", "64,32,16,nn,f16,f16,x,fast,7,40\n", old, "64,32,16,nn,f16,f16,x,fast,8,40\n", heading=old)
        self.assertIn("give it as NAME=old.csv", self.table(name, expect=1))
        text = self.table("H200=old.csv")
        self.assertIn("| 64×32×16 H200 |", text)
        self.assertIn("| `fast` | **8.0** | 40 | - |", text)

    def test_what_is_no_result_is_an_error(self):
        for name, message in ((self.csv("none.csv", row("fast", "")), "no rung was measured"), ("nowhere.csv", "cannot read"),
                              (self.csv("other.csv", heading="m,n\n"), "other.csv has no column k")):
            self.assertIn(message, self.table(name, expect=1))


def main() -> int:
    global TOOL
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    TOOL = options.root.resolve() / "tools/ladder-table"
    program = unittest.main(argv=[sys.argv[0], *rest], exit=False, verbosity=2)
    return 0 if program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
