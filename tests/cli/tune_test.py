#!/usr/bin/env python3
"""Runs `hotgemm tune` as a user would, against the stand-in driver. Tests its reports, its records and its recovery."""

import contextlib
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import cli_test

# A line of a finished problem: `[3/12] 8 16 8 nn f16: mma_… r16m, 1000.0 us, …`.
DONE_LINE = re.compile(r"\[\d+/\d+\] (?P<label>[^:]+): (?P<config>\S+) \S+, [\d.]+ us, [\d.]+ TFLOP/s, ")


def processes_of(cache):
    """The ids of processes whose cache directory is `cache`: those of the command and its workers."""
    found = {}
    for directory in pathlib.Path("/proc").iterdir():
        if not directory.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            environment = (directory / "environ").read_bytes().split(b"\0")
            if f"HOTGEMM_CACHE_DIR={cache}".encode() in environment:
                found[int(directory.name)] = (directory / "cmdline").read_bytes().split(b"\0")
    return found


class TuneCase(cli_test.CliTest):
    """Tuning with kernels that are compiled once for all tests."""

    SHELF = None
    LIST = ",".join(f"8x{n}x8" for n in range(8, 8 * 17, 8))  # classes that share their kernels
    COUNT = 16
    CANDIDATES = 4
    OPTIONS = ["--jobs", "1", "--scratch", "1M", "--budget", "600", "--rounds", "2"]

    def setUp(self):
        super().setUp()
        self.use_standin()
        self.OPTIONS = ["--candidates", str(self.CANDIDATES), *TuneCase.OPTIONS]
        self.environment["HOTGEMM_STANDIN_SCRIPT"] = "hotgemm_=speed:1000"
        if TuneCase.SHELF is None:
            TuneCase.SHELF = self.fill_shelf()
        self.environment["HOTGEMM_CACHE_PATH"] = TuneCase.SHELF.name

    def fill_shelf(self):
        shelf = tempfile.TemporaryDirectory()  # removed at the end of the program
        words = ["--candidates", "12", *TuneCase.OPTIONS, "--cache-dir", shelf.name]
        self.run_command("tune", "--shape", "8x8x8", *words, "-q")
        for kind in ("db", "rejected", "tune"):
            shutil.rmtree(pathlib.Path(shelf.name) / "v1" / kind, ignore_errors=True)
        return shelf

    def tune(self, *words, expect=0):
        return self.run_json("tune", *self.OPTIONS, *words, expect=expect)

    def plant(self, *rules):
        """Sets the behaviour of kernels on the stand-in. Each rule is (config, what)."""
        self.environment["HOTGEMM_STANDIN_SCRIPT"] = ";".join(
            ["hotgemm_=speed:1000"] + [f"hotgemm_{config}_f16={what}" for config, what in rules])

    def candidates(self):
        """The configs that are timed for 8x8x8, in a fixed order."""
        self.run_command("tune", "--shape", "8x8x8", *self.OPTIONS, "--retune", "--trace", "all.jsonl", "-q")
        lines = [json.loads(line) for line in (self.path / "all.jsonl").read_text().splitlines()]
        shutil.rmtree(self.path / "cache")
        return sorted({line["config"] for line in lines if "sample" in line})

    def start(self, *words):
        return subprocess.Popen([cli_test.COMMAND, "tune", *self.OPTIONS, *words], env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.path)

    def records(self):
        """The recorded configs, keyed by the first words of the problem's text: size, layout and type."""
        shown = self.run_json("db", "show")["records"]
        return {" ".join(record["problem"].split()[:5]): record["config"] for record in shown}

    def expect_nobody_left(self):
        deadline = time.monotonic() + 30
        while processes_of(self.environment["HOTGEMM_CACHE_DIR"]):
            self.assertLess(time.monotonic(), deadline, "a process is left")
            time.sleep(0.02)


class ReportTest(TuneCase):
    def test_table_and_progress(self):
        done = self.run_command("tune", "--shape", "8x8x8,8x16x8", *self.OPTIONS, "--rejections")
        for word in ("problem", "of cuBLAS", "origin", "tuned", "1000.0", "2 problems in", "no candidate was rejected"):
            self.assertIn(word, done.stdout)
        labels = [match["label"] for match in map(DONE_LINE.match, done.stderr.splitlines()) if match]
        self.assertEqual(labels, ["8 8 8 nn f16", "8 16 8 nn f16"])
        self.assertEqual(self.run_command("tune", "--shape", "8x8x8", *self.OPTIONS, "-q").stderr, "")

    def test_a_terminal_has_a_line_that_moves(self):
        terminal, theirs = pty.openpty()
        with open(terminal, "rb", buffering=0) as ours:
            with subprocess.Popen([cli_test.COMMAND, "tune", "--shape", "8x8x8", *self.OPTIONS], cwd=self.path,
                                  env=self.environment, stdout=subprocess.DEVNULL, stderr=theirs) as process:
                os.close(theirs)
                text = b""
                with contextlib.suppress(OSError):  # reading a closed terminal fails like this
                    while part := ours.read(4096):
                        text += part
            self.assertEqual(process.returncode, 0)
        lines = text.decode().replace("\r\n", "\n").split("\r\x1b[K")
        self.assertTrue(any("[1/1] 8 8 8 nn f16: checking candidates" in line for line in lines), text)
        self.assertTrue(any(re.search(r"best 1000.0 us, \d+ left: mma_", line) for line in lines), text)
        self.assertTrue(all(len(line.splitlines()[0]) < 80 for line in lines[1:-1] if line), text)
        self.assertRegex(lines[-1], DONE_LINE)

    def test_json_has_all_of_it(self):
        output = self.tune("--shape", "8x8x8")
        result = output["results"][0]
        self.assertEqual((result["origin"], result["was_recorded"], result["gpu"]), ("tuned", False, 0))
        self.assertEqual(result["median_us"], 1000)
        self.assertIsNone(result["ratio"])  # there is no cuBLAS
        self.assertGreaterEqual(result["measured"], 2)
        self.assertEqual((output["ended"], output["left"], output["restarts"]), ("complete", 0, 0))
        self.assertEqual(output["trials"], result["measured"])
        again = self.tune("--shape", "8x8x8")["results"][0]
        self.assertEqual((again["origin"], again["was_recorded"], again["measured"]), ("recorded", True, 0))
        self.assertEqual(again["config"], result["config"])

    def test_results_follow_the_list(self):
        self.tune("--shape", "8x16x8")
        shapes = ["8x8x8", "8x16x8", "7x8x8"]  # measured, recorded, and of the class of the first
        output = self.tune("--shape", ",".join(shapes))
        self.assertEqual(["x".join(result["problem"].split()[:3]) for result in output["results"]], shapes)
        self.assertEqual([result["origin"] for result in output["results"]], ["tuned", "recorded", "recorded"])
        table = self.run_command("tune", "--shape", ",".join(shapes[::-1]), *self.OPTIONS, "-q").stdout
        self.assertEqual(["x".join(line.split()[:3]) for line in table.splitlines()[1:4]], shapes[::-1])

    def test_the_m_that_was_measured_is_named(self):
        done = self.run_command("tune", "--shape", "5x8x8", *self.OPTIONS, "--trace", "t.jsonl")
        self.assertIn("5 8 8 nn f16, as m = 8", done.stdout)
        lines = [json.loads(line) for line in (self.path / "t.jsonl").read_text().splitlines()]
        self.assertEqual({" ".join(line["sample"].split()[:5]) for line in lines if "sample" in line}, {"8 8 8 nn f16"})
        self.assertEqual(self.tune("--shape", "5x8x8")["results"][0]["measured_m"], 8)

    def test_every_sample_is_traced(self):
        self.tune("--shape", "8x8x8,8x16x8", "--trace", "t.jsonl")
        lines = [json.loads(line) for line in (self.path / "t.jsonl").read_text().splitlines()]
        self.assertIn("trace", lines[0])
        self.assertEqual(lines[0]["gpu"], "Stand-in H200")
        self.assertEqual(sorted(lines[0]["templates"]), ["fma.cuh", "mma.cuh", "simt.cuh", "wgmma.cuh", "wmma.cuh"])
        self.assertIn("nvrtc", lines[0]["toolchain"])
        samples = [line for line in lines if "sample" in line]
        self.assertEqual({" ".join(line["sample"].split()[:3]) for line in samples}, {"8 8 8", "8 16 8"})
        self.assertTrue(all(line["us"] == 1000 for line in samples))
        self.assertIn("/absent", self.run_command("tune", "--shape", "8x8x8", *self.OPTIONS, "--trace", "/absent/t",
                                                  expect=3).stderr)

    def test_bad_options(self):
        for words, named in ((["--gpus", "0,0"], "twice"), (["--gpus", "0", "--device", "0"], "--gpus"),
                             (["--run-budget", "ten"], "--run-budget"), (["--run-budget", "-1"], "--run-budget"),
                             (["--trials", "0"], "--trials"), (["--hang-timeout", "0"], "--hang-timeout"),
                             (["--in-process", "--allow-mps"], "--in-process"), (["--scratch", "much"], "much")):
            with self.subTest(words=words):
                self.assertIn(named, self.run_command("tune", "--shape", "8x8x8", *words, expect=1).stderr)
        self.assertIn("GPU 7", self.run_command("tune", "--shape", "8x8x8", "--device", "7", expect=3).stderr)

    def test_without_nvml_there_is_no_tuning_for_energy(self):
        done = self.run_command("tune", "--shape", "8x8x8", *self.OPTIONS, "--objective", "energy", expect=3)
        self.assertIn("cannot tune for energy on GPU 0: NVML", done.stderr)
        self.environment["HOTGEMM_OBJECTIVE"] = "energy"
        self.run_command("tune", "--shape", "8x8x8", *self.OPTIONS, expect=3)
        result = self.tune("--shape", "8x8x8", "--objective", "speed")["results"][0]
        self.assertEqual((result["objective"], result["joules"]), ("speed", None))
        [record] = self.run_json("db", "show")["records"]
        self.assertEqual((record["objective"], record["joules"], record["cublas"]), ("speed", None, None))

    def test_each_objective_has_its_record(self):
        nvml = str(pathlib.Path(cli_test.STANDIN).parent / "nvml")
        self.environment["LD_LIBRARY_PATH"] = f"{nvml}:{os.environ.get('LD_LIBRARY_PATH', '')}"
        self.environment["HOTGEMM_STANDIN_SCRIPT"] = "hotgemm_=speed:100"
        words = ["--shape", "8x8x8", "--no-baseline", "--objective"]
        fast = self.tune(*words, "speed")["results"][0]
        frugal = self.tune(*words, "energy")["results"][0]
        self.assertEqual((fast["objective"], fast["measure"], fast["joules"]), ("speed", "rounds", None))
        self.assertEqual((frugal["objective"], frugal["measure"]), ("energy", "sustained"))
        self.assertAlmostEqual(frugal["joules"], 500 * frugal["median_us"] * 1e-6, delta=1e-4)
        self.assertLessEqual(frugal["of_fastest"], 1)
        for objective in ("speed", "energy"):
            table = self.run_command("tune", *self.OPTIONS, *words, objective).stdout
            self.assertIn("recorded", table)
            self.assertEqual("mJ" in table, objective == "energy")
        self.assertEqual(sorted(r["objective"] for r in self.run_json("db", "show")["records"]), ["energy", "speed"])

    def test_without_cublas_the_pick_is_recorded_without_a_comparison(self):
        self.environment["HOTGEMM_LIBCUBLASLT"] = "/nowhere/libcublasLt.so"
        done = self.run_command("tune", "--shape", "8x8x8", *self.OPTIONS, "--cublas")
        self.assertIn("not compared with cuBLAS", done.stderr)
        self.assertIn("/nowhere/libcublasLt.so", done.stderr)
        self.assertEqual(len(self.records()), 1)

    def test_in_process_agrees(self):
        there = self.tune("--shape", "8x8x8")["results"][0]
        here = self.tune("--shape", "8x8x8", "--retune", "--in-process")["results"][0]
        self.assertEqual((here["config"], here["measured"]), (there["config"], there["measured"]))

    def test_beside_other_work_the_pick_is_the_same(self):
        alone = self.tune("--shape", "8x8x8")["results"][0]
        beside = self.tune("--shape", "8x8x8", "--retune", "--gpu-share", "0.25")["results"][0]
        self.assertEqual((beside["config"], beside["measured"]), (alone["config"], alone["measured"]))
        self.assertEqual(beside["baseline"], "")
        for words, named in ((["--gpu-share", "0"], "--gpu-share"), (["--gpu-share", "0.5", "--cublas"], "--cublas"),
                             (["--gpu-share", "0.5", "--objective", "energy"], "power of other work")):
            with self.subTest(words=words):
                self.assertIn(named, self.run_command("tune", "--shape", "8x8x8", *words, expect=1).stderr)

    def test_several_gpus_share_the_problems(self):
        self.environment["HOTGEMM_STANDIN_DEVICES"] = "2"
        self.environment["HOTGEMM_STANDIN_SCRIPT"] += ";hotgemm_=slow:500"
        output = self.tune("--shape", self.LIST, "--gpus", "0,1")
        self.assertEqual(len(output["results"]), self.COUNT)
        self.assertEqual({result["gpu"] for result in output["results"]}, {0, 1})
        self.assertEqual(len(self.records()), self.COUNT)
        # A GPU that does not exist is left out, with a message.
        output = self.tune("--shape", self.LIST, "--gpus", "1,7", "--retune")
        self.assertEqual({result["gpu"] for result in output["results"]}, {1})
        self.assertEqual([lost["gpu"] for lost in output["lost_gpus"]], [7])
        done = self.run_command("tune", "--shape", "8x8x8", *self.OPTIONS, "--gpus", "1,7", "-q")
        self.assertRegex(done.stderr, r"^hotgemm: GPU 7 is no longer used: .*\n$")

    def test_budgets_of_the_run(self):
        output = self.tune("--shape", self.LIST, "--trials", "1")
        self.assertEqual((output["ended"], output["left"]), ("out_of_trials", self.COUNT - 1))
        # A problem that had all trials of a run is not begun again; so repeated runs come to the end of the list.
        output = self.tune("--shape", self.LIST, "--trials", "1", "--resume")
        self.assertEqual((output["ended"], output["left"]), ("out_of_trials", self.COUNT - 2))
        self.environment["HOTGEMM_STANDIN_SCRIPT"] += ";hotgemm_=slow:5000"
        done = self.run_command("tune", "--shape", self.LIST, *self.OPTIONS, "--retune", "--run-budget", "1s")
        self.assertIn("left because --run-budget is used up; use --resume to continue", done.stdout)
        self.assertNotIn("16 problems in", done.stdout)


class FaultTest(TuneCase):
    CANDIDATES = 12

    def test_planted_candidates_cost_their_own_rows(self):
        names = self.candidates()
        self.assertGreaterEqual(len(names), 8)
        fault, hang, wrong, nan, slow, stray, crash, best = names[:8]
        self.plant((fault, "fault"), (hang, "hang"), (wrong, "wrong"), (wrong, "speed:10"), (nan, "nan"),
                   (slow, "speed:100000"), (stray, "stray"), (crash, "crash"), (best, "speed:500"))
        words = ["--shape", "8x8x8", "--hang-timeout", "3", "--trace", "t.jsonl"]
        started = time.monotonic()
        output = self.tune(*words)
        self.assertLess(time.monotonic() - started, 60)
        result = output["results"][0]
        self.assertEqual((result["config"], result["median_us"]), (best, 500))
        reasons = {rejection["config"]: rejection["reason"] for rejection in result["rejections"]}
        expected = {fault: "faulted: ", hang: "hung: ", wrong: "wrong: ", nan: "wrong: ", stray: "stray write: ",
                    crash: "faulted: ", slow: "slow: "}
        for config, kind in expected.items():
            self.assertTrue(reasons.get(config, "").startswith(kind), f"{kind}, {reasons}")
        self.assertEqual(output["rejected"], {"faulted": 2, "wrong": 2, "hung": 1, "stray write": 1, "slow": 1})
        self.assertGreaterEqual(output["restarts"], 3)
        traced = [json.loads(line) for line in (self.path / "t.jsonl").read_text().splitlines()]
        self.assertEqual({line["config"] for line in traced if "rejected" in line}, set(expected))
        self.expect_nobody_left()

        # A second run does not try the rejected kernels, so they kill no worker.
        again = self.tune(*words, "--retune")
        self.assertEqual(again["restarts"], 0)
        self.assertEqual(again["results"][0]["config"], best)
        reasons = {rejection["config"]: rejection["reason"] for rejection in again["results"][0]["rejections"]}
        for config in set(expected) - {slow}:
            self.assertTrue(reasons.get(config, "").startswith("remembered: " + expected[config]), reasons)
        text = self.run_command("tune", *self.OPTIONS, *words, "--retune", "--rejections").stdout
        self.assertIn("remembered: hung: no answer within 3.0 s", text)
        self.assertRegex(text, r"rejected: remembered \d+ · slow 1")

    def test_a_kernel_that_does_not_compile_is_a_row(self):
        templates = self.path / "templates"
        source = pathlib.Path(__file__).resolve().parents[2] / "templates"
        if not source.is_dir():
            self.skipTest("the templates are not here")
        shutil.copytree(source, templates)
        names = self.candidates()
        stages = re.search(r"_s(\d)_", names[0])[1]
        text = (templates / "mma.cuh").read_text()
        marked, count = re.subn(r"(static_assert\(is_legal\()", rf'static_assert(Cfg.stages != {stages}, "planted");\n  \1',
                                text, count=1)
        self.assertEqual(count, 1, "mma.cuh has changed: plant the error elsewhere")
        config = re.search(r"is_legal\((\w+)", text)[1]
        (templates / "mma.cuh").write_text(marked.replace("Cfg.stages", f"{config}.stages"))
        self.environment["HOTGEMM_TEMPLATE_DIR"] = str(templates)
        output = self.tune("--shape", "8x8x8")
        result = output["results"][0]
        self.assertGreaterEqual(output["rejected"].get("compile error", 0), 1, output)
        self.assertNotIn(f"_s{stages}_", result["config"])

    def test_where_all_are_wrong_there_is_no_result(self):
        self.environment["HOTGEMM_STANDIN_SCRIPT"] += ";hotgemm_=wrong"
        output = self.tune("--shape", "8x8x8,8x16x8", expect=4)
        self.assertEqual([result["origin"] for result in output["results"]], ["failed", "failed"])
        self.assertEqual(self.records(), {})


class InterruptTest(TuneCase):
    def setUp(self):
        super().setUp()
        self.environment["HOTGEMM_STANDIN_SCRIPT"] += ";hotgemm_=slow:400"

    def wait_for_done(self, process, count=1):
        """Reads until `count` problems are done. Returns their configs."""
        done = {}
        while len(done) < count:
            line = process.stderr.readline()
            self.assertNotEqual(line, "", "it ended too early")
            if match := DONE_LINE.match(line):
                done[match["label"]] = match["config"]
        return done

    def test_ctrl_c_keeps_what_is_done_and_resume_goes_on(self):
        with self.start("--shape", self.LIST, "--json") as process:
            done = self.wait_for_done(process, 2)
            process.send_signal(signal.SIGINT)
            output = json.loads(process.communicate(timeout=60)[0])
        self.assertEqual(process.returncode, 130)
        self.assertEqual(output["ended"], "cancelled")
        self.assertGreater(output["left"], 0)
        finished = len(output["results"])
        self.assertGreaterEqual(finished, len(done))
        self.assertEqual(len(self.records()), finished)
        self.expect_nobody_left()

        origins = [result["origin"] for result in output["results"]]
        again = self.tune("--shape", self.LIST, "--resume")
        self.assertEqual(len(again["results"]), self.COUNT)
        for before, after in zip(origins, again["results"]):
            self.assertEqual(after["origin"], "tuned" if before == "partial" else "recorded")
        # Nothing is measured with --retune either, which would measure everything again without --resume.
        last = self.tune("--shape", self.LIST, "--resume", "--retune")
        self.assertEqual({result["origin"] for result in last["results"]}, {"recorded"})

    def test_two_signals_at_once_are_one_request(self):
        # So ends `timeout 60 hotgemm ...`, which signals the process and its group.
        with self.start("--shape", self.LIST, "--json") as process:
            self.wait_for_done(process, 1)
            process.send_signal(signal.SIGTERM)
            time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            output = json.loads(process.communicate(timeout=60)[0])
        self.assertEqual(process.returncode, 130)
        self.assertEqual(output["ended"], "cancelled")

    def test_a_second_ctrl_c_ends_at_once(self):
        self.environment["HOTGEMM_STANDIN_SCRIPT"] += ";hotgemm_=hang"
        with self.start("--shape", self.LIST, "--hang-timeout", "600") as process:
            deadline = time.monotonic() + 60
            while len(processes_of(self.environment["HOTGEMM_CACHE_DIR"])) < 2 and time.monotonic() < deadline:
                time.sleep(0.02)
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            time.sleep(0.3)
            self.assertIsNone(process.poll(), "the first one waits for the step under way")
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.expect_nobody_left()

    def test_a_killed_run_is_gone_on_with(self):
        with self.start("--shape", self.LIST, "--trace", "t.jsonl", "--retune") as process:
            done = self.wait_for_done(process, 2)
            process.kill()
            process.communicate(timeout=60)
        self.expect_nobody_left()
        again = self.tune("--shape", self.LIST, "--resume", "--retune", "--trace", "t.jsonl")
        origins = {" ".join(r["problem"].split()[:5]): r["origin"] for r in again["results"]}
        self.assertEqual(len(origins), self.COUNT)
        for label in done:
            self.assertEqual(origins[label], "recorded")
        self.assertIn("tuned", origins.values())
        text = (self.path / "t.jsonl").read_text()  # the trace is continued too
        self.assertEqual(text.count('{"trace"'), 2)


if __name__ == "__main__":
    sys.exit(cli_test.main())
