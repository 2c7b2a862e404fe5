#!/usr/bin/env python3
"""Runs `hotgemm ladder` as a user would, without a GPU and against the stand-in driver."""

import csv
import io
import signal
import subprocess
import sys
import time

import cli_test
from cli_test import CliTest

SIMT = "simt_m64_n64_k16_tm4_tn4"
OTHER_SIMT = "simt_m32_n32_k16_tm2_tn2"
MMA = "mma_m128_n128_k32_wm2_wn2_s3_x1_f2_e1_b1"
TOO_LARGE = "mma_m256_n256_k64_wm4_wn2_s5_x1_f1_e1_b1"  # 5 stages of 64 KiB
COLUMNS = ("m,n,k,layout,dtype,acc,name,label,config,launch,us_median,us_min,us_mean,us_max,tflops,of_best_cublas,"
           "registers,spill_bytes,smem_bytes,warps_per_sm,threads,blocks,compile_ms,intensity,refusal")


class LadderUsageTest(CliTest):
    def test_bad_words_are_named(self):
        for words, named in ((["--rung", "hgemm_of_nobody"], "hgemm_of_nobody"), (["--config", "mma_m1"], "mma_m1"),
                             (["--family", "tensor"], "tensor"), (["--shape", "64x64"], "64x64"),
                             (["--shape", "0x64x64"], "0x64x64"), (["--layout", "tt"], "--layout"),
                             (["--dtype", "f32", "--acc", "f16"], "--acc f16"),
                             (["--dtype", "s8", "--acc", "f32"], "--acc f32"), (["--dtype", "e4m3"], "--dtype"),
                             (["--arch", "sm_80"], "--no-run"),
                             (["--csv", "--json"], "--csv"), (["--no-run", "--arch", "sm_42"], "sm_42")):
            with self.subTest(words=words):
                done = self.run_command("ladder", *words, expect=1)
                self.assertIn(named, done.stderr)
                self.assertNotIn("\nm,n,k", done.stdout)

    def test_a_run_needs_a_driver(self):
        self.assertIn("/nonexistent/libcuda.so", self.run_command("ladder", expect=3).stderr)


class LadderNoRunTest(CliTest):
    WORDS = ["ladder", "--no-run", "--arch", "sm_90a"]

    def test_costs_are_printed_without_a_gpu(self):
        self.need_nvrtc()
        words = [*self.WORDS, "--config", f"{MMA},{SIMT}", "--acc", "f32", "--shape", "1024x1024x1024"]
        output = self.run_json(*words)
        self.assertEqual((output["arch"], output["complete"]), ("sm_90a", True))
        mma, simt = output["results"]
        self.assertEqual((mma["config"], mma["threads"], mma["blocks"], mma["smem_bytes"]), (MMA, 128, 64, 49152))
        self.assertEqual((simt["threads"], simt["blocks"]), (256, 256))
        for row in output["results"]:
            self.assertGreater(row["registers"], 0)
            self.assertGreater(row["compile_ms"], 0)
            self.assertEqual(row["warps_per_sm"], row["blocks_per_sm"] * row["threads"] // 32)
            self.assertLessEqual(row["warps_per_sm"], row["most_warps_per_sm"])
            self.assertIsNone(row["us_median"])
            self.assertEqual(row["samples"], [])
        text = self.run_command(*words).stdout
        self.assertIn("1024 1024 1024 nn f16 on NVIDIA H200 (sm_90a)", text)
        self.assertIn(f"{mma['warps_per_sm']}/64", text)
        self.assertNotIn("TFLOP/s", text)

    def test_rungs_of_a_type_are_in_the_order_of_the_ladder_and_cublas_last(self):
        self.need_nvrtc()
        rows = self.run_json(*self.WORDS, "--dtype", "f32")["results"]
        self.assertGreaterEqual(len(rows), 1)
        self.assertTrue(all(row["dtype"] == "f32" and row["acc"] == "f32" for row in rows))
        named = self.run_json(*self.WORDS, "--rung", rows[0]["name"])["results"]  # a named rung keeps its own type
        self.assertIn(rows[0]["label"], [row["label"] for row in named])
        both = self.run_json(*self.WORDS, "--family", "cublas", "--config", SIMT, "--acc", "f32", "--layout",
                             "nt")["results"]
        self.assertEqual([row["config"] for row in both], [SIMT, None])
        self.assertEqual({row["layout"] for row in both}, {"nt"})

    def test_types_that_tensor_cores_read_along_k_are_in_layout_nt(self):
        self.need_nvrtc()
        for dtype, types, naive in (("s8", ("s8", "s32"), "s8+naive"), ("tf32", ("f32", "tf32"), "ours: tf32+naive")):
            with self.subTest(dtype=dtype):
                words = [*self.WORDS, "--dtype", dtype, "--shape", "512x512x512"]
                rows = self.run_json(*words, "--rung", f"{naive},{dtype}+cublas", "--family", "mma,wgmma")["results"]
                self.assertEqual(rows[0]["label"], naive)
                self.assertEqual((rows[-1]["label"], rows[-1]["config"]), (f"{dtype}+cublas", None))
                self.assertEqual({(row["layout"], row["dtype"], row["acc"]) for row in rows}, {("nt", *types)})
                self.assertEqual({row["config"].split("_")[0] for row in rows[:-1]}, {"fma", "mma", "wgmma"})
                self.assertEqual({row["spill_bytes"] for row in rows[:-1]}, {0})
                row = self.run_json(*words, "--config", SIMT, "--roofline")["results"][0]
                self.assertEqual(row["layout"], "nt")
                self.assertEqual(row["roofline"]["pipe"], "CUDA cores s32" if dtype == "s8" else "CUDA cores f32")

    def test_tiles_of_int8_have_the_resources_of_the_material(self):
        self.need_nvrtc()
        rows = self.run_json(*self.WORDS, "--rung", "mm_mma_int8", "--shape", "2048x2048x2048")["results"]
        self.assertEqual(len(rows), 8)
        of = {row["label"]: row for row in rows}
        for label, threads, blocks in (("s8+256x128+t16x8", 256, 128), ("s8+128x256+t8x16", 256, 128),
                                       ("s8+128x128+t16x8", 128, 256), ("s8+16x16+t1x1", 256, 16384)):
            self.assertEqual((of[label]["threads"], of[label]["blocks"]), (threads, blocks))
        for row in rows:
            self.assertEqual((row["dtype"], row["acc"], row["outcome"]), ("s8", "s32", "sound"))
            self.assertLessEqual(row["registers"], 255)

    def test_rungs_have_the_names_of_the_material(self):
        self.need_nvrtc()
        names = "(naive),hgemm_mma_m16n8k16_naive_kernel,tn(cublas),mma4x2,mm_mma_int8<16,16,128,1,1>"
        rows = self.run_json(*self.WORDS, "--rung", names, "--shape", "256x256x256")["results"]
        self.assertEqual({row["label"] for row in rows}, {"naive", "mma", "tn+cublas", "wmma4x2", "s8+16x16+t1x1"})

    def test_without_nvrtc(self):
        self.environment["HOTGEMM_LIBNVRTC"] = "/nonexistent"
        done = self.run_command(*self.WORDS, "--config", SIMT, "--acc", "f32", expect=3)
        self.assertIn("/nonexistent", done.stderr)

    def test_what_exceeds_a_limit_is_refused_with_both_numbers(self):
        self.environment["HOTGEMM_LIBNVRTC"] = "/nonexistent"  # the refusal comes before compiling
        done = self.run_command(*self.WORDS, "--config", TOO_LARGE, expect=2)
        self.assertIn("shared memory: 327680 bytes per block, 232448 at most", done.stdout)
        self.assertIn(TOO_LARGE, done.stderr)
        row = self.run_json(*self.WORDS, "--config", TOO_LARGE, expect=2)["results"][0]
        self.assertEqual(row["outcome"], "refused")
        self.assertIsNone(row["registers"])
        # The refusal of a rung that was not named is not a failure.
        rows = self.run_json("ladder", "--no-run", "--arch", "sm_75", "--family", "mma")["results"]
        self.assertEqual({row["outcome"] for row in rows}, {"refused"})

    def test_roofline_counts_what_blocks_read(self):
        self.need_nvrtc()
        words = [*self.WORDS, "--config", SIMT, "--dtype", "f32", "--shape", "1024x1024x1024", "--roofline"]
        row = self.run_json(*words)["results"][0]
        self.assertEqual(row["roofline"]["traffic_bytes"], 4 * 1024 * 1024 * (1024 / 64 * 2 + 1))
        self.assertAlmostEqual(row["intensity"], 2 * 1024 / (4 * 33), places=6)
        self.assertEqual(row["roofline"]["binds"], "compute" if row["intensity"] >= row["roofline"]["device_ratio"]
                         else "memory")
        text = self.run_command(*words).stdout
        for part in ("device FLOP/B", "1024 1024 1024 nn f32: 12.6 MB at least, 170.67 FLOP/B at most", "15.52"):
            self.assertIn(part, text)


class LadderRunTest(CliTest):
    def use_standin(self, library=None, rounds=3, types=("--dtype", "f32")):
        super().use_standin(library)
        return ["ladder", "--shape", "64x64x64", *types, "--rounds", str(rounds), "--round-us", "50", "-q", "--jobs",
                "1", "--scratch", "4M"]

    def test_rungs_are_checked_and_timed(self):
        words = [*self.use_standin(), "--config", f"{SIMT},{OTHER_SIMT}", "--verbose"]
        output = self.run_json(*words, "--results", "r.md", "--commit", "abc123")
        first, second = output["results"]
        self.assertEqual(len(first["samples"]), 2)
        self.assertEqual(first["samples"], second["samples"])
        for row in output["results"]:
            self.assertEqual((row["outcome"], row["refusal"]), ("sound", ""))
            self.assertGreater(row["tflops"], 0)
            self.assertTrue(row["us_min"] <= row["us_median"] <= row["us_max"])
            self.assertTrue(row["us_min"] <= row["us_mean"] <= row["us_max"])
            self.assertIsNone(row["of_best_cublas"])
        text = (self.path / "r.md").read_text()
        for part in ("commit abc123", "power limit", "### 64 64 64 nn f32", f"| {SIMT} |", "mean µs"):
            self.assertIn(part, text)
        self.assertEqual(output["environment"]["cuBLAS"], "not used")

    def test_csv_has_a_line_for_each_rung_and_shape(self):
        words = [*self.use_standin(), "--config", f"{SIMT},{OTHER_SIMT}", "--shape", "32x64x96", "--csv"]
        done = self.run_command(*words)
        self.assertTrue(done.stdout.startswith(COLUMNS + "\n"), done.stdout)
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        self.assertEqual([(row["m"], row["n"], row["k"], row["config"]) for row in rows],
                         [(*shape, name) for shape in (("64", "64", "64"), ("32", "64", "96"))
                          for name in (SIMT, OTHER_SIMT)])
        for row in rows:
            self.assertNotIn(None, row)
            self.assertGreater(float(row["us_median"]), 0)
            self.assertEqual(row["of_best_cublas"], "")

    def test_s8_and_tf32_are_checked_and_timed(self):
        for dtype in ("s8", "tf32"):
            with self.subTest(dtype=dtype):
                words = self.use_standin(types=("--dtype", dtype))
                naive, simt = self.run_json(*words, "--rung", "s8+naive" if dtype == "s8" else "ours: tf32+naive",
                                            "--config", SIMT)["results"]
                self.assertEqual((naive["outcome"], simt["outcome"]), ("sound", "sound"))
                self.assertEqual(naive["samples"], simt["samples"])
                self.assertEqual(len(naive["samples"]), 2)
                self.assertGreater(naive["tflops"], 0)

    def test_a_library_that_is_missing_is_a_row_that_says_so(self):
        output = self.run_json(*self.use_standin(types=("--acc", "f32")), "--config", SIMT, "--family", "cublas",
                               "--layout", "nn", expect=2)
        ours, library = output["results"]
        self.assertGreater(ours["tflops"], 0)
        self.assertIn("/nowhere/libcublas.so", library["refusal"])
        self.assertIsNone(library["tflops"])

    def test_wrong_numbers_have_no_speed_and_exit_with_4(self):
        words = [*self.use_standin(cli_test.CORRUPTING), "--config", SIMT]
        row = self.run_json(*words, expect=4)["results"][0]
        self.assertTrue(row["refusal"].startswith("wrong"), row["refusal"])
        self.assertIsNone(row["us_median"])
        self.assertEqual(row["samples"], [])
        self.assertIn("wrong", self.run_command(*words, expect=4).stderr)

    def test_a_refused_config_does_not_stop_the_others(self):
        words = [*self.use_standin(types=("--acc", "f32")), "--config", f"{TOO_LARGE},{SIMT}"]
        refused, sound = self.run_json(*words, expect=2)["results"]
        self.assertIn("327680", refused["refusal"])
        self.assertGreater(sound["tflops"], 0)

    def test_operands_that_do_not_fit_are_no_crash(self):
        words = self.use_standin()
        words[words.index("4M")] = "1K"
        row = self.run_json(*words, "--config", SIMT, expect=2)["results"][0]
        self.assertIn("scratch", row["refusal"])

    def test_an_interrupt_keeps_what_is_done(self):
        words = [*self.use_standin(rounds=100000), "--config", SIMT, "--json"]
        with subprocess.Popen([cli_test.COMMAND, *words], env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, cwd=self.path) as process:
            time.sleep(5)  # the kernels are built in less time, and the rounds take longer
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, out + err)
        self.assertIn('"complete": false', out)


if __name__ == "__main__":
    sys.exit(cli_test.main())
