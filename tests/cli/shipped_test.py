"""The records that ship with hotgemm, and the list of problems that they come from."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import cli_test

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FILES = sorted((ROOT / "cache").glob("*.jsonl"))


def shapes(*options):
    words = [ROOT / "tools" / "shipped-shapes", *map(str, options)]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()


class ShippedTest(cli_test.CliTest):
    def test_every_line_is_a_record(self):
        self.assertTrue(FILES)
        for file in FILES:
            with self.subTest(file=file.name):
                self.run_command("db", "lint", str(file))

    def test_their_numbers_are_short(self):
        for file in FILES:
            for line in file.read_text(encoding="utf-8").splitlines():
                numbers = [n for n in json.loads(line).values() if isinstance(n, float)]
                self.assertEqual(numbers, [float(f"{n:.6g}") for n in numbers], line)

    def test_they_answer_without_a_record_of_the_user(self):
        problem = ("show", "--arch", "sm_90a", "--shape", "1 12288 4096 nt bf16")
        self.assertIn("estimated", self.run_command(*problem).stdout.splitlines()[0])
        self.environment["HOTGEMM_SHIPPED_RECORDS"] = "on"
        self.assertIn("tuned", self.run_command(*problem).stdout.splitlines()[0])
        same_in_f16 = [*problem[:-1], "1 12288 4096 nt f16"]
        self.assertIn("tuned", self.run_command(*same_in_f16).stdout.splitlines()[0])

    def test_they_stay_small(self):
        size = sum(file.stat().st_size for file in FILES)
        self.assertLess(size, 2 << 20)
        for page, words in (("README.md", "shipped records"), ("docs/results/prewarm.md", "**Records** that ship take")):
            with self.subTest(page=page):
                self.assertIn(f"{words} {size / (1 << 20):.1f} MiB", (ROOT / page).read_text(encoding="utf-8"))

    def test_the_list_has_each_class_once(self):
        lines = shapes()
        self.assertGreater(len(lines), 2000)
        self.assertEqual(len(lines), len(set(lines)))
        self.assertEqual(lines, shapes("--sets") + shapes("--others"))
        page = (ROOT / "docs/shapes/README.md").read_text(encoding="utf-8")
        self.assertIn(f"{len(lines)} classes in order of worth", page)
        (self.path / "shapes.txt").write_text("\n".join(lines[:3] + lines[-3:]))
        self.run_command("show", "--arch", "sm_90a", "--top", "1", "--shapes", str(self.path / "shapes.txt"))


class RefreshTest(cli_test.CliTest):
    """`db refresh` keeps what a change of templates leaves as it is."""

    def setUp(self):
        super().setUp()
        self.need_nvrtc()
        self.file = self.path / "records.jsonl"
        lines = FILES[-1].read_text().splitlines()
        wanted = '{"class":"1 12288 4096 nt bf16 '
        self.file.write_text(next(line for line in lines if line.startswith(wanted)) + "\n")

    def change_templates(self, old, new):
        templates = self.path / "templates"
        shutil.rmtree(templates, ignore_errors=True)
        shutil.copytree(ROOT / "templates", templates)
        text = (templates / "wgmma.cuh").read_text()
        self.assertIn(old, text)
        (templates / "wgmma.cuh").write_text(text.replace(old, new, 1))
        self.environment["HOTGEMM_TEMPLATE_DIR"] = str(templates)

    def refresh(self, expect=0):
        output = self.run_json("db", "refresh", str(self.file), "--jobs", "1", expect=expect)
        self.run_command("db", "lint", str(self.file))
        return output

    def test_other_templates_with_the_same_code(self):
        self.refresh()  # notes the code, if the file does not have it
        code = json.loads(self.file.read_text())["code"]
        self.change_templates("#pragma once\n", "#pragma once\n// a comment\n")
        refreshed = self.refresh()
        del refreshed["schema"]
        self.assertEqual(refreshed, {"current": 0, "refreshed": 1, "changed": 0, "failed": 0})
        self.assertEqual(json.loads(self.file.read_text())["code"], code)
        self.assertEqual(self.refresh()["current"], 1)

    def test_other_code_must_be_measured_again(self):
        self.refresh()
        before = self.file.read_text()
        self.change_templates("if (thread_ == 0) make_barriers();", "if (thread_ == 32) make_barriers();")
        self.assertEqual(self.refresh(expect=2)["changed"], 1)
        self.assertEqual(self.file.read_text(), before)


class ShipTest(unittest.TestCase):
    """tools/ship-records, with a command that only says where it would keep records."""

    COMMAND = """#!/bin/sh
[ "$1" != tune ] || stat -c %a "$HOTGEMM_CACHE_DIR/v1" "$HOTGEMM_CACHE_DIR/v1/db" >"$(dirname "$0")/modes"
"""

    def test_no_other_user_may_write_to_its_records(self):
        with tempfile.TemporaryDirectory() as directory:
            command = pathlib.Path(directory) / "hotgemm"
            command.write_text(self.COMMAND)
            command.chmod(0o755)
            words = [ROOT / "tools/ship-records", "--hotgemm", command, "--into", pathlib.Path(directory) / "new.jsonl"]
            subprocess.run(words, check=True, umask=0o002)
            self.assertEqual((pathlib.Path(directory) / "modes").read_text(), "755\n755\n")


class JudgeTest(unittest.TestCase):
    """tools/judge-records, with a command that only says what hotgemm would say."""

    COMMAND = """#!/usr/bin/env python3
import json, os, sys
if sys.argv[1] == "info":
    print(json.dumps({"records": {"count": int(os.environ.get("RECORDS", "7"))}}))
    sys.exit()
assert sys.argv[1] == "bench" or "--retune" in sys.argv
files = sys.argv[sys.argv.index("--shapes") + 1].split(",")
lists = [[line.strip() for line in open(file) if not line.startswith("#")] for file in files]
assert all(lists), "a shape file contains no problem"
problems = sum(lists, [])
is_tuned = os.environ["HOTGEMM_CACHE_DIR"].endswith("-tuned")
rows = [{"problem": problem, "mode": mode, "ratio": ratio if is_tuned else 0.9 * ratio}
        for problem in problems for mode, ratio in (("eager", 5), ("graph", 1.1))]
rows[0]["failure"] = rows[1]["failure"] = "it does not run"
if "WITHOUT_RIVAL" in os.environ:
    rows[2]["ratio"] = rows[3]["ratio"] = None
print(json.dumps({"results": rows}))
"""

    def judge(self, *more, **environment):
        with tempfile.TemporaryDirectory() as directory:
            command = pathlib.Path(directory) / "hotgemm"
            command.write_text(self.COMMAND)
            command.chmod(0o755)
            words = [ROOT / "tools/judge-records", FILES[0], "--hotgemm", command, "--seed", "1", "--count", "3",
                     "--recorded", "7", *more]
            return subprocess.run(words, env={**os.environ, **environment}, check=False, capture_output=True, text=True)

    def test_shares_are_those_of_the_mode_that_decides(self):
        said = self.judge().stdout
        self.assertIn("# drawn: 14 problems, geometric means 0.900, 0.990, 1.100; lowest share 0.900\n", said)
        self.assertIn("# recorded: 6 problems, geometric means 0.900, 0.990, 1.100; lowest share 0.900\n", said)

    def test_a_problem_that_cublas_lacks_is_left_out(self):
        self.assertIn("# drawn: 13 problems, geometric means 0.900, ", self.judge(WITHOUT_RIVAL="1").stdout)

    def test_a_shard_that_has_no_problem_of_a_file_leaves_the_file_out(self):
        said = self.judge("--count", "2", "--shard", "0/3")  # of ten problems, two in each file
        self.assertIn("# drawn: 3 problems", said.stdout, said.stderr)
        said = self.judge("--count", "1", "--recorded", "0", "--shard", "6/7")
        self.assertEqual((said.returncode, len(said.stdout.splitlines())), (0, 1), said.stderr)

    def test_shards_are_joined_to_the_whole_list(self):
        shards = [self.judge("--shard", f"{shard}/3").stdout for shard in range(3)]
        with tempfile.TemporaryDirectory() as directory:
            files = [pathlib.Path(directory) / str(at) for at in range(3)]
            for file, shard in zip(files, shards):
                file.write_text(shard)
            words = [ROOT / "tools/judge-records", "--join", *files]
            joined = subprocess.run(words, check=True, capture_output=True, text=True)
            files[0].write_text(shards[0].replace("seed 1", "seed 2", 1))
            refused = subprocess.run(words, check=False, capture_output=True, text=True)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("shards of several lists", refused.stderr)
        # one problem of each shard and list fails
        self.assertIn("# drawn: 12 problems", joined.stdout)
        self.assertIn("# recorded: 4 problems", joined.stdout)
        lines = [line for line in joined.stdout.splitlines() if not line.startswith("#")]
        self.assertEqual(len(set(lines)), 16)

    def test_a_shard_beyond_the_last_is_refused(self):
        self.assertIn("3/3 is not i/n", self.judge("--shard", "3/3").stderr)

    def test_a_command_without_shipped_records_is_refused(self):
        done = self.judge(RECORDS="0")
        self.assertEqual(done.returncode, 1)
        self.assertIn("finds no shipped records", done.stderr)


if __name__ == "__main__":
    sys.exit(cli_test.main())
