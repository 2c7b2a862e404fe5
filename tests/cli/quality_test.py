#!/usr/bin/env python3
"""Runs `bench --exhaustive`, `bench --quality` and `db rejections` as a user would, against the stand-in driver. Tests
what the command does with numbers, not the numbers. The GPU has sm_75, for which there are few kernels."""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

import json_contract

COMMAND = ""
STANDIN = ""
KERNELS = ""  # a cache for all tests, so that each kernel is compiled once
HAS_NVRTC = False
MENU = 8  # number of configs for f16 on sm_75


def has_nvrtc():
    found = subprocess.run([COMMAND, "info", "--json"], capture_output=True, text=True, timeout=60, check=True)
    return "missing" not in json.loads(found.stdout)["nvrtc"]


def gpu():
    return {"HOTGEMM_LIBCUDA": STANDIN, "HOTGEMM_STANDIN_ARCH": "75"}


def sealed(body):
    """A sealed line of hotgemm. `body` is a JSON object without its closing brace."""
    return f'{body},"crc":"{zlib.crc32(body.encode()):08x}"}}\n'


class QualityTest(unittest.TestCase):
    PROBLEM = ["--shape", "32x32x16", "--dtype", "f16"]

    def setUp(self):
        if not HAS_NVRTC or not STANDIN:
            self.skipTest("needs NVRTC and the stand-in driver")
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.path = pathlib.Path(self.directory.name).resolve()
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("HOTGEMM_")}
        if "HOTGEMM_LIBNVRTC" in os.environ:
            self.environment["HOTGEMM_LIBNVRTC"] = os.environ["HOTGEMM_LIBNVRTC"]
        self.environment["HOTGEMM_CACHE_DIR"] = str(self.path / "cache")
        self.environment["HOTGEMM_SHIPPED_RECORDS"] = "off"
        self.environment["HOTGEMM_CACHE_PATH"] = KERNELS
        self.environment.update(gpu())
        self.options = ["--jobs", "1", "--candidates", "3", "--scratch", "4M", "--budget", "60", "--hang-timeout", "60", "-q"]

    def words(self, flag, *more):
        return ["bench", flag, *self.PROBLEM, *self.options, *more]

    def run_command(self, *words, expect=0):
        done = subprocess.run([COMMAND, *words], env=self.environment, capture_output=True, text=True, timeout=300,
                              check=False, cwd=self.path)
        self.assertEqual(done.returncode, expect, f"{words}\nstdout: {done.stdout}\nstderr: {done.stderr}")
        if "--json" in words:
            self.assertEqual(json_contract.violations(done.stdout), [], words)
        return done

    def run_json(self, *words, expect=0):
        return json.loads(self.run_command(*words, "--json", expect=expect).stdout)

    def traces(self):
        return sorted((self.path / "cache" / "v1" / "exhaustive").glob("*.jsonl"))

    def test_every_config_is_measured_once_and_kept(self):
        row = self.run_json(*self.words("--exhaustive"))["results"][0]
        self.assertTrue(row["complete"])
        self.assertEqual(row["configs"] + row["rejected"], MENU)
        times = [entry["us"] for entry in row["ranked"]]
        self.assertEqual(times, sorted(times))
        self.assertEqual([str(path) for path in self.traces()], [row["trace"]])
        text = self.traces()[0].read_text()
        lines = [json.loads(line) for line in text.splitlines()]
        self.assertEqual(lines[0]["arch"], "sm_75")
        self.assertIn("simt.cuh", lines[0]["templates"])
        self.assertTrue(all("sample" in line or "rejected" in line or "twin" in line for line in lines[1:]))

        again = self.run_json(*self.words("--exhaustive"))["results"][0]
        self.assertEqual(again["ranked"], row["ranked"])
        self.assertEqual(self.traces()[0].read_text(), text)
        self.assertIn(row["ranked"][0]["config"], self.run_command(*self.words("--exhaustive")).stdout)
        self.assertEqual(self.run_json("db", "show")["records"], [])

    def test_measurements_that_are_not_kept_are_told_of(self):
        self.options.remove("-q")
        self.assertNotIn("not kept", self.run_command(*self.words("--exhaustive")).stderr)
        self.environment["HOTGEMM_CACHE"] = "off"
        done = self.run_command(*self.words("--exhaustive"))
        self.assertIn("measurements are not kept for a later run", done.stderr)
        self.assertNotIn("traces:", done.stdout)

    def test_an_interrupt_before_the_first_problem_ends_is_told_of(self):
        self.options.remove("-q")
        with subprocess.Popen([COMMAND, *self.words("--quality")], env=self.environment, cwd=self.path,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            while not self.traces():
                self.assertIsNone(process.poll(), "ended before it measured")
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertIn("interrupted; run the same command again", errors)

    def test_a_killed_run_is_gone_on_with(self):
        for delay in (0.6, 0.9, 1.2, 1.5):
            with subprocess.Popen([COMMAND, *self.words("--exhaustive")], env=self.environment, cwd=self.path,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                time.sleep(delay)
                process.send_signal(signal.SIGKILL)
        before = self.traces()[0].read_text() if self.traces() else ""
        row = self.run_json(*self.words("--exhaustive"))["results"][0]
        self.assertTrue(row["complete"])
        self.assertEqual(row["configs"] + row["rejected"], MENU)
        after = self.traces()[0].read_text()
        self.assertTrue(after.startswith(before[:before.rfind("\n") + 1]))

    def test_quality_compares_with_the_best(self):
        output = self.run_json(*self.words("--quality", "--rounds", "7"))
        row = output["results"][0]
        self.assertEqual(row["oracle"]["regret"], 0)
        self.assertEqual(row["oracle"]["place"], 1)
        for answer in ("tuned", "estimated"):
            self.assertIsInstance(row[answer]["regret"], float)
            self.assertLessEqual(row[answer]["regret_ci"][0], row[answer]["regret"])
        self.assertEqual([m["first"] for m in row["model"]], [1, 4, 8, 20])
        self.assertEqual(row["model"][-1]["regret"], 0)
        self.assertEqual([s["of"] for s in output["summary"]][:2], ["tuned", "estimated"])
        self.assertEqual(output["summary"][1]["worst_regret"], row["estimated"]["regret"])
        self.assertEqual(self.run_json("db", "show")["records"], [])
        table = self.run_command(*self.words("--quality", "--rounds", "7")).stdout
        for part in ("oracle µs", "tuned: regret %", "of all problems", "within 1 %"):
            self.assertIn(part, table)

    def test_a_failure_is_one_row_and_leaves_no_mean(self):
        words = ["bench", "--quality", "--shape", "32x64x0,32x32x16", "--dtype", "f16", "--rounds", "7", *self.options]
        done = self.run_command(*words, "--json", expect=2)
        self.assertIn("hotgemm: 32 64 0", done.stderr)
        output = json.loads(done.stdout)
        self.assertIn("nothing to measure", output["results"][0]["failure"])
        self.assertNotIn("failure", output["results"][1])
        self.assertIsNone(output["summary"][0]["mean_regret"])

    def test_options_that_mean_nothing_here_are_refused(self):
        for other in (["--quality"], ["--policy", "estimate"], ["--mode", "graph"], ["--results", "r.md"]):
            self.assertIn("cannot be given together", self.run_command(*self.words("--exhaustive"), *other, expect=1).stderr)

    def test_rejections_are_shown_and_cleared(self):
        segment = self.path / "cache" / "v1" / "rejected" / "host-1-2.jsonl"
        for directory in (self.path / "cache", segment.parent.parent, segment.parent):
            directory.mkdir(mode=0o700, exist_ok=True)
        now = int(time.time())
        body = (f'{{"rejected":"{"a" * 64}","schema":1,"config":"mma_x","problem":"p","stage":"measure",'
                f'"reason":"hung: no answer","gpu":"FX","arch":"sm_90a","sm_count":1,"driver":"1","toolchain":"t",'
                f'"time":{now},"expires":')
        segment.write_text(sealed(f"{body}{now + 3600}") + sealed(f"{body}{now - 1}"))
        rejections = self.run_json("db", "rejections")["rejections"]
        self.assertEqual([(r["config"], r["stage"], r["expires"]) for r in rejections], [("mma_x", "measure", now + 3600)])
        self.assertIn("hung: no answer", self.run_command("db", "rejections").stdout)
        cleared = self.run_json("db", "rejections", "--clear")
        self.assertEqual((cleared["removed"], cleared["segments_in_use"]), (2, 0))
        self.assertIn("no kernel is rejected", self.run_command("db", "rejections").stdout)


def main() -> int:
    global COMMAND, STANDIN, KERNELS, HAS_NVRTC
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", required=True)
    parser.add_argument("--standin", default="", help="the stand-in driver's library")
    parser.add_argument("--corrupting", default="", help="not used here")
    options, rest = parser.parse_known_args()
    COMMAND, STANDIN = options.command, options.standin
    HAS_NVRTC = has_nvrtc()
    with tempfile.TemporaryDirectory() as kernels:
        KERNELS = kernels
        if HAS_NVRTC and STANDIN:
            environment = {**os.environ, "HOTGEMM_CACHE_DIR": kernels, "HOTGEMM_SHIPPED_RECORDS": "off", **gpu()}
            subprocess.run([COMMAND, "bench", "--exhaustive", *QualityTest.PROBLEM, "--scratch", "4M",
                            "--hang-timeout", "60", "-q"],
                           env=environment, stdout=subprocess.DEVNULL, timeout=300, check=True)
        program = unittest.main(argv=[sys.argv[0], *rest], exit=False, verbosity=2)
    return 0 if program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
