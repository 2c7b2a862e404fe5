#!/usr/bin/env python3
"""Runs the `hotgemm` command as a user would. Tests that need NVRTC or a stand-in driver are skipped without it."""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import json_contract

COMMAND = ""
STANDIN = ""
CORRUPTING = ""
HAS_NVRTC = False
CONFIG = "mma_m128_n128_k32_wm2_wn2_s4_x1_f1_e1_b1"


class CliTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.path = pathlib.Path(self.directory.name).resolve()
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("HOTGEMM_")}
        for name in ("HOTGEMM_LIBNVRTC", "HOTGEMM_LIBCUBLAS"):  # their places on this machine
            if name in os.environ:
                self.environment[name] = os.environ[name]
        self.environment["HOTGEMM_CACHE_DIR"] = str(self.path / "cache")
        self.environment["HOTGEMM_SHIPPED_RECORDS"] = "off"
        self.environment["HOTGEMM_LIBCUDA"] = "/nonexistent/libcuda.so"

    def run_command(self, *words, expect=0, text_in=None):
        done = subprocess.run([COMMAND, *words], env=self.environment, capture_output=True, text=True, timeout=300,
                              input=text_in, check=False, cwd=self.path)
        self.assertEqual(done.returncode, expect, f"{words}\nstdout: {done.stdout}\nstderr: {done.stderr}")
        if "--json" in words:
            self.assertEqual(json_contract.violations(done.stdout), [], words)
        return done

    def run_json(self, *words, expect=0):
        return json.loads(self.run_command(*words, "--json", expect=expect).stdout)

    def need_nvrtc(self):
        if not HAS_NVRTC:
            self.skipTest("NVRTC cannot be loaded")

    def use_standin(self, library=None):
        self.need_nvrtc()
        library = STANDIN if library is None else library
        if not library:
            self.skipTest("no stand-in driver")
        self.environment["HOTGEMM_LIBCUDA"] = library
        # A real cuBLAS would need a real driver.
        self.environment["HOTGEMM_LIBCUBLAS"] = "/nowhere/libcublas.so"
        # The memory of a small GPU, and an L2 that a few operand sets fill.
        return ["--jobs", "1", "--candidates", "2", "--scratch", "4M", "--budget", "60"]


class UsageTest(CliTest):
    def test_version_and_help_need_no_driver(self):
        self.assertRegex(self.run_command("--version").stdout, r"^hotgemm \d+\.\d+\.\d+\n")
        self.assertIn("prewarm", self.run_command("--help").stdout)
        for sub in (["info"], ["prewarm"], ["tune"], ["bench"], ["show"], ["cache", "ls"], ["db", "merge"]):
            self.assertIn("--json", self.run_command(*sub, "--help").stdout)

    def test_bad_words_are_named_and_exit_with_1(self):
        (self.path / "bad.txt").write_text("64 64 64 nn f16\n64 64 x nn f16\n")
        prewarm = ["prewarm", "--arch", "sm_80"]
        for words, named in (
                ([], "command"), (["bogus"], "bogus"), (["cache", "bogus"], "bogus"), (["tune", "--bogus"], "--bogus"),
                ([*prewarm, "--shape", "64x64"], "64x64"), ([*prewarm, "--shape", "64x64x64", "--layout", "nq"], "nq"),
                ([*prewarm, "--shape", "64x64x64", "--dtype", "f19"], "f19"),
                ([*prewarm, "--shape", "64x64x64", "--acc", "f64"], "--acc"),
                ([*prewarm, "--shape", "64x64x64", "--align", "3"], "--align"),
                ([*prewarm, "--shapes", "bad.txt"], "bad.txt:2"), ([*prewarm, "--shapes", "absent.txt"], "absent.txt"),
                (prewarm, "--shape"), (["prewarm", "--arch", "sm_42", "--shape", "64x64x64"], "sm_42"),
                (["show", "mma_m1"], "mma_m1"),
                (["show", "mma_m128_n128_k32_wm0_wn2_s2_x1_f1_e1_b1"], "warps_m: 0"),
                (["show"], "--shape"), (["db", "lint", "absent"], "absent"),
                (["cache", "trim", "--max-size", "many"], "many")):
            with self.subTest(words=words):
                done = self.run_command(*words, expect=1)
                self.assertTrue(done.stderr.startswith("hotgemm: "), done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn(named, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_a_word_that_is_nearly_right_is_answered_with_the_right_one(self):
        for words, answer in ((["prewam"], "prewarm"), (["cache", "trm"], "trim"), (["tune", "--shpe", "8x8x8"], "--shape"),
                              (["show", "--arch", "sm_90"], "sm_90a"), (["show", "--arch", "sm_98a"], None),
                              (["worke"], None)):
            done = self.run_command(*words, expect=1)
            self.assertEqual(f"did you mean {answer}?" in done.stderr, answer is not None, done.stderr)
        self.assertIn("known are sm_75, ", self.run_command("show", "--arch", "sm_98a", expect=1).stderr)

    def test_an_architecture_has_several_names(self):
        pages = {self.run_command("show", "--shape", "8x8x8", "--arch", arch).stdout
                 for arch in ("sm_80", "80", "8.0", "sm80", "compute_80")}
        self.assertEqual(len(pages), 1)
        self.run_command("show", "--shape", "8x8x8", "--arch", "native", expect=3)  # there is no driver

    def test_errors_are_json_with_json(self):
        self.assertEqual(self.run_json("bogus", expect=1)["error"]["code"], "usage")
        self.assertEqual(self.run_json("show", "nonsense", expect=1)["error"]["code"], "invalid_argument")
        error = self.run_json("tune", "--shape", "64x64x64", expect=3)["error"]
        self.assertEqual(error["code"], "no_driver")
        self.assertNotIn("\n", error["message"])

    def test_bad_environment_exits_with_3(self):
        self.assertIn("/nonexistent/libcuda.so", self.run_command("bench", "--shape", "64x64x64", expect=3).stderr)
        self.environment["HOTGEMM_TEMPLATE_DIR"] = "/nonexistent"
        self.assertIn("/nonexistent", self.run_command("show", "--shape", "64x64x64", "--source", expect=3).stderr)


class InfoTest(CliTest):
    def test_missing_things_are_reported_and_no_failure(self):
        self.environment["HOTGEMM_LIBNVRTC"] = "/nonexistent/libnvrtc.so"
        found = self.run_json("info")
        self.assertIn("/nonexistent/libcuda.so", found["driver"]["missing"])
        self.assertIn("/nonexistent/libnvrtc.so", found["nvrtc"]["missing"])
        self.assertEqual(found["cache"]["directory"], str(self.path / "cache"))
        variables = {v["name"]: v["value"] for v in found["variables"]}
        self.assertEqual(variables["HOTGEMM_LIBNVRTC"], "/nonexistent/libnvrtc.so")
        self.assertIsNone(variables["HOTGEMM_TUNE"])
        self.assertIn("/nonexistent/libcuda.so", self.run_command("info").stdout)

    def test_bad_template_directory_is_no_failure_either(self):
        self.environment["HOTGEMM_TEMPLATE_DIR"] = "/nonexistent"
        self.assertIn("/nonexistent", self.run_json("info")["library"]["missing"])


class ShowTest(CliTest):
    def test_a_config_is_explained(self):
        page = self.run_command("show", CONFIG).stdout
        for part in ("block_m", "128x128x32 = 2x2 warps of 64x64, 128 threads", "4 stages: 65536 bytes", "sm_90a"):
            self.assertIn(part, page)
        archs = {a["arch"]: a["legal"] for a in self.run_json("show", CONFIG)["archs"]}
        self.assertFalse(archs["sm_75"])
        self.assertTrue(archs["sm_80"])

    def test_candidates_are_ranked_by_prediction(self):
        problem = self.run_json("show", "--shape", "4096x4096x4096", "--arch", "sm_90a", "--top", "7")["results"][0]
        times = [c["predicted_us"] for c in problem["ranked"]]
        self.assertEqual(len(times), 7)
        self.assertEqual(times, sorted(times))
        anchors = self.run_json("show", "--shape", "4096x4096x4096", "--arch", "sm_90a", "--anchors")["results"][0]
        self.assertEqual(len(anchors["ranked"]), problem["anchors"])
        self.assertLess(problem["anchors"], problem["candidates"])

    def test_source_needs_no_compiler(self):
        self.environment["HOTGEMM_LIBNVRTC"] = "/nonexistent"
        source = self.run_command("show", CONFIG, "--source", "--arch", "sm_80", "--layout", "nt").stdout
        self.assertIn(".block_m = 128", source)
        # The whole code, not a stub that includes it: each template once.
        self.assertEqual(source.count("class MmaGemm {"), 1)
        self.assertEqual(source.count("struct MmaConfig {"), 1)
        self.assertNotIn('#include "', source)

    def test_rungs_are_named_as_in_the_material(self):
        found = [self.run_json("show", name)["config"] for name in ("naive", "(naive)", "hgemm_naive_f16_kernel")]
        self.assertEqual(found, [found[0]] * 3)
        self.assertIn("family fma", self.run_command("show", "naive").stdout)
        self.assertEqual(self.run_json("show", "mma4x2")["family"], "wmma")
        self.assertIn("4096 4096 4096 nt s8", self.run_command("show", "matrixMulOnGPU").stdout)
        source = self.run_command("show", "naive", "--source").stdout
        self.assertIn(".stages = 0", source)
        self.assertEqual(source.count("class FmaGemm {"), 1)
        for name, said in (("cublas", "cuBLAS"), ("no_such_rung", "no_such_rung"),
                           ("hgemm_mma_m16n8k16_mma2x4_warp4x4_stages", "mma2x4+warp4x4+stage3")):
            with self.subTest(name=name):
                self.assertIn(said, self.run_command("show", name, expect=1).stderr)

    def test_illegal_combination(self):
        self.assertIn("sm_75", self.run_command("show", CONFIG, "--source", "--arch", "sm_75", expect=2).stderr)

    def test_cubin_is_an_elf_file(self):
        self.need_nvrtc()
        self.run_command("show", CONFIG, "--cubin", "k.cubin", "--build", "--arch", "sm_80")
        self.assertEqual((self.path / "k.cubin").read_bytes()[:4], b"\x7fELF")


class PrewarmTest(CliTest):
    WORDS = ["prewarm", "--arch", "sm_80,sm_90a", "--shape", "64x64x64", "--layout", "nn,nt"]

    def test_second_time_compiles_nothing(self):
        self.need_nvrtc()
        listed = self.run_json(*self.WORDS, "--list")
        self.assertEqual(listed["to_compile"], 4)
        first = self.run_json(*self.WORDS)
        self.assertEqual((first["compiled"], first["cached"], first["failed"]), (4, 0, 0))
        self.assertEqual([e["config"] for e in first["results"]], [e["config"] for e in listed["results"]])
        self.assertTrue(all(e["registers"] > 0 for e in first["results"]))
        self.environment["HOTGEMM_LIBNVRTC"] = "/nonexistent"  # a full cache needs no compiler
        second = self.run_json(*self.WORDS)
        self.assertEqual((second["compiled"], second["cached"], second["failed"]), (0, 4, 0))
        self.assertIn("registers", self.run_command(*self.WORDS, "--report").stdout)
        self.assertEqual(self.run_json(*self.WORDS, "--list")["to_compile"], 0)

    def test_prepacked_operands_need_the_kernel_that_packs(self):
        self.need_nvrtc()
        words = ["prewarm", "--arch", "sm_80,sm_90a", "--shape", "64 64 64 nn f16 prepacked=b"]
        listed = self.run_json(*words, "--list")
        self.assertEqual(listed["to_compile"], 4)
        self.assertEqual([e["config"] for e in listed["results"]].count("repack"), 2)
        self.assertEqual(self.run_json(*words)["compiled"], 4)
        self.assertEqual(self.run_json(*words, "--list")["to_compile"], 0)

    def test_a_function_of_the_user_is_compiled_with_the_kernel(self):
        self.need_nvrtc()
        good, bad = self.path / "cap.txt", self.path / "bad.txt"
        good.write_text("column scale\nscalar cap\ncap * tanh(scale * value / cap)\n")
        bad.write_text("row left\nvalue +\n  right\n")
        words = ["prewarm", "--arch", "sm_80", "--shape", "64 64 64 nt bf16 epilogue=bias"]
        problem = self.run_json(*words, "--epilogue", str(good))["results"][0]["problem"]
        self.assertRegex(problem, r"epilogue=bias\+function:[0-9a-f]{12}0013 ")
        pipe = self.path / "pipe"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_text, args=(good.read_text(),))
        writer.start()
        self.assertEqual(self.run_json(*words, "--epilogue", str(pipe))["results"][0]["problem"], problem)
        writer.join()
        log = self.path / "log.txt"
        log.write_text(problem)
        words[3:] = ["--shapes", str(log)]
        logged = self.run_json(*words, "--epilogue", str(bad), "--epilogue", str(good), "--verify")
        self.assertEqual((logged["cached"], logged["failed"]), (1, 0))
        self.assertIn("is not known", self.run_command(*words, expect=2).stderr)
        for entry in (self.path / "cache").rglob("*.hgk"):
            self.assertNotIn(b"tanh(scale", entry.read_bytes())
        failed = self.run_command("prewarm", "--arch", "sm_80", "--shape", "64 64 64 nt bf16", "--epilogue", str(bad),
                                  expect=2).stderr
        self.assertIn(f'{bad}(3): error: identifier "right" is undefined', failed)
        self.assertIn("cannot read", self.run_command(*words, "--epilogue", "/nowhere", expect=1).stderr)

    def test_worker_processes_fill_the_same_cache(self):
        """More than eight jobs run in worker processes. Their kernels serve a later run without worker processes."""
        self.need_nvrtc()
        words = [*self.WORDS, "--jobs", "9"]
        first = self.run_json(*words)
        self.assertEqual((first["compiled"], first["cached"], first["failed"]), (4, 0, 0))
        self.assertEqual(self.run_json(*self.WORDS)["cached"], 4)

    def test_workers_use_the_template_directory(self):
        self.need_nvrtc()
        templates = shutil.copytree(pathlib.Path(__file__).parents[2] / "templates", self.path / "templates")
        for family in ("wgmma.cuh", "mma.cuh", "simt.cuh"):
            with open(templates / family, "a", encoding="utf-8") as file:
                file.write("#error edited\n")
        self.environment["HOTGEMM_TEMPLATE_DIR"] = str(templates)
        done = self.run_command(*self.WORDS, "--jobs", "9", expect=2)
        self.assertIn("edited", done.stderr)

    def test_nobody_starts_a_worker_by_hand(self):
        self.assertIn("socket", self.run_command("compile-worker", expect=1).stderr)

    def test_without_nvrtc(self):
        self.environment["HOTGEMM_LIBNVRTC"] = "/nonexistent"
        output = self.run_json(*self.WORDS, expect=3)
        self.assertEqual(output["error"]["code"], "no_compiler")
        self.assertEqual(output["failed"], 4)

    def test_rows_are_packed_unless_told_otherwise(self):
        (self.path / "ragged.txt").write_text("63 62 60 nn f16\n63 62 60 nn f16 align=16 beta=1\n")
        words = ["prewarm", "--arch", "sm_80", "--shapes", "ragged.txt", "--list"]

        def problems(*more):
            return [entry["problem"] for entry in self.run_json(*words, *more)["results"]]
        self.assertEqual(problems(), ["63 62 60 nn f16 align=8,4,4", "63 62 60 nn f16 align=16 beta=1"])
        self.assertEqual(problems("--align", "packed", "--beta", "0"), ["63 62 60 nn f16 align=8,4,4"])
        self.assertEqual(problems("--align", "8,4,2", "--beta", "1"), ["63 62 60 nn f16 align=8,4,2 beta=1"])
        (self.path / "ragged.txt").write_text("63 62 60 nn f16 align=16 workspace=none\n")
        self.assertEqual(problems("--align", "8,4,2"), ["63 62 60 nn f16 align=8,4,2 workspace=none"])
        words = ["prewarm", "--arch", "sm_80", "--shape", "63 62 60 nn f16 ldd=64 beta=1", "--list"]
        self.assertEqual(problems(), ["63 62 60 nn f16 align=8,4,16 beta=1"])

    def test_shapes_from_stdin(self):
        words = ["prewarm", "--arch", "sm_80", "--shapes", "-", "--list"]
        self.assertIn("32 64 96 tn bf16", self.run_command(*words, text_in="32 64 96 tn bf16\n").stdout)

    def test_a_problem_without_a_kernel_fails_alone(self):
        self.need_nvrtc()
        output = self.run_json("prewarm", "--arch", "sm_75,sm_80", "--shape", "64x64x64", "--acc", "f16", expect=2)
        self.assertEqual((output["compiled"], output["failed"]), (1, 1))

    def test_interrupt_keeps_what_is_done(self):
        self.need_nvrtc()
        shapes = ",".join(f"{m}x{n}x1024" for m in (64, 512, 4096) for n in (64, 512, 4096))
        words = [COMMAND, "prewarm", "--arch", "sm_80,sm_86,sm_89,sm_90a", "--candidates", "--jobs", "1", "--json",
                 "--layout", "nn,nt,tn,tt", "--shape", shapes]
        with subprocess.Popen(words, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              cwd=self.path) as process:
            kernels = self.path / "cache"
            deadline = time.monotonic() + 60
            while not list(kernels.rglob("*.hgk")) and time.monotonic() < deadline:
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        report = json.loads(output)
        self.assertGreaterEqual(report["compiled"], 1)
        self.assertEqual((report["failed"], report["interrupted"]), (0, True))
        self.assertEqual(report["stored"], report["compiled"])
        self.assertGreater(report["not_started"], 0)
        self.assertGreaterEqual(len(list(kernels.rglob("*.hgk"))), 1)


class CacheTest(CliTest):
    def fill(self):
        self.need_nvrtc()
        self.run_command("prewarm", "--arch", "sm_80", "--shape", "64x64x64", "--layout", "nn,nt", "--jobs", "1")

    def test_an_empty_cache_is_fine(self):
        self.assertEqual(self.run_json("cache", "ls")["entries"], [])
        verified = self.run_json("cache", "verify")
        self.assertEqual((verified["good"], verified["bad"]), (0, []))
        self.assertEqual(self.run_command("cache", "path").stdout, f"{self.path}/cache\n")
        self.assertEqual(self.run_command("cache", "path", "--cache-dir", "here").stdout, f"{self.path}/here\n")

    def test_verify_names_the_damaged_entry(self):
        self.fill()
        self.assertEqual(self.run_json("cache", "verify")["good"], 2)
        entry = sorted((self.path / "cache").rglob("*.hgk"))[0]
        data = bytearray(entry.read_bytes())
        data[-100] ^= 1
        entry.write_bytes(data)
        done = self.run_command("cache", "verify", expect=2)
        self.assertIn(entry.name, done.stderr)
        self.assertIn("1 good, 1 bad", done.stdout)

    def test_extract_trim_clear(self):
        self.fill()
        entries = self.run_json("cache", "ls")["entries"]
        self.assertEqual(len(entries), 2)
        self.run_command("cache", "extract", entries[0]["identity"][:16], "out.cubin")
        self.assertEqual((self.path / "out.cubin").read_bytes()[:4], b"\x7fELF")
        self.run_command("cache", "extract", "nothex", "out2.cubin", expect=1)
        self.run_command("cache", "extract", "", "out2.cubin", expect=1)  # begins every identity
        self.assertEqual(self.run_json("cache", "stat")["entries"], 2)
        self.assertEqual(self.run_json("cache", "trim", "--max-size", str(entries[0]["bytes"] + 4096))["removed"], 1)
        self.assertEqual(self.run_json("cache", "clear")["removed"], 1)


class EmulateTest(CliTest):
    def setUp(self):
        super().setUp()
        done = subprocess.run([COMMAND, "emulate", "--list"], env=self.environment, capture_output=True, text=True,
                              timeout=60, check=False)
        if done.returncode == 3:
            self.assertIn("HOTGEMM_BUILD_EMULATE", done.stderr)
            self.skipTest(done.stderr)

    def test_results_of_both_families_are_checked(self):
        for family, dtype in (("mma", "f16"), ("simt", "f32")):
            with self.subTest(family=family):
                found = self.run_json("emulate", "--shape", "70x50x40", "--layout", "nn,tt", "--family", family,
                                      "--dtype", dtype, "--seed", "7")
                self.assertEqual(found["seed"], 7)
                self.assertEqual(len(found["results"]), 2)
                for result in found["results"]:
                    self.assertTrue(result["config"].startswith(family))
                    self.assertTrue(0 < result["error_over_gate"] <= 1)
                    self.assertEqual(result["findings"], [])
        self.assertIn("ldmatrix", self.run_command("emulate", "--shape", "70x50x40", "--data", "integers").stdout)

    def test_a_config_can_be_named(self):
        config = "mma_m32_n48_k48_wm1_wn3_s5_x1_f2_e0_b1"
        found = self.run_json("emulate", "--shape", "70x50x40", "--align", "16", "--config", config)
        self.assertEqual(found["results"][0]["config"], config)
        self.assertIn(config, self.run_command("emulate", "--list").stdout)

    def test_edited_templates_are_refused(self):
        root = pathlib.Path(__file__).parents[2]
        templates = shutil.copytree(root / "templates", self.path / "templates")
        self.environment["HOTGEMM_TEMPLATE_DIR"] = str(templates)
        words = ["emulate", "--shape", "8x8x8", "--family"]
        self.run_command(*words, "mma")  # the same text
        with open(templates / "operand_tile.cuh", "a", encoding="utf-8") as file:
            file.write("// edited\n")
        done = self.run_command(*words, "mma", expect=3)
        self.assertIn("mma.cuh in HOTGEMM_TEMPLATE_DIR", done.stderr)
        self.assertIn("hotgemm_command", done.stderr)
        self.run_command(*words, "simt")  # includes nothing that was edited

    def test_what_cannot_be_run_is_said(self):
        self.assertIn("--shape", self.run_command("emulate", expect=1).stderr)
        self.assertIn("mma_m1", self.run_command("emulate", "--shape", "8x8x8", "--config", "mma_m1", expect=1).stderr)
        self.assertIn("2^31", self.run_command("emulate", "--shape", "4096x4096x4096", expect=1).stderr)
        message = self.run_command("emulate", "--shape", "8x8x8", "--dtype", "f32", "--family", "mma", expect=2).stderr
        self.assertIn("no kernel of family mma for 8 8 8 nn f32 ", message)
        self.assertIn("--list", message)

    def test_a_named_config_without_a_kernel_for_the_problem_says_which_problems_it_has(self):
        words = ["emulate", "--shape", "128x128x64", "--config", "f16x4+t8x8"]
        message = self.run_command(*words, expect=2).stderr
        self.assertIn("no kernel of fma_m128_n128_k8_tm8_tn8_s1_v4_p0_x0_a0_b1_t0 for 128 128 64 nn f16 ", message)
        self.assertIn("f16_f16_nn_a8b8d8_c0", message)
        self.run_command(*words, "--acc", "f16")

    def test_the_list_is_of_the_family_or_config_that_is_named(self):
        kernels = self.run_json("emulate", "--list", "--family", "fma")["kernels"]
        self.assertGreater(len(kernels), 10)
        self.assertEqual({kernel["config"].partition("_")[0] for kernel in kernels}, {"fma"})
        of_a_rung = self.run_json("emulate", "--list", "--config", "f16x4+t8x8")["kernels"]
        self.assertEqual([kernel["traits"] for kernel in of_a_rung], ["f16_f16_nn_a8b8d8_c0"])


class MeasuringTest(CliTest):
    """Runs against the stand-in driver. Tests what the command does with numbers, not the numbers."""

    def test_tune_records_and_bench_uses_the_record(self):
        options = self.use_standin()
        first = self.run_json("tune", "--shape", "64x64x64", *options)["results"][0]
        self.assertGreaterEqual(first["measured"], 1)
        again = self.run_json("tune", "--shape", "64x64x64", *options)["results"][0]
        self.assertTrue(again["was_recorded"])
        self.assertEqual(again["config"], first["config"])
        self.assertFalse(self.run_json("tune", "--shape", "64x64x64", "--retune", *options)["results"][0]["was_recorded"])

        bench = ["bench", "--shape", "64x64x64", "--no-baseline", "--rounds", "2", "--round-us", "50", *options]
        output = self.run_json(*bench, "--mode", "eager", "--results", "r.md", "--commit", "abc123")
        self.assertEqual(output["results"][0]["origin"], "tuned")
        self.assertIsNone(output["results"][0]["ratio"])
        self.assertEqual(output["means"], [])
        text = (self.path / "r.md").read_text()
        for part in ("commit abc123", "--round-us 50", "| 64 64 64 nn f16 | eager |", "power limit"):
            self.assertIn(part, text)
        self.run_command(*bench, "--mode", "eager", "--results", "r.md")
        self.assertEqual((self.path / "r.md").read_text().count("## "), 2)

    def test_bench_packs_before_it_measures(self):
        options = self.use_standin()
        words = ["bench", "--policy", "estimate", "--no-baseline", "--mode", "eager", "--rounds", "2", "--round-us", "50"]
        for problem in ("63 65 67 nt f16 prepacked=b", "63 65 67 tn bf16 prepacked=ab beta=1"):
            result = self.run_json(*words, "--shape", problem, *options)["results"][0]
            self.assertNotIn("failure", result)  # wrong numbers would be one
            self.assertTrue(result["problem"].startswith(problem.split(" beta")[0]), result["problem"])
            self.assertGreater(result["ours"]["median_us"], 0)

    def test_bench_measures_each_side_alone(self):
        options = self.use_standin()
        self.environment["HOTGEMM_STANDIN_SCRIPT"] = "hotgemm=speed:20000"  # so that seconds take few launches
        words = ["bench", "--policy", "estimate", "--shape", "64x64x64", "--no-baseline", "--mode", "eager", *options]
        output = self.run_json(*words, "--measure", "sustained", "--pairs", "3", "--results", "r.md")
        result = output["results"][0]
        self.assertEqual(result["measure"], "sustained")
        self.assertAlmostEqual(result["ours"]["median_us"], 20000, delta=20)
        self.assertEqual(result["ours"]["unsteady_blocks"], 0)
        # There is no NVML for the stand-in's GPU.
        for name in ("clock_mhz", "power_w", "throttle"):
            self.assertIsNone(result["ours"][name])
        self.assertIn("| unknown | unknown | unknown |", (self.path / "r.md").read_text())
        rounds = self.run_json(*words, "--measure", "rounds", "--rounds", "2", "--round-us", "50")["results"][0]
        self.assertEqual(rounds["measure"], "rounds")
        self.assertNotIn("clock_mhz", rounds["ours"])

    def test_bench_times_programmatic_launches_behind_a_kernel(self):
        options = self.use_standin()
        self.environment["HOTGEMM_STANDIN_SCRIPT"] = "hotgemm=speed:20000"
        # The model alone picks a kernel that divides k, which is launched programmatically.
        words = ["bench", "--policy", "estimate", "--shape", "64x64x8192", "--no-baseline", "--mode", "eager", *options]
        output = self.run_json(*words, "--rounds", "2", "--round-us", "50", "--results", "r.md")
        result = output["results"][0]
        self.assertEqual(result["measure"], "rounds behind a kernel")
        self.assertAlmostEqual(result["ours"]["median_us"], 20000, delta=20)
        self.assertIn("whose time is taken off", (self.path / "r.md").read_text())

    def test_bench_times_epilogues_over_the_bare_product(self):
        options = self.use_standin()
        self.environment["HOTGEMM_STANDIN_SCRIPT"] = "hotgemm=speed:20000;gelu=speed:21000"
        problem = "63 66 72 nt bf16 epilogue=bias+gelu+residual"
        words = ["bench", "--policy", "estimate", "--shape", problem, "--no-baseline", "--mode", "eager", *options]
        for measure, count in (("rounds", ["--rounds", "7"]), ("sustained", ["--pairs", "2"])):
            output = self.run_json(*words, "--measure", measure, *count, "--round-us", "50", "--results", "r.md")
            result = output["results"][0]
            self.assertEqual(result["measure"], measure)
            self.assertAlmostEqual(result["over_bare"], 1.05, delta=0.001)
            self.assertAlmostEqual(result["bare"]["median_us"], 20000, delta=20)
            self.assertRegex(result["bare"]["name"], "^(mma|wgmma)_")
            self.assertIsNone(result["ratio"])
            self.assertAlmostEqual(output["mean_over_bare"], 1.05, delta=0.001)
        for part in ("| bare µs | over bare |", "1.050 (1.050 to 1.050)", "geometric mean over bare: 1.050"):
            self.assertIn(part, (self.path / "r.md").read_text())
        for other in (["--compare-measures", "2"], ["--exhaustive"], ["--quality"]):
            done = self.run_command("bench", *other, "--shape", problem, *options, expect=2)
            self.assertIn("leave out the epilogue", done.stderr)

    def test_epilogues_that_cublas_lacks_are_in_the_summary(self):
        options = self.use_standin()
        fake = pathlib.Path(STANDIN).with_name("libhotgemm_fake_cublas.so")
        if not fake.exists():
            self.skipTest("no fake cuBLAS")
        for name in ("HOTGEMM_LIBCUBLAS", "HOTGEMM_LIBCUBLASLT"):
            self.environment[name] = str(fake)
        self.environment["HOTGEMM_STANDIN_SCRIPT"] = "hotgemm=speed:20000;gelu=speed:20400"
        (self.path / "e.txt").write_text("63 66 72 nt bf16 epilogue=bias+gelu+residual\n64 64 64 nt bf16 epilogue=silu\n")
        words = ["bench", "--policy", "estimate", "--mode", "eager", "--rounds", "7", "--round-us", "50", *options]
        output = self.run_json(*words, "--shapes", "e.txt", "--summary", "--results", "r.md")
        self.assertEqual([r["ratio"] for r in output["results"]], [None, None])
        summary = output["summary"][0]
        self.assertAlmostEqual(summary["over_bare"], 1.01, delta=0.001)
        self.assertAlmostEqual(summary["highest_ratio_over_bare"], 1.02, delta=0.001)
        self.assertIn("gelu", summary["highest_over_bare"])
        self.assertIn("| over bare there |", (self.path / "r.md").read_text())

    def test_bench_checks_every_part_of_an_epilogue(self):
        options = self.use_standin()
        words = ["bench", "--policy", "estimate", "--no-baseline", "--mode", "eager", "--rounds", "2", "--round-us", "50",
                 *options]
        all_parts = "scale_a:vector+scale_b:vector+bias+aux+gelu+residual+scale_d+scalars"
        for problem in (f"33 66 72 nt bf16 epilogue={all_parts}", f"33 66 72 nt f16 beta=1 epilogue={all_parts}",
                        "33 66 72 nn f32 epilogue=scale_a+scale_b+bias:row+silu", "16 32 64 nt e4m3 epilogue=bias+tanh",
                        "33 64 64 nt e4m3*e4m3>e4m3 epilogue=scale_a:vector+sigmoid+scale_d",
                        "33 64 64 nt s8*s8>s8 epilogue=bias+relu+residual", "64 64 64 nt bf16 prepacked=b epilogue=bias",
                        "33 66 72 nt bf16 epilogue=drelu+residual+amax+scale_d", "33 66 72 nt f32 batch=3 epilogue=dgelu_erf",
                        "33 64 64 nt e4m3 beta=1 epilogue=bias+clamp+amax"):
            result = self.run_json(*words, "--shape", problem)["results"][0]
            self.assertNotIn("failure", result)  # wrong numbers would be one
        for script, problem in (("gelu=wrong", "bias+gelu"), ("_ebngelu=next_bias", "bias+gelu"),
                                ("_ebmsilu=next_bias", "bias:row+silu"), ("_ebngelu=no_activation", "bias+gelu"),
                                ("_erelu=no_activation", "relu"), ("_etanh=no_alpha", "tanh"),
                                ("_eauxrelu=nan", "aux+relu"), ("_eres=nothing", "residual"),
                                ("_edgelu=no_activation", "dgelu"), ("_eclamp=no_activation", "clamp")):
            self.environment["HOTGEMM_STANDIN_SCRIPT"] = script
            for types in ("bf16", "f32"):
                result = self.run_json(*words, "--shape", f"63 66 72 nt {types} epilogue={problem}", expect=4)["results"][0]
                self.assertRegex(result["failure"], "wrong numbers from .* with its epilogue: .* elements .* are wrong", script)

        self.environment["HOTGEMM_STANDIN_SCRIPT"] = "_ebnamax=no_amax"
        result = self.run_json(*words, "--shape", "63 66 72 nt bf16 epilogue=bias+amax", expect=4)["results"][0]
        self.assertRegex(result["failure"], "amax is 0 and an absolute value is [1-9]")

    def test_bench_times_functions_of_users(self):
        options = self.use_standin()
        self.environment["HOTGEMM_STANDIN_SCRIPT"] = "hotgemm=speed:20000;fn4c6b=speed:21000"
        words = ["bench", "--policy", "estimate", "--no-baseline", "--mode", "eager", "--rounds", "3", "--round-us", "50",
                 *options]
        softcap = str(pathlib.Path(__file__).parents[2] / "examples/softcap.txt")
        done = self.run_command(*words, "--shape", "33 66 72 nt bf16 epilogue=bias", "--epilogue", softcap)
        self.assertIn("D is not checked", done.stderr)
        result = self.run_json(*words, "--shape", "33 66 72 nt bf16", "--epilogue", softcap)["results"][0]
        self.assertAlmostEqual(result["over_bare"], 1.05, delta=0.001)

    def test_options_of_measures_are_checked(self):
        for words, named in ((["--measure", "quick"], "--measure"), (["--pairs", "0"], "--pairs"),
                             (["--summary", "--no-baseline"], "--summary")):
            self.assertIn(named, self.run_command("bench", "--shape", "64x64x64", *words, expect=1).stderr)

    def test_several_files_of_problems(self):
        options = self.use_standin()
        (self.path / "a.txt").write_text("64 64 64 nn f16\n")
        (self.path / "b.txt").write_text("64 64 64 nn f16\n96 64 64 nn f16\n")
        words = ["--no-baseline", "--mode", "eager", "--measure", "rounds", "--rounds", "2", "--round-us", "50"]
        output = self.run_json("bench", "--policy", "estimate", "--shapes", "a.txt,b.txt", *words, *options)
        self.assertEqual([r["problem"].split(" ")[0] for r in output["results"]], ["64", "96"])

    def test_records_can_be_shown_merged_and_pruned(self):
        options = self.use_standin()
        self.run_command("tune", "--shape", "64x64x64", *options)
        records = self.run_json("db", "show")["records"]
        self.assertEqual(len(records), 1)
        self.assertFalse(records[0]["stale"])
        self.assertEqual(records[0]["changed"], "")
        self.assertEqual(self.run_json("db", "merge", "all.jsonl", "cache/v1/db")["kept"], 1)
        self.run_command("db", "lint", "all.jsonl")
        text = (self.path / "all.jsonl").read_text()
        damaged = text.replace("64 64 64", "65 64 64")
        self.assertNotEqual(damaged, text)
        (self.path / "bad.jsonl").write_text(damaged)
        self.assertEqual(self.run_json("db", "lint", "bad.jsonl", expect=2)["findings"][0]["line"], 1)
        self.assertEqual(self.run_json("db", "prune", "--stale")["kept"], 1)

    def test_what_cannot_run_has_no_speed_and_no_mean(self):
        options = self.use_standin()
        words = ["--shape", "64x64x64,64x64x0", "--no-baseline", "--rounds", "2", "--round-us", "50", "--mode", "eager"]
        done = self.run_command("bench", "--policy", "estimate", *words, *options, expect=2)
        self.assertTrue(done.stdout.startswith("1 of 2 rows could not be measured"), done.stdout)
        self.assertIn("hotgemm: 64 64 0 nn f16", done.stderr)

    def test_wrong_numbers_have_no_speed_and_exit_with_4(self):
        options = self.use_standin(CORRUPTING)
        result = self.run_json("tune", "--shape", "64x64x64", *options, expect=4)["results"][0]
        self.assertIn("wrong", result["failure"])
        self.assertNotIn("tflops", result)
        words = ["bench", "--shape", "64x64x64", "--no-baseline", "--policy", "estimate", "--mode", "eager", *options]
        output = self.run_json(*words, expect=4)
        self.assertIn("wrong numbers", output["results"][0]["failure"])
        self.assertIsNone(output["results"][0]["ours"]["median_us"])
        self.assertEqual(self.run_json("db", "show")["records"], [])

    def test_an_interrupted_bench_says_how_much_is_left(self):
        count = 300
        words = [COMMAND, "bench", *self.use_standin(), "--policy", "estimate", "--no-baseline", "--mode", "eager",
                 "--shape", ",".join(f"{64 * i}x64x64" for i in range(1, count + 1)), "--json"]
        with subprocess.Popen(words, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              cwd=self.path) as process:
            while not process.stderr.readline().startswith("[1/"):
                self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            output = json.loads(process.communicate(timeout=60)[0])
        self.assertEqual(process.returncode, 130)
        self.assertGreater(output["left"], 0)
        self.assertEqual(len(output["results"]) + output["left"], count)
        self.assertEqual(output["means"], [])

    def test_cached_only_says_what_to_prepare(self):
        options = self.use_standin()
        words = ["bench", "--policy", "cached_only", "--shape", "64x64x64", "--no-baseline", "--mode", "eager"]
        self.assertIn("prewarm", self.run_command(*words, *options, expect=2).stderr)
        self.run_command("prewarm", "--arch", "sm_90a", "--shape", "64x64x64", "--jobs", "1")
        self.run_command(*words, "--rounds", "2", "--round-us", "50", *options)

    def test_device_that_is_not_there(self):
        self.use_standin()
        self.assertIn("GPU 99", self.run_command("tune", "--shape", "64x64x64", "--device", "99", expect=3).stderr)

    def test_scratch_too_small_is_one_failed_problem(self):
        options = self.use_standin()
        options[options.index("4M")] = "1K"
        output = self.run_json("tune", "--shape", "64x64x64", *options, expect=2)
        self.assertIn("scratch", output["results"][0]["failure"])


def main() -> int:
    global COMMAND, STANDIN, CORRUPTING, HAS_NVRTC
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", required=True)
    parser.add_argument("--standin", default="", help="the stand-in driver's library")
    parser.add_argument("--corrupting", default="", help="a stand-in driver whose kernels compute wrong numbers")
    options, rest = parser.parse_known_args()
    COMMAND, STANDIN, CORRUPTING = options.command, options.standin, options.corrupting
    found = subprocess.run([COMMAND, "info", "--json"], capture_output=True, text=True, timeout=60, check=True)
    HAS_NVRTC = "missing" not in json.loads(found.stdout)["nvrtc"]
    program = unittest.main(argv=[sys.argv[0], *rest], exit=False, verbosity=2)
    return 0 if program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
