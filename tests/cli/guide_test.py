#!/usr/bin/env python3
"""Runs tools/guide_numbers on small made-up trees and on this source tree, and checks the links of the guide.

guide_test.py --root ROOT
"""

import argparse
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

    def csv(self, text):
        (self.root / "docs/results/raw/ladder.csv").write_text(text, encoding="utf-8")

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

    def test_the_guide_of_this_tree_is_up_to_date(self):
        self.root = ROOT
        self.run_tool("--check")

    def test_links_of_the_guide_lead_somewhere(self):
        pages = sorted((ROOT / "docs/guide").glob("*.md"))
        self.assertGreater(len(pages), 10)
        index = (ROOT / "docs/guide/README.md").read_text(encoding="utf-8")
        for page in pages:
            text = page.read_text(encoding="utf-8")
            for target in re.findall(r"\]\(([^)\s]+)\)", text):
                if not re.match(r"https?:|#", target):
                    with self.subTest(page=page.name, target=target):
                        self.assertTrue((page.parent / target.partition("#")[0]).exists())
            if page.name != "README.md":
                self.assertIn(f"({page.name})", index)

    def test_rungs_and_files_that_the_guide_names_exist(self):
        table = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "src/ladder").glob("*.?pp")))
        for page in sorted((ROOT / "docs/guide").glob("*.md")):
            text = page.read_text(encoding="utf-8")
            markers = re.findall(r"<!-- gain: (.+?) -> (.+?) -->", text)
            commands = re.findall(r"--rung (?:'([^']+)'|([\w+,]+))", " ".join(text.split()))
            rungs = {label for pair in markers for label in pair}
            rungs |= {rung for quoted, plain in commands for rung in (quoted or plain).split(",")}
            for rung in sorted(rungs):
                with self.subTest(page=page.name, rung=rung):
                    self.assertIn(f'"{rung}"', table)
            for source in re.findall(r"`((?:templates|src|tools|tests|docs)/[\w./]+\.\w+)`", text):
                with self.subTest(page=page.name, source=source):
                    self.assertTrue((ROOT / source).exists())


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
