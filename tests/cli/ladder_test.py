#!/usr/bin/env python3
"""Runs `hotgemm ladder` as a user would, without a GPU and against the stand-in driver."""

import csv
import io
import json
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
COLUMNS = ("problem,m,n,k,layout,dtype,acc,name,label,config,launch,us_median,us_min,us_mean,us_max,tflops,of_best_cublas,"
           "registers,spill_bytes,spill_store_bytes,spill_load_bytes,stack_bytes,smem_bytes,constant_bytes,"
           "warps_per_sm,threads,grid,blocks,compile_ms,intensity,refusal,gpu")
SPILLING = "mma_m128_n256_k32_wm2_wn2_s3_x1_f2_e1_b1"  # with f16 sums, in layout nt
# A PyTorch that only this test has: its products take 8 µs, and are right unless HOTGEMM_TEST_TORCH says otherwise.
TORCH = """
import math, os, types
__version__ = "2.10.0"
float16, float32, int8 = "f16", "f32", "s8"
class Tensor:
    def __getitem__(self, rows): return self
    def __getattr__(self, name): return lambda *arguments, **options: self
class Event:
    def __init__(self, enable_timing): pass
    def record(self): self.launches = launches
    def elapsed_time(self, end): return (end.launches - self.launches) * 8e-3
launches = 0
def mm(a, b):
    global launches
    launches += 1
    return a
_int_mm = mm
def randint(low, high, size, dtype, device): return Tensor()
def equal(a, b): return os.environ.get("HOTGEMM_TEST_TORCH") != "wrong"
cuda = types.SimpleNamespace(set_device=lambda index: None, Event=Event, synchronize=lambda: None,
                             empty_cache=lambda: None)
backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace()))
"""


class LadderUsageTest(CliTest):
    def test_bad_words_are_named(self):
        for words, named in ((["--rung", "hgemm_of_nobody"], "hgemm_of_nobody"), (["--exclude", "nobody"], "nobody"),
                             (["--config", "mma_m1"], "mma_m1"),
                             (["--family", "tensor"], "tensor"), (["--shape", "64x64"], "64x64"),
                             (["--shape", "0x64x64"], "0x64x64"), (["--layout", "tt"], "--layout"),
                             (["--dtype", "f32", "--acc", "f16"], "--acc f16"),
                             (["--dtype", "s8", "--acc", "f32"], "--acc f32"), (["--dtype", "e4m3"], "--dtype"),
                             (["--arch", "sm_80"], "--no-run"),
                             (["--csv", "--json"], "--csv"), (["--no-run", "--arch", "sm_42"], "sm_42"),
                             (["--shape", "256:1024"], "256:1024"), (["--shape", "256:1024:0"], "256:1024:0"),
                             (["--shape", "8:4:2"], "8:4:2"), (["--shape", "2:4:*1"], "2:4:*1"),
                             (["--shape", "8x1:4:2"], "8x1:4:2"), (["--shape", "1:100000:1"], "more than 10000"),
                             (["--shape", "1:200:1x1:200:1x8"], "more than 10000"), (["--grid", "28"], "--grid"),
                             (["--shapes", "absent.txt"], "absent.txt"), (["--swizzle-factor", "2"], "--swizzle-factor"),
                             (["--iters", "0"], "--iters"), (["--iters", "5", "--round-us", "5"], "--round-us"),
                             (["--no-run", "--torch"], "--torch"), (["--no-run", "--show-matrix"], "--show-matrix")):
            with self.subTest(words=words):
                done = self.run_command("ladder", *words, expect=1)
                self.assertIn(named, done.stderr)
                self.assertNotIn("\nm,n,k", done.stdout)

    def test_a_run_needs_a_driver(self):
        self.assertIn("/nonexistent/libcuda.so", self.run_command("ladder", expect=3).stderr)


class LadderSizesTest(CliTest):
    """A refusal needs no compiler: no rung of wgmma runs on sm_75."""

    def sizes(self, *words, expect=0):
        rows = self.run_json("ladder", "--no-run", "--arch", "sm_75", "--rung", "ours: wgmma128x128", *words,
                             expect=expect)["results"]
        self.assertEqual({row["outcome"] for row in rows}, {"refused"})
        return [(row["m"], row["n"], row["k"]) for row in rows]

    def test_ranges_are_squares_or_all_combinations(self):
        squares = self.sizes("--shape", "256:16384:256", expect=2)
        self.assertEqual(squares, [(size, size, size) for size in range(256, 16385, 256)])
        self.assertEqual(self.sizes("--shape", "64:256:*2X8X3:5:2,7x7x7", expect=2),
                         [(m, 8, k) for m in (64, 128, 256) for k in (3, 5)] + [(7, 7, 7)])

    def test_the_grids_of_the_material(self):
        big = (4096, 8192, 16384)
        self.assertEqual(self.sizes("--grid", "27", expect=2),
                         [(m, n, k) for m in big for n in big for k in (2048, 4096, 8192)])
        grid = self.sizes("--grid", "125", expect=2)
        self.assertEqual(len(set(grid)), 125)
        # The material prints these with their numbers, "103/125" and "124/125".
        self.assertEqual((grid[102], grid[123]), ((16384, 1024, 2048), (16384, 16384, 4096)))

    def test_problems_of_files_run_the_rungs_of_their_layout_and_types(self):
        (self.path / "some.txt").write_text("64 96 32 nn f16\n64 96 32 nt f16 acc=f16\n8 8 8 nt s8\n8 8 8 tn bf16\n"
                                            "8 8 8 nn f16 batch=2\n")
        words = ["ladder", "--no-run", "--arch", "sm_75", "--shapes", "some.txt"]
        done = self.run_command(*words, "--json", "--family", "wgmma", expect=2)
        for problem in ("64 96 32 nt f16", "8 8 8 tn bf16", "8 8 8 nn f16 batch=2"):
            self.assertIn(f"no selected rung computes {problem}", done.stderr)
        rows = json.loads(done.stdout)["results"]
        self.assertEqual([(row["label"], row["n"], row["layout"], row["dtype"], row["acc"]) for row in rows],
                         [("ours: wgmma128x128", 96, "nn", "f16", "f32"),
                          ("ours: s8+wgmma128x128", 8, "nt", "s8", "s32")])
        rows = self.run_json(*words, "--family", "wgmma", "--dtype", "s8", expect=2)["results"]
        self.assertEqual({row["dtype"] for row in rows}, {"s8"})
        rows = self.run_json(*words, "--config", TOO_LARGE, expect=2)["results"]  # a config takes every plain problem
        self.assertEqual(len(rows), 4)
        (self.path / "none.txt").write_text("8 8 8 tt bf16\n")
        done = self.run_command("ladder", "--no-run", "--shapes", "none.txt", expect=1)
        self.assertIn("no selected rung computes a problem of none.txt", done.stderr)

    def test_rungs_are_left_out(self):
        words = ["ladder", "--no-run", "--arch", "sm_75", "--family", "wgmma"]
        rows = self.run_json(*words, "--exclude", "ours: wgmma128x128", "--dtype", "f16", expect=1)
        self.assertIn("no selected rung", rows["error"]["message"])
        words[-1] = "wmma"
        every = [row["label"] for row in self.run_json(*words)["results"]]
        some = self.run_json(*words, "--exclude", "hgemm_wmma_m16n16k16_naive,wmma4x2")["results"]
        self.assertEqual([row["label"] for row in some], [label for label in every if label not in ("wmma", "wmma4x2")])

    def test_the_swizzle_factor_sets_the_strips(self):
        words = ["ladder", "--no-run", "--arch", "sm_75", "--rung", "mma2x4+warp4x4+stage2+swizzle,mma2x4+warp4x4"]
        swizzled = {row["label"]: row for row in self.run_json(*words, "--swizzle-factor", "0.125",
                                                               expect=2)["results"]}
        self.assertEqual(swizzled["mma2x4+warp4x4+stage2+swizzle"]["swizzle"], "512")
        self.assertEqual(swizzled["mma2x4+warp4x4+stage2+swizzle"]["launch"], "r4n")
        self.assertEqual(swizzled["mma2x4+warp4x4"]["swizzle"], "NOOP")
        usual = self.run_json(*words, expect=2)["results"]
        self.assertNotEqual([row["launch"] for row in usual if row["swizzle"] != "NOOP"], ["r4n"])


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
            self.assertEqual(row["spill_store_bytes"] + row["spill_load_bytes"], row["spill_bytes"])
            self.assertGreater(row["constant_bytes"], 0)
        self.assertEqual((mma["grid"], simt["grid"], mma["gpu"]), ("8x8", "16x16", "NVIDIA H200"))
        text = self.run_command(*words).stdout
        self.assertIn("1024 1024 1024 nn f16 on NVIDIA H200 (sm_90a)", text)
        self.assertIn(f"{mma['warps_per_sm']}/64", text)
        self.assertIn("16×16", text)
        self.assertNotIn("TFLOP/s", text)

    def test_spills_are_told_apart(self):
        self.need_nvrtc()
        row = self.run_json(*self.WORDS, "--config", SPILLING, "--layout", "nt", "--shape", "2048x4096x64")["results"][0]
        self.assertEqual(row["spill_store_bytes"] + row["spill_load_bytes"], row["spill_bytes"])
        self.assertEqual(row["stack_bytes"] > 0, row["spill_bytes"] > 0)
        self.assertEqual(row["grid"], "16x16")

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
        for part in ("device FLOP/B", "not counted are the issue of loads, shared memory", "1024 1024 1024 nn f32: 12.6 MB at least, 170.67 FLOP/B at most", "15.52"):
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
            self.assertEqual(row["problem"], "{m} {n} {k} nn f32 align=16".format(**row))
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

    def test_launches_are_counted(self):
        words = [*self.use_standin(rounds=1), "--config", SIMT]
        del words[words.index("--round-us"):words.index("--round-us") + 2]
        self.environment["HOTGEMM_STANDIN_SCRIPT"] = f"{SIMT}=fault@40"  # its fortieth launch ends it
        self.run_command(*words, "--iters", "2")
        self.run_command(*words, "--iters", "2", "--warmup", "2")
        for more in (["--iters", "20"], ["--iters", "2", "--warmup", "30"]):
            row = self.run_json(*words, *more, expect=2)["results"][0]
            self.assertEqual(row["outcome"], "failed", more)

    def test_corners_of_the_results_are_printed(self):
        words = [*self.use_standin(), "--config", f"{SIMT},{OTHER_SIMT}", "--shape", "2x4x8", "--show-matrix"]
        large, _, small, _ = rows = self.run_json(*words)["results"]
        self.assertEqual(large["matrix"]["rows"], [0, 1, 2, 61, 62, 63])
        self.assertEqual((small["matrix"]["rows"], small["matrix"]["columns"]), ([0, 1], [0, 1, 2, 3]))
        for row in rows:
            self.assertEqual(row["matrix"]["values"][0][:2], row["samples"])
        self.assertEqual(rows[0]["matrix"], rows[1]["matrix"])
        self.assertGreater(len({number for row in large["matrix"]["values"] for number in row}), 30)
        text = self.run_command(*words).stdout
        self.assertIn(f"D of {OTHER_SIMT}:\n", text)
        self.assertIn("\n  ...\n", text)

    def test_pytorch_is_a_row(self):
        words = [*self.use_standin(), "--config", SIMT, "--shape", "32x32x32", "--torch"]
        (self.path / "torch.py").write_text("raise ImportError('nothing here')")
        self.environment["PYTHONPATH"] = str(self.path)
        rows = self.run_json(*words, expect=2)["results"]
        self.assertEqual([row["refusal"] for row in rows], ["", "no PyTorch: nothing here"] * 2)
        (self.path / "torch.py").write_text(TORCH)
        output = self.run_json(*words, "--results", "r.md")
        self.assertEqual([row["label"] for row in output["results"]], [SIMT, "torch"] * 2)
        self.assertEqual(output["environment"]["PyTorch"], "2.10.0")
        torch = output["results"][1]
        self.assertEqual((torch["us_median"], torch["us_max"], torch["config"]), (8.0, 8.0, None))
        self.assertAlmostEqual(torch["tflops"], 2 * 64**3 / 8 * 1e-6)
        self.assertIn("| torch |", (self.path / "r.md").read_text())
        self.environment["HOTGEMM_TEST_TORCH"] = "wrong"
        done = self.run_command(*words, expect=2)
        self.assertIn("wrong: the first rows differ", done.stderr)
        words[-1] = "--torch=/nowhere/python"
        self.assertIn("/nowhere/python ended with exit status 127", self.run_command(*words, expect=2).stderr)

    def test_pytorch_that_sums_f16_in_f32_only_says_so(self):
        (self.path / "torch.py").write_text(TORCH)
        self.environment["PYTHONPATH"] = str(self.path)
        row = self.run_json(*self.use_standin(types=("--acc", "f16")), "--config", SIMT, "--torch", expect=2)["results"][1]
        self.assertIn("PyTorch 2.10.0 sums f16 in f32 only", row["refusal"])

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
