#!/usr/bin/env python3
"""Runs tools/plot-sets on small made-up trees, and checks the charts of this source tree. plot_sets_test.py --root ROOT"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

ROOT = pathlib.Path()
SVG = "{http://www.w3.org/2000/svg}"
HEADING = "| problem | mode | origin | ratio | 95 % interval |\n|---|---|---|---:|---|\n"
RAW = f"""# Raw

## big, NVIDIA H200, a day

<!-- chart: big -->

- GPU: NVIDIA H200, sm_90a

{HEADING}| 64 64 64 nn f16 | eager | tuned | 9.000 | - |
| 64 64 64 nn f16 | graph | tuned | 1.000 | 0.990 to 1.010 |
| 128 64 64 nn f16 | eager | estimated | 4.000 | -inf to inf |
| 128 64 64 nn f16 epilogue=silu | eager | tuned | - | - |

| set | problems | ratio |
|---|---|---|
| big | 2 | 2.0 |

## not drawn, NVIDIA H200

{HEADING}| 8 8 8 nn f16 | eager | tuned | 0.100 | - |

## both sets on an H100

<!-- chart: big small -->

- GPU: NVIDIA H100 80GB HBM3

{HEADING}| 64 64 64 nn f16 | eager | tuned | 0.500 | - |
| 8 8 8 nn f16 | eager | tuned | 3.000 | - |
"""


class PlotSetsTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        for name in ("docs/shapes", "docs/results/raw"):
            (self.root / name).mkdir(parents=True)
        self.raw(RAW)
        (self.root / "docs/shapes/big.txt").write_text("# two\n64  64 64 nn f16\n128 64 64 nn f16 # one\n", encoding="utf-8")
        (self.root / "docs/shapes/small.txt").write_text("8 8 8 nn f16\n", encoding="utf-8")

    def raw(self, text):
        (self.root / "docs/results/raw/sets.md").write_text(text, encoding="utf-8")

    def run_tool(self, *words, expect=0, root=None):
        done = subprocess.run([str(ROOT / "tools/plot-sets"), "--root", str(root or self.root), *words],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stderr if expect else done.stdout

    def test_means_and_charts_are_those_of_the_marked_sections(self):
        self.assertIn("big.svg, big-dark.svg, small.svg, small-dark.svg, claim.svg, claim-dark.svg",
                      self.run_tool("--check", expect=1))
        # Graph replay counts where there is one; a mean is geometric; each set has its own problems.
        self.assertEqual(self.run_tool(), "big: H200 2.000 (2), H100 0.500 (1)\nsmall: H100 3.000 (1)\n")
        self.run_tool("--check")
        charts = self.root / "docs/results/charts"
        self.assertEqual(len(list(charts.iterdir())), 6)
        words = ["".join(element.itertext()).strip() for element in ET.parse(charts / "claim.svg").getroot().iter(SVG + "text")]
        for word in ("big (2)", "small (1)", "2.00", "0.50", "3.00", "H100: geometric mean",
                     "hotgemm, tuned, by shape set and number of problems (hollow: not tuned)"):
            self.assertIn(word, words)
        words = (charts / "big-dark.svg").read_text(encoding="utf-8")
        self.assertIn("H200: 2.000 in the geometric mean of 2", words)
        self.assertNotIn("8 8 8", words)
        self.raw(RAW.replace("0.500", "0.501"))
        self.assertIn("not drawn from the numbers of docs/results/raw: big.svg", self.run_tool("--check", expect=1))

    def test_what_cannot_be_drawn_is_an_error_that_says_why(self):
        for raw, message in ((RAW.replace("chart", "char"), "no section of docs/results/raw has a mark"),
                             (RAW.replace("| 3.000 |", "| fast |"), "8 8 8 nn f16 has the ratio 'fast'"),
                             (RAW.replace("| 8 8 8 nn f16 | eager | tuned | 3.000 | - |\n", ""), "the set small has no problem"),
                             ("## x\n<!-- chart: big -->\n" + HEADING + "| 8 8 8 nn f16 | eager | tuned | 1 | - |\n", "no GPU"),
                             ("## NVIDIA H200\n<!-- chart: big -->\n", "no table")):
            self.raw(raw)
            self.assertIn(message, self.run_tool(expect=1))

    def test_the_charts_of_this_tree_are_up_to_date_and_on_their_page(self):
        self.run_tool("--check", root=ROOT)
        charts = ROOT / "docs/results/charts"
        page = (ROOT / "docs/results/charts.md").read_text(encoding="utf-8")
        named = set(re.findall(r'"charts/([\w-]+\.svg)"', page))
        self.assertEqual(named, {path.name for path in charts.iterdir()})


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
