#!/usr/bin/env python3
"""Runs tools/plot-serving on results in the format of serving_trace_program. plot_serving_test.py --root ROOT"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

TOOL = pathlib.Path()
SVG = "{http://www.w3.org/2000/svg}"


def trace(policy, speed=(0.8, 0.9, 1.0), **keys):
    windows = {"start_s": list(range(len(speed))), "speed": list(speed), "worst_host_us": [20.0 + i for i in
               range(len(speed))], "steps": [100] * len(speed)}
    return {"policy": policy, "gpu_share": 0.1, "windows": windows} | keys


class PlotServingTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.path = pathlib.Path(self.directory.name)

    def file(self, value, name):
        (self.path / name).write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
        return name

    def plot(self, *words, expect=0):
        done = subprocess.run([str(TOOL), *words], capture_output=True, text=True, timeout=120, check=False,
                              cwd=self.path)
        self.assertEqual(done.returncode, expect, f"{words}\nstdout: {done.stdout}\nstderr: {done.stderr}")
        return done.stderr

    def svg_words(self, name="serving.svg"):
        root = ET.parse(self.path / name).getroot()
        return ["".join(element.itertext()).strip() for element in root.iter(SVG + "text")]

    def test_policies_are_drawn_together(self):
        self.plot(self.file(trace("background"), "b.json"), self.file(trace("estimate"), "e.json"),
                  "offline picks=" + self.file(trace("estimate", (1, 1)), "o.json"),
                  self.file(trace("cublas", (0.9,)), "c.json"), "--title", "an H200")
        for name in ("serving.png", "serving-dark.png"):
            self.assertEqual((self.path / name).read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        words = self.svg_words()
        for word in ("background, 10 % of the GPU", "estimate", "offline picks", "cublas", "an H200", "seconds",
                     "speed, of the reference's", "slowest call, µs of the host"):
            self.assertIn(word, words)

    def test_the_same_numbers_give_the_same_svg(self):
        name = self.file(trace("tune"), "t.json")
        for stem in ("one", "two"):
            self.plot(name, "--output", stem, "--format", "svg", "--theme", "light")
        self.assertEqual((self.path / "one.svg").read_bytes(), (self.path / "two.svg").read_bytes())

    def test_what_cannot_be_drawn_is_an_error_that_says_why(self):
        short = trace("tune")
        short["windows"]["speed"].pop()
        cases = [("nowhere.json", "cannot read nowhere.json"),
                 (self.file("", "empty.json"), "empty.json is not output of serving_trace_program"),
                 (self.file({"policy": "tune"}, "other.json"), "other.json is not output of serving_trace_program"),
                 (self.file(trace("tune", ()), "none.json"), "none.json has no windows"),
                 (self.file(short, "short.json"), "short.json has no windows, or not all")]
        for name, message in cases:
            with self.subTest(name):
                self.assertIn(message, self.plot(name, expect=1))
        self.assertIn("FILE", self.plot(expect=1))
        self.assertIn("cannot write", self.plot(self.file(trace("tune"), "t.json"), "--output", "no/plot", expect=1))


def main() -> int:
    global TOOL
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    TOOL = options.root.resolve() / "tools/plot-serving"
    program = unittest.main(argv=[sys.argv[0], *rest], exit=False, verbosity=2)
    return 0 if program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
