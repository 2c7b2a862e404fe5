#!/usr/bin/env python3
"""Runs tools/guide_numbers on small made-up trees and on this source tree, and checks the rungs that the guide names.

guide_test.py --root ROOT
"""

import argparse
import csv
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path()
HEADING = "m,n,k,layout,dtype,acc,name,label,tflops,warps_per_sm,refusal\n"
PAGE = """# A step

<!-- gain: slow -> fast one -->
what an earlier run wrote
<!-- /gain -->

Text between.

<!-- gain: fast one -> slow -->
<!-- /gain -->
"""


def row(label, tflops, size=4096, acc="f16", warps=16):
    return f"{size},{size},{size},nn,f16,{acc},hgemm,{label},{tflops},{warps},\n"


class GuideTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        for name in ("docs/guide", "docs/results/raw"):
            (self.root / name).mkdir(parents=True)
        self.page = self.root / "docs/guide/01-step.md"
        self.page.write_text(PAGE, encoding="utf-8")

    def csv(self, text, name="ladder.csv"):
        (self.root / "docs/results/raw" / name).write_text(text, encoding="utf-8")

    def faults(self, text):
        """The output of --check for a page docs/page.md, beside docs/results/r.md and docs/results/raw/r.csv."""
        self.page.unlink(missing_ok=True)
        (self.root / "docs/results/r.md").write_text("| 12.34 | 11,000 | 7e-4 |\n", encoding="utf-8")
        self.csv("56.7\n", "r.csv")
        (self.root / "docs/page.md").write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, str(ROOT / "tools/guide_numbers"), "--root", str(self.root), "--check"],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1 if done.stderr else 0)
        return done.stderr

    def run_tool(self, *words, expect=0):
        done = subprocess.run([sys.executable, str(ROOT / "tools/guide_numbers"), "--root", str(self.root), *words],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stderr

    def test_results_are_written_between_the_markers(self):
        # The guide does not compare other sizes and accumulators.
        others = row("slow", 99, size=8192) + row("slow", 98, acc="f32")
        self.csv(HEADING + row("slow", 12.34) + others + row("fast one", 45.6))
        self.assertIn("01-step.md", self.run_tool("--check", expect=1))
        self.assertEqual(self.page.read_text(encoding="utf-8"), PAGE)
        self.run_tool()
        text = self.page.read_text(encoding="utf-8")
        self.assertIn("`slow` → `fast one`: 12.3 → 45.6 TFLOP/s, 3.70×", text)
        self.assertIn("`fast one` → `slow`: 45.6 → 12.3 TFLOP/s, 0.27×", text)
        self.assertIn("hotgemm ladder --rung 'slow,fast one'", " ".join(text.split()))
        self.assertNotIn("an earlier run", text)
        self.assertIn("\n\nText between.\n\n", text)
        self.run_tool("--check")
        self.run_tool()
        self.assertEqual(self.page.read_text(encoding="utf-8"), text)

    def test_a_change_of_the_warps_on_an_sm_is_said(self):
        others = row("slow", 99, size=8192, warps=64) + row("slow", 98, acc="f32", warps=64)
        self.csv(HEADING + row("slow", 10, warps=24) + others + row("fast one", 37, warps=16))
        self.run_tool()
        text = " ".join(self.page.read_text(encoding="utf-8").split())
        self.assertIn("10.0 → 37.0 TFLOP/s, 3.70×, with 24 → 16 warps on an SM ([all rungs]", text)
        self.assertIn("37.0 → 10.0 TFLOP/s, 0.27×, with 16 → 24 warps on an SM ([all rungs]", text)
        self.run_tool("--check")

    def test_equal_or_unknown_warps_are_not_mentioned(self):
        for slow, fast in ((16, 16), (16, ""), ("", 16), ("", "")):  # cublas has no warps per SM
            self.csv(HEADING + row("slow", 10, warps=slow) + row("fast one", 37, warps=fast))
            self.run_tool()
            text = " ".join(self.page.read_text(encoding="utf-8").split())
            self.assertIn("10.0 → 37.0 TFLOP/s, 3.70× ([all rungs]", text)
            self.assertNotIn("warps", text)

    def test_other_sizes_come_from_the_results_of_sizes(self):
        self.page.write_text("<!-- gain: slow -> fast one @ 8192, 16384 -->\n<!-- /gain -->\n", encoding="utf-8")
        self.csv(HEADING + row("slow", 1, size=8192) + row("fast one", 9, size=8192))
        self.assertNotIn("TFLOP/s", self.run_tool() + self.page.read_text(encoding="utf-8"))
        sizes = row("slow", 10, size=8192) + row("fast one", 11.3, size=8192) + row("slow", 20, size=16384, warps=8)
        self.csv(HEADING + sizes, "ladder-sizes.csv")
        self.assertIn("16384x16384x16384", self.run_tool(expect=1))
        self.csv(HEADING + sizes + row("fast one", 19, size=16384), "ladder-sizes.csv")
        self.run_tool()
        text = " ".join(self.page.read_text(encoding="utf-8").split())
        self.assertIn("at 8192³ 10.0 → 11.3 TFLOP/s, 1.13×; at 16384³ 20.0 → 19.0 TFLOP/s, 0.95×, with 8 → 16", text)
        self.assertIn("--rung 'slow,fast one' --shape 8192x8192x8192,16384x16384x16384`", text)

    def test_a_rung_that_has_changed_has_no_speed(self):
        self.csv(HEADING + row("slow", 10) + row("fast one", 37))
        self.csv("# comment\nfast one\n", "ladder-changed.txt")
        self.run_tool()
        text = " ".join(self.page.read_text(encoding="utf-8").split())
        self.assertIn("Not measured since the last change of `fast one`. Run `hotgemm ladder", text)
        self.assertNotIn("TFLOP/s", text)

    def test_numbers_are_in_the_files_that_their_sentence_cites(self):
        link = "[r](results/r.md)"
        for text in (f"It takes 12.3 µs ({link}). Nine and 9 are counted.", f"| 12 | 11000 | {link} |\n| 99 | none |",
                     f"All ({link}):\n\n| 12.34 | 7e-4 |", f"`99` f16 at 4096³ on sm_90 by H200 in {link}",
                     f"{link} and [csv](results/raw/r.csv) have 57 and 12.", "Counted: 99 bytes."):
            with self.subTest(text=text):
                self.assertEqual(self.faults(text), "")
        for text in (f"It takes 12.4 µs ({link}).", f"| 57 | {link} |", f"All ({link}):\n\n| 12.34 |\n| 56 |",
                     f"All ({link}):\n\n    56 µs", f"7.1e-4, by {link}", "[98](results/r.md)"):
            with self.subTest(text=text):
                self.assertIn("docs/page.md", self.faults(text))

    def test_a_number_of_a_gpu_has_a_source(self):
        for text in ("On an H200 it takes 12 µs, by [r](results/r.md).",
                     "On an H200 it takes 12 µs. See [r](results/r.md).", "It takes 99 µs on an H100 (commit 0123abc).", "It runs on an H200."):
            with self.subTest(text=text):
                self.assertEqual(self.faults(text), "")
        for text in ("On an H200 it takes 12 µs.", "On an H100 it takes 99 µs. See [r](results/r.md)."):
            with self.subTest(text=text):
                self.assertIn("docs/page.md", self.faults(text))

    def test_without_results_it_says_how_to_get_them(self):
        self.run_tool()
        text = self.page.read_text(encoding="utf-8")
        self.assertIn("Run `hotgemm ladder --rung 'slow,fast one'` to see it on your GPU.", text)
        self.assertNotIn("TFLOP/s", text)
        self.run_tool("--check")

    def test_a_label_without_a_speed_is_an_error(self):
        for more in ("", row("fast one", ""), row("fast one", 2, size=8192)):
            self.csv(HEADING + row("slow", 1) + more)
            for option in ([], ["--check"]):
                message = self.run_tool(*option, expect=1)
                self.assertIn("01-step.md", message)
                self.assertIn("fast one", message)
        self.assertEqual(self.page.read_text(encoding="utf-8"), PAGE)

    def test_a_marker_without_its_other_half_is_an_error(self):
        for broken in (PAGE.replace("<!-- /gain -->", "", 1), PAGE + "<!-- gain: slow - fast one -->\n"):
            self.page.write_text(broken, encoding="utf-8")
            self.assertIn("01-step.md", self.run_tool(expect=1))

    def test_results_of_another_kind_are_an_error(self):
        self.csv("problem,us\n1,2\n")
        self.assertIn("no column m", self.run_tool(expect=1))

    def test_the_pages_of_this_tree_are_up_to_date(self):
        self.root = ROOT
        self.run_tool("--check")

    def test_registers_on_pages_are_those_of_the_results(self):
        with open(ROOT / "docs/results/raw/ladder.csv", encoding="utf-8") as file:
            registers = {row["label"]: row["registers"] for row in csv.DictReader(file) if row["acc"] == "f16"}
        tiles = "mma2x4+warp4x4x2+stage2+dsmem"
        for page, pattern, rungs in (
                ("01-naive", r"The compiler takes (\d+) here", ["naive"]),
                ("07-async-copy", r"For sm_90a the compiler gives a thread (\d+) instead of (\d+)",
                 ["wmma4x2+warp2x4+async", "wmma4x2+warp2x4"]),
                ("14-register-double-buffers", rf"For sm_90a `{re.escape(tiles)}` takes (\d+) registers and (\d+) with `\+rr`",
                 [tiles, f"{tiles}+rr"])):
            text = " ".join((ROOT / f"docs/guide/{page}.md").read_text(encoding="utf-8").split())
            with self.subTest(page=page):
                self.assertEqual(list(re.search(pattern, text).groups()), [registers[rung] for rung in rungs])

    def test_speeds_on_the_pages_of_large_tiles_are_those_of_the_results(self):
        with open(ROOT / "docs/results/raw/ladder.csv", encoding="utf-8") as file:
            rows = {(row["label"], row["acc"]): row for row in csv.DictReader(file) if row["m"] == "4096"}
        store = (ROOT / "docs/guide/15-collective-store.md").read_text(encoding="utf-8")
        time = float(rows["ours: mma256x256", "f16"]["us_median"])
        self.assertIn(f"`ours: mma256x256`, with f16 sums, takes {time:.0f} µs", store)
        table = (ROOT / "docs/guide/16-hopper.md").read_text(encoding="utf-8")
        for label in ("ours: mma256x128", "ours: wgmma128x128", "cublas"):
            f16, f32 = (float(rows[label, acc]["tflops"]) for acc in ("f16", "f32"))
            with self.subTest(label=label):
                self.assertIn(f"| `{label}` | {f16:.0f} | {f32:.0f} |", table)

    def test_speeds_on_pages_of_families_are_those_of_the_results(self):
        speeds = {}
        for name in ("ladder", "ladder-sizes"):
            with open(ROOT / f"docs/results/raw/{name}.csv", encoding="utf-8") as file:
                for row in csv.DictReader(file):
                    if row["tflops"]:
                        speeds[row["label"], row["m"], row["acc"]] = float(row["tflops"])
        wmma, mma = "ours: wmma256x128", "ours: mma256x128"
        fma = {acc: max(speed for (label, m, sums), speed in speeds.items()
                        if m == "4096" and sums == acc and label.startswith("f16x")) for acc in ("f16", "f32")}
        for page, pattern, numbers in (
                ("wmma", r"reaches (\d+) TFLOP/s with f16 sums and (\d+) with f32 sums",
                 [f"{speeds[wmma, '4096', acc]:.0f}" for acc in ("f16", "f32")]),
                ("wmma", r"These are ([\d.]+) and ([\d.]+) of",
                 [f"{speeds[wmma, '4096', acc] / speeds[mma, '4096', acc]:.2f}" for acc in ("f16", "f32")]),
                ("wmma", r"At 8192³ it reaches (\d+)", [f"{speeds[wmma, '8192', 'f16']:.0f}"]),
                ("fma", r"In f16 the best rung reaches ([\d.]+) TFLOP/s, with f32 sums (\d+\.\d+)",
                 [f"{fma['f16']:.1f}", f"{fma['f32']:.1f}"]),
                ("fma", r"without TF32 reaches (\d+\.\d+) TFLOP/s, and the rung of 8×8 threads (\d\.\d+) of it",
                 [f"{speeds['f32+cublas', '4096', 'f32']:.1f}", f"{speeds['ours: f32+t8x8', '4096', 'f32'] / speeds['f32+cublas', '4096', 'f32']:.2f}"])):
            text = " ".join((ROOT / f"docs/kernels/{page}.md").read_text(encoding="utf-8").split())
            with self.subTest(page=page, pattern=pattern):
                found = re.search(pattern, text)
                self.assertEqual(list(found.groups()) if found else None, numbers)

    def test_the_planted_bug_of_the_emulated_device_is_one_that_it_must_find(self):
        sys.path.insert(0, str(ROOT / "tests/emulate"))
        import mutants
        file, text, bug = mutants.MUTANTS["mma_wait_one_group_short"]
        page = (ROOT / "docs/emulate.md").read_text(encoding="utf-8")
        self.assertIn(f"ptx::{bug}();   // was {re.search('<(.*)>', text)[1]}", page)
        self.assertIn(f"`templates/{file}`", page)

    def test_rungs_that_the_guide_names_exist(self):
        table = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "src/ladder").glob("*.?pp")))
        for page in sorted((ROOT / "docs/guide").glob("*.md")):
            text = page.read_text(encoding="utf-8")
            markers = re.findall(r"<!-- gain: (.+?) -> (.+?)(?: @ [\d, ]+)? -->", text)
            commands = re.findall(r"--rung (?:'([^']+)'|([\w+,]+))", " ".join(text.split()))
            rungs = {label for pair in markers for label in pair}
            rungs |= {rung for quoted, plain in commands for rung in (quoted or plain).split(",")}
            for rung in sorted(rungs):
                with self.subTest(page=page.name, rung=rung):
                    self.assertIn(f'"{rung}"', table)


def main() -> int:
    global ROOT
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    ROOT = options.root.resolve()
    program = unittest.main(argv=[sys.argv[0], *rest], exit=False, verbosity=2)
    return 0 if program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
