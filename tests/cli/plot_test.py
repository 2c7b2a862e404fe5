#!/usr/bin/env python3
"""Runs tools/plot on results in the format that the command prints. plot_test.py --root ROOT"""

import argparse
import csv
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

TOOL = pathlib.Path()
COLUMNS = ("m,n,k,layout,dtype,acc,name,label,config,launch,us_median,us_min,us_mean,us_max,tflops,of_best_cublas,"
           "registers,spill_bytes,smem_bytes,warps_per_sm,threads,blocks,compile_ms,intensity,refusal,gpu").split(",")
SVG = "{http://www.w3.org/2000/svg}"


def row(label, tflops, size=1024, **cells):
    """A line of `ladder --csv`. Cells that the tool does not read are empty."""
    family = label.partition("+")[0].rstrip("0123456789x")
    values = {"m": size, "n": size, "k": size, "layout": "nn", "dtype": "f16", "acc": "f16", "name": f"hgemm_{label}",
              "label": label, "config": "" if "cublas" in label else f"{family}_m128", "tflops": tflops,
              "of_best_cublas": "" if tflops == "" else tflops / 500, "gpu": "NVIDIA H200"}
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

    def plot(self, *words, expect=0, python=None, environment=None):
        if expect == 0 and "--format" not in words:
            words = (*words, "--format", "svg", "--theme", "light")  # one file, for tests of what it says
        done = subprocess.run([*([python] if python else []), str(TOOL), *words], capture_output=True, text=True,
                              timeout=120, check=False, cwd=self.path, env=environment)
        self.assertEqual(done.returncode, expect, f"{words}\nstdout: {done.stdout}\nstderr: {done.stderr}")
        return done.stderr

    def svg_words(self, name="plot.svg"):
        root = ET.parse(self.path / name).getroot()
        self.assertEqual(root.tag, SVG + "svg")
        return ["".join(element.itertext()).strip() for element in root.iter(SVG + "text")]

    def test_an_image_of_each_kind(self):
        rows = [row(label, value * size, size) for size in (1024, 2048) for label, value in
                (("mma2x4+stage2", 0.2), ("wmma4x2", 0.1), ("cublas", 0.3))]
        self.plot(self.csv(rows), "--title", "an H200", "--format", "png,svg")
        image = (self.path / "plot.png").read_bytes()
        self.assertEqual(image[:8], b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">II", image[16:24])
        self.assertGreater(min(width, height), 400)
        words = self.svg_words()
        for word in ("mma2x4+stage2", "wmma4x2", "cuBLAS", "TFLOP/s", "m = n = k", "1024", "2048", "an H200"):
            self.assertIn(word, words)
        self.assertEqual(self.svg_words("plot-dark.svg"), words)
        self.assertIn("#0d1117", (self.path / "plot-dark.svg").read_text(encoding="utf-8"))
        self.assertNotIn("#0d1117", (self.path / "plot.svg").read_text(encoding="utf-8"))
        self.assertEqual((self.path / "plot-dark.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")

    def test_another_python_draws_where_this_one_has_no_matplotlib(self):
        name = self.csv([row("mma2x4", 10), row("mma2x4", 12, 2048), row("cublas", 20)])
        hidden = self.path / "hidden"
        hidden.mkdir()
        (hidden / "matplotlib.py").write_text("raise ImportError('hidden')", encoding="utf-8")
        (hidden / "sitecustomize.py").write_text("", encoding="utf-8")
        # Only an isolated Python, which ignores PYTHONPATH, finds matplotlib: it is the next on PATH.
        python = hidden / "python3"
        python.write_text('#!/bin/sh\nunset PYTHONPATH\nexec /usr/bin/python3 "$@"\n', encoding="utf-8")
        python.chmod(0o755)
        environment = {**os.environ, "PYTHONPATH": str(hidden), "PATH": f"{hidden}:{os.environ['PATH']}"}
        self.plot(name, python="/usr/bin/python3", environment=environment)
        self.assertIn("mma2x4", self.svg_words())
        python.unlink()
        environment["PATH"] = str(hidden)
        message = self.plot(name, python="/usr/bin/python3", environment=environment, expect=1)
        self.assertIn("needs matplotlib: install python3-matplotlib", message)
        self.assertIn("tried /usr/bin/python3 (hidden)", message)

    def test_the_title_says_gpu_types_and_layouts(self):
        rows = [row("mma2x4", 10), row("mma2x4", 20, 2048), row("tn+mma", 5, layout="nt"), row("tn+mma", 6, 2048, layout="nt")]
        self.plot(self.csv(rows))
        self.assertIn("NVIDIA H200 · f16 with f16 sums · nn and nt", self.svg_words())
        old = [{**each, "gpu": ""} for each in rows[:2]]
        self.plot(self.csv(old), self.csv([row("mma2x4", 9, gpu="NVIDIA H100")], "h100.csv"))
        words = self.svg_words()
        self.assertIn("NVIDIA H100 · f16 with f16 sums · nn", words)
        self.assertIn("mma2x4, H100", words)

    def test_tuned_kernels_stand_beside_the_rungs_below_them(self):
        rows = [row(label, value * size, size) for size in (1024, 4096, 16384) for label, value in
                (("mma2x4", 0.2), ("wmma4x2", 0.1), ("slow", 0.01), ("cublas", 0.3))]
        results = [bench_result(f"{size} {size} {size} nn f16 acc=f16", 0.31 * size, 0.3 * size)
                   for size in (1024, 4096, 16384)]
        results.append({**results[0], "mode": "graph"})  # rungs are not replayed from a graph
        report = {"environment": {"GPU": "NVIDIA H200, sm_90a, 132 SMs"}, "results": results}
        self.plot(self.csv(rows), self.text(json.dumps(report), "bench.json"), "--top", "2")
        words = self.svg_words()
        for word in ("hotgemm, tuned", "mma2x4", "wmma4x2", "(best)", "cuBLAS", "best of cuBLASLt", "16384"):
            self.assertEqual(words.count(word), 1, word)
        self.assertNotIn("slow", words)
        self.plot("ladder.csv", "--no-best")
        self.assertNotIn("(best)", self.svg_words())

    def test_one_size_is_drawn_as_bars(self):
        rows = [row("mma2x4", 10.25), row("tn+mma", 7, layout="nt"), row("cublas", 20), row("torch", 19, name="torch_mm"),
                row("mma2x4", 11, 2048)]
        self.plot(self.csv(rows), "--size", "1024x1024x1024")
        words = self.svg_words()
        for word in ("mma2x4 (best)", "tn+mma", "10.2", "20.0", "PyTorch", "TFLOP/s (hatched: layout nt)",
                     "1024×1024×1024 · NVIDIA H200 · f16 with f16 sums · nn and nt"):
            self.assertIn(word, words)
        self.assertIn("no numbers of size 8x8x8", self.plot("ladder.csv", "--size", "8x8x8", expect=1))
        self.assertIn("is not MxNxK", self.plot("ladder.csv", "--size", "8x8", expect=1))

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
        self.assertIn("cuBLAS", words)
        self.assertNotIn("uneven", words)
        self.assertNotIn("slow", words)

    def test_a_family_alone(self):
        self.plot(self.csv([row("mma2x4", 10), row("wmma4x2", 30), row("cublas", 20)]), "--family", "mma")
        words = self.svg_words()
        self.assertIn("mma2x4", words)
        self.assertIn("cuBLAS", words)
        self.assertNotIn("wmma4x2", words)

    def test_variants_of_a_label_are_told_apart(self):
        rows = [row("mma2x4", 10), row("mma2x4", 8, acc="f32"), row("wmma4x2", 8, acc="f32"), row("cublas", 20)]
        self.plot(self.csv(rows), "--log")
        words = self.svg_words()
        for word in ("mma2x4, acc f16 (best)", "mma2x4, acc f32", "wmma4x2", "cuBLAS"):
            self.assertIn(word, words)

    def test_a_fraction_of_cublas(self):
        self.plot(self.csv([row(label, value, size) for size in (1024, 2048) for label, value in
                            (("mma2x4", 10), ("cublas", 20))]), "--metric", "of_cublas")
        words = self.svg_words()
        self.assertIn("of cuBLAS's TFLOP/s", words)
        self.assertEqual(words.count("cuBLAS"), 1)

    def test_problems_of_one_size_have_lines_of_their_own(self):
        results = [bench_result(f"{size} 64 128 nn f16{keys} align=16", rate, 100)
                   for size in (512, 1024) for keys, rate in (("", 90), (" batch=8", 80), (" epilogue=bias", 70))]
        self.plot(self.text(json.dumps({"results": results}), "bench.json"))
        for name in ("hotgemm, tuned", "hotgemm, tuned, batch=8", "hotgemm, tuned, epilogue=bias"):
            self.assertIn(f"{name}</text>", (self.path / "plot.svg").read_text(encoding="utf-8"))

    def test_results_of_bench(self):
        results = [bench_result("512 64 128 nn f16 align=16", 90, 100),
                   bench_result("1024 64 128 nn f16 align=16", 110, 100),
                   bench_result("64 64 64 nn f16 align=16", None, None, failure="no memory")]
        self.plot(self.text(json.dumps({"failed": 1, "results": results})))
        words = self.svg_words()
        for word in ("hotgemm, tuned", "cuBLAS", "best of cuBLASLt", "512×64×128", "1024×64×128", "m×n×k"):
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
        self.assertIn("'pdf' is not one of png, svg", self.plot("two.csv", "--format", "pdf", expect=1))
        self.assertEqual(list(self.path.glob("plot*")), [])

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
