#!/usr/bin/env python3
"""Runs tools/plot on results in the format that the command prints. plot_test.py --root ROOT"""

import argparse
import csv
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

TOOL = pathlib.Path()
COLUMNS = ("m,n,k,layout,dtype,acc,name,label,config,launch,us_median,us_min,us_mean,us_max,tflops,of_best_cublas,"
           "registers,spill_bytes,smem_bytes,warps_per_sm,threads,blocks,compile_ms,intensity,refusal").split(",")
SVG = "{http://www.w3.org/2000/svg}"


def row(label, tflops, size=1024, **cells):
    """A line of `ladder --csv`. Cells that the tool does not read are empty."""
    family = label.partition("+")[0].rstrip("0123456789x")
    values = {"m": size, "n": size, "k": size, "layout": "nn", "dtype": "f16", "acc": "f16", "name": f"hgemm_{label}",
              "label": label, "config": "" if "cublas" in label else f"{family}_m128", "tflops": tflops,
              "of_best_cublas": "" if tflops == "" else tflops / 500}
    return values | cells


def bench_result(problem, ours, cublas, **keys):
    entry = {"name": "cublasGemmEx", "median_us": 1, "iqr_us": 0, "tflops": cublas}
    return {"problem": problem, "mode": "eager", "ours": entry | {"name": "mma_m128_n128", "tflops": ours},
            "cublas_default": entry, "best_lt": entry, "ratio": None if ours is None else ours / cublas} | keys


class PlotTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.path = pathlib.Path(self.directory.name)

    def csv(self, rows, name="ladder.csv", columns=None):
        with open(self.path / name, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns or COLUMNS, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
        return name

    def text(self, text, name="results"):
        (self.path / name).write_text(text, encoding="utf-8")
        return name

    def plot(self, *words, expect=0):
        done = subprocess.run([str(TOOL), *words], capture_output=True, text=True, timeout=120, check=False,
                              cwd=self.path)
        self.assertEqual(done.returncode, expect, f"{words}\nstdout: {done.stdout}\nstderr: {done.stderr}")
        return done.stderr

    def svg_words(self, name="plot.svg"):
        root = ET.parse(self.path / name).getroot()
        self.assertEqual(root.tag, SVG + "svg")
        return ["".join(element.itertext()).strip() for element in root.iter(SVG + "text")]

    def test_an_image_of_each_kind(self):
        rows = [row(label, value * size, size) for size in (1024, 2048) for label, value in
                (("mma2x4+stage2", 0.2), ("wmma4x2", 0.1), ("cublas", 0.3))]
        self.plot(self.csv(rows), "--title", "an H200")
        image = (self.path / "plot.png").read_bytes()
        self.assertEqual(image[:8], b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">II", image[16:24])
        self.assertGreater(min(width, height), 400)
        words = self.svg_words()
        for word in ("mma2x4+stage2", "wmma4x2", "cublas", "TFLOP/s", "m = n = k", "1024", "2048", "an H200"):
            self.assertIn(word, words)

    def test_the_same_numbers_give_the_same_svg(self):
        name = self.csv([row("mma2x4", 10), row("cublas", 20)])
        for stem in ("one", "two"):
            self.plot(name, "--output", stem)
        self.assertEqual((self.path / "one.svg").read_bytes(), (self.path / "two.svg").read_bytes())

    def test_the_fastest_are_drawn_and_cublas_with_them(self):
        # `uneven` has the highest peak and the lowest geometric mean. `late` has no number for one size, so that size
        # does not count in the ranking.
        rows = [row("steady", 100), row("uneven", 10), row("slow", 60), row("late", 90), row("cublas", 5),
                row("steady", 100, 2048), row("uneven", 300, 2048), row("slow", 60, 2048), row("late", 50, 2048),
                row("steady", 1, 4096), row("late", "", 4096, refusal="spills"), row("slow", 500, 4096)]
        self.plot(self.csv(rows), "--top", "2")
        words = self.svg_words()
        self.assertIn("steady", words)
        self.assertIn("late", words)
        self.assertIn("cublas", words)
        self.assertNotIn("uneven", words)
        self.assertNotIn("slow", words)

    def test_a_family_alone(self):
        self.plot(self.csv([row("mma2x4", 10), row("wmma4x2", 30), row("cublas", 20)]), "--family", "mma")
        words = self.svg_words()
        self.assertIn("mma2x4", words)
        self.assertIn("cublas", words)
        self.assertNotIn("wmma4x2", words)

    def test_variants_of_a_label_are_told_apart(self):
        rows = [row("mma2x4", 10), row("mma2x4", 8, acc="f32"), row("wmma4x2", 8, acc="f32"), row("cublas", 20)]
        self.plot(self.csv(rows), "--log")
        words = self.svg_words()
        for word in ("mma2x4, acc f16", "mma2x4, acc f32", "wmma4x2", "cublas"):
            self.assertIn(word, words)

    def test_a_fraction_of_cublas(self):
        self.plot(self.csv([row("mma2x4", 10), row("cublas", 20)]), "--metric", "of_cublas")
        words = self.svg_words()
        self.assertIn("of cuBLAS's TFLOP/s", words)
        self.assertIn("cuBLAS", words)
        self.assertNotIn("cublas", words)

    def test_results_of_bench(self):
        results = [bench_result("512 64 128 nn f16 align=16", 90, 100),
                   bench_result("1024 64 128 nn f16 align=16", 110, 100),
                   bench_result("64 64 64 nn f16 align=16", None, None, failure="no memory")]
        self.plot(self.text(json.dumps({"failed": 1, "results": results})))
        words = self.svg_words()
        for word in ("hotgemm", "cuBLAS", "best of cuBLASLt", "512×64×128", "1024×64×128", "m×n×k"):
            self.assertIn(word, words)
        self.assertNotIn("64×64×64", words)

    def test_files_and_runs_are_drawn_together(self):
        first = self.csv([row("mma2x4", 10, 1024)])
        again = (self.path / first).read_text(encoding="utf-8")
        self.text(again + again.replace("1024", "2048"), first)  # appended with its heading
        self.plot(first, self.csv([row("mma2x4", 10, 4096)], "second.csv"))
        words = self.svg_words()
        for word in ("1024", "2048", "4096"):
            self.assertIn(word, words)

    def test_what_cannot_be_drawn_is_an_error_that_says_why(self):
        without = [column for column in COLUMNS if column != "tflops"]
        cases = [
            (self.text("", "empty"), [], "empty is empty"),
            ("nowhere.csv", [], "cannot read nowhere.csv"),
            (self.csv([row("mma2x4", 10)], "without.csv", without), [], "without.csv has no column tflops"),
            (self.csv([row("mma2x4", "")], "refused.csv"), [], "refused.csv has no numbers"),
            (self.csv([row("mma2x4", 10, size="big")], "big.csv"), [], "big.csv:2: m, n and k"),
            (self.csv([row("cublas", 10)], "cublas.csv"), [], "no numbers but cuBLAS's"),
            (self.csv([row("mma2x4", 10, of_best_cublas="")], "alone.csv"), ["--metric", "of_cublas"],
             "no numbers were measured beside cuBLAS"),
            (self.csv([row("mma2x4", 10), row("wmma4x2", 1)], "two.csv"), ["--family", "simt"],
             "no numbers of family simt; there are mma, wmma"),
            (self.csv([row("mma2x4", 10), row("wmma4x2", 1, 2048)], "apart.csv"), ["--top", "1"], "no size in common"),
            (self.text('{"rows": []}', "other.json"), [], "other.json is not output of `hotgemm bench --json`"),
            (self.text('{"results": []}', "none.json"), [], "none.json has no numbers"),
        ]
        for name, options, message in cases:
            with self.subTest(name):
                self.assertIn(message, self.plot(name, *options, expect=1))
        self.assertIn("less than 1", self.plot("two.csv", "--top", "0", expect=1))
        self.assertIn("FILE", self.plot(expect=1))
        self.assertEqual(list(self.path.glob("plot.*")), [])

    def test_an_output_that_cannot_be_written(self):
        name = self.csv([row("mma2x4", 10)])
        self.assertIn("cannot write", self.plot(name, "--output", "nowhere/plot", expect=1))


def main() -> int:
    global TOOL
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    TOOL = options.root.resolve() / "tools/plot"
    program = unittest.main(argv=[sys.argv[0], *rest], exit=False, verbosity=2)
    return 0 if program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
