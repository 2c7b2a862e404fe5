#!/usr/bin/env python3
"""Runs programs that call cuBLAS under LD_PRELOAD of the interposer, each suite of them in the environment that it
needs: on the stand-in driver, with libraries in place of cuBLAS and of NVRTC."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zlib

ARGUMENTS = argparse.Namespace()
SONAME = "libhotgemm.so.0.1"


class InterposeTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name).resolve()
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("HOTGEMM_", "CUBLAS_", "NVIDIA_"))}
        self.environment |= {
            "HOTGEMM_CACHE_DIR": str(self.path / "cache"), "HOTGEMM_SHIPPED_RECORDS": "off",
            "HOTGEMM_LIBCUDA": ARGUMENTS.standin, "HOTGEMM_LIBNVRTC": ARGUMENTS.nvrtc, "HOTGEMM_WORKER": "none",
            "HOTGEMM_STANDIN_SCRIPT": "hotgemm_=speed:1000", "HOTGEMM_TEST_LIBRARY": ARGUMENTS.library}

    def run_suite(self, suite, interposer=None, **variables):
        """Runs the tests of `suite` in the program, and returns what it wrote to stderr."""
        environment = {"HOTGEMM_LIBRARY": ARGUMENTS.library, "LD_PRELOAD": interposer or ARGUMENTS.interposer}
        environment = self.environment | environment | variables
        done = subprocess.run([ARGUMENTS.tests, f"--gtest_filter={suite}"], text=True, capture_output=True, timeout=200,
                              env={name: value for name, value in environment.items() if value is not None}, check=False)
        self.assertEqual(done.returncode, 0, f"{suite}\n{done.stdout}\n{done.stderr}")
        self.assertRegex(done.stdout, r"\[  PASSED  \] [1-9]", f"{suite} ran no test")
        return done.stderr

    def test_what_is_served_is_exact(self):
        self.assertEqual(self.run_suite("Served.*", HOTGEMM_CUBLAS_SERVE="prepared", HOTGEMM_CUBLAS_SGEMM="1"), "")

    def test_what_is_not_served_is_passed_on_unchanged(self):
        self.assertEqual(self.run_suite("PassedOn.*", HOTGEMM_CUBLAS_SERVE="prepared"), "")

    def test_cublaslt(self):
        self.assertEqual(self.run_suite("Lt.*", HOTGEMM_CUBLAS_SERVE="prepared", HOTGEMM_CUBLAS_SGEMM="1"), "")

    def test_descriptors_of_the_real_cublaslt(self):
        if not ARGUMENTS.cublaslt:
            self.skipTest("no libcublasLt here")
        self.run_suite("RealLt.*", HOTGEMM_TEST_CUBLASLT=ARGUMENTS.cublaslt)

    def test_off(self):
        self.run_suite("Off.*", HOTGEMM_CUBLAS="off", HOTGEMM_CUBLAS_SERVE="prepared")

    def test_a_library_that_is_loaded_after_a_first_call(self):
        """A function that was looked up without a version, and called too early, works once cuBLAS is there."""
        major = re.search(r"\d+$", pathlib.Path(ARGUMENTS.tests).name)[0]
        library = pathlib.Path(ARGUMENTS.tests).parent / f"cublas-{major}" / f"libcublas.so.{major}"
        program = f"""
import ctypes
gemm = ctypes.CDLL(None).cublasHgemm
print(gemm(*[None] * 14))
ctypes.CDLL({str(library)!r}, mode=ctypes.RTLD_GLOBAL)
print(gemm(*[None] * 14))
"""
        environment = self.environment | {"LD_PRELOAD": ARGUMENTS.interposer, "LD_LIBRARY_PATH": str(library.parent)}
        done = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True, env=environment, check=False)
        answers = [int(line) for line in done.stdout.split()]
        self.assertEqual(len(answers), 2, done.stderr)
        self.assertEqual(answers[0], 1, "CUBLAS_STATUS_NOT_INITIALIZED")
        self.assertNotEqual(answers[1], 1, "the library is asked")

    def test_a_major_that_is_loaded_later(self):
        tests = pathlib.Path(ARGUMENTS.tests)
        other = 25 - int(re.search(r"\d+$", tests.name)[0])
        self.run_suite("OtherMajor.*", HOTGEMM_CUBLAS="off",
                       HOTGEMM_TEST_OTHER_CUBLAS=str(tests.parent / f"cublas-{other}" / f"libcublas.so.{other}"))

    def test_a_library_with_another_soname(self):
        """Tools that repair wheels rename a library."""
        major = re.search(r"\d+$", pathlib.Path(ARGUMENTS.tests).name)[0]
        library = pathlib.Path(ARGUMENTS.tests).parent / f"cublas-{major}" / f"libcublas-1a2b3c.so.{major}"
        program = f"""
import ctypes
ctypes.CDLL({str(library)!r})
find = ctypes.CDLL(None).dlvsym
find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
gemm = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 14)(find(None, b"cublasHgemm", b"libcublas.so.{major}"))
print(gemm(*[None] * 14))
"""
        environment = self.environment | {"LD_PRELOAD": ARGUMENTS.interposer, "LD_LIBRARY_PATH": str(library.parent)}
        done = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True, env=environment, check=False)
        self.assertEqual(done.stdout, "8\n", done.stderr)  # CUBLAS_STATUS_ARCH_MISMATCH, the library's answer

    def test_a_missing_library_is_one_line(self):
        stderr = self.run_suite("NoLibrary.*", HOTGEMM_LIBRARY="/nowhere/libhotgemm.so", HOTGEMM_CUBLAS_SERVE="prepared")
        self.assertRegex(stderr, r"^hotgemm_cublas: [^\n]*/nowhere/libhotgemm.so[^\n]*; cuBLAS computes everything\n$")

    def test_a_library_of_another_kind_is_one_line(self):
        stderr = self.run_suite("NoLibrary.*", HOTGEMM_LIBRARY=ARGUMENTS.nvrtc, HOTGEMM_CUBLAS_SERVE="prepared")
        self.assertRegex(stderr, r"^hotgemm_cublas: [^\n]*hotgemm_gemm[^\n]*; cuBLAS computes everything\n$")

    def test_a_context_that_cannot_be_made_is_one_line(self):
        stderr = self.run_suite("NoLibrary.*", HOTGEMM_TUNE="nonsense", HOTGEMM_CUBLAS_SERVE="prepared")
        self.assertRegex(stderr, r"^hotgemm_cublas: [^\n]*HOTGEMM_TUNE[^\n]*; cuBLAS computes everything\n$")

    def test_a_word_that_no_variable_has_is_one_line(self):
        for variable, bad, words, usual in (("HOTGEMM_CUBLAS", "0", "off or on", "on"),
                                            ("HOTGEMM_CUBLAS_SGEMM", "on", "1 or 0", "0")):
            with self.subTest(variable):
                said = self.run_suite("Report.CountsCalls", **{"HOTGEMM_CUBLAS_SERVE": "prepared", variable: bad})
                self.assertEqual(said, f'hotgemm_cublas: {variable} is "{bad}": expected {words}; it counts as {usual}\n')
                silent = self.run_suite("Report.CountsCalls", **{"HOTGEMM_CUBLAS_SERVE": "prepared", variable: usual})
                self.assertEqual(silent, "")
        self.assertEqual(self.run_suite("Off.*", HOTGEMM_CUBLAS="off", HOTGEMM_CUBLAS_SERVE="all"),
                         'hotgemm_cublas: HOTGEMM_CUBLAS_SERVE is "all": expected prepared or as_fast; it counts as as_fast\n')
        self.assertEqual(self.run_suite("Off.*", HOTGEMM_CUBLAS="off", HOTGEMM_CUBLAS_SERVE="as_fast"), "")

    def test_an_empty_variable_is_none(self):
        self.assertEqual(self.run_suite("Report.CountsCalls", HOTGEMM_TUNE="", HOTGEMM_CUBLAS_SERVE="prepared"), "")

    def test_the_library_beside_the_interposer(self):
        interposer = shutil.copy(ARGUMENTS.interposer, self.path)
        (self.path / SONAME).symlink_to(ARGUMENTS.library)
        self.run_suite("Beside.*", interposer=interposer, HOTGEMM_LIBRARY=None, HOTGEMM_CUBLAS_SERVE="prepared")

    def test_variables_of_cublas_keep_f32_from_being_served(self):
        for name in ("NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION", "CUBLAS_EMULATION_STRATEGY"):
            with self.subTest(name):
                self.run_suite("PlainF32.*", HOTGEMM_CUBLAS_SERVE="prepared", HOTGEMM_CUBLAS_SGEMM="1", **{name: "0"})

    def test_nothing_is_reported_unless_asked_for(self):
        self.assertEqual(self.run_suite("Report.CountsCalls", HOTGEMM_CUBLAS_SERVE="prepared"), "")

    def test_the_report_counts_calls(self):
        report = self.run_suite("Report.CountsCalls", HOTGEMM_CUBLAS_SERVE="prepared", HOTGEMM_CUBLAS_REPORT="1")
        head = re.match(r"# hotgemm_cublas, process \d+: (\d+) calls, 10 served, (\d+) passed on to cuBLAS\n", report)
        self.assertTrue(head, report)
        counts = {text: int(count) for count, text in re.findall(r"^# +(\d+)  ([^;\n]*)", report, re.M)}
        self.assertEqual(counts["the math mode or an environment variable asks for another arithmetic"], 3)
        self.assertRegex(report, r"# +1  hotgemm refused an argument; the first: sm_limit is -3;.*\n")
        self.assertEqual(sum(counts.values()), int(head[2]))
        self.assertEqual(int(head[1]), int(head[2]) + 10)

    def report_of(self, suite):
        """The problems of the report, each with its count, and its number of declined calls."""
        report = self.run_suite(suite, HOTGEMM_CUBLAS_REPORT="1")
        problems = {line: int(count) for line, count in re.findall(r"^(\d.*) count=(\d+)$", report, re.M)}
        declined = int(re.search(r"# +(\d+)  not prepared yet", report)[1])
        return report, problems, declined

    def test_arrays_of_halves_have_aligned_elements_and_no_more(self):
        _, problems, _ = self.report_of("Report.ListsArraysOfHalves")
        self.assertEqual([re.search(r"align=(\S+)", problem)[1] for problem in problems], ["2"])

    def test_rows_without_gaps_are_aligned_as_columns(self):
        _, problems, _ = self.report_of("Report.ListsRowsWithoutGaps")
        self.assertEqual(sorted(problems), ["1 16 24 nt bf16 align=16", "1 24 16 nt bf16 align=16",
                                            "24 1 16 nn bf16 align=2,4,4", "24 16 1 tn bf16 align=16"])

    def test_the_report_holds_so_many_problems(self):
        report, problems, declined = self.report_of("Report.ListsAsManyProblemsAsItHolds")
        self.assertEqual(len(problems), 2048)
        self.assertEqual(declined, 2101)
        self.assertEqual(next(iter(problems.items())), ("2048 16 8 nn bf16 align=16", 2))
        self.assertRegex(report, r"\n# +52  declined calls of further problems\n$")

    def test_the_report_counts_calls_of_many_threads(self):
        _, problems, declined = self.report_of("Report.CountsCallsOfManyThreads")
        self.assertEqual(list(problems.values()), [8 * 20] * 24)
        self.assertEqual(declined, 8 * 20 * 24)

    def test_the_report_of_a_child_is_not_written(self):
        report = self.run_suite("Report.IsNotAChilds", HOTGEMM_CUBLAS_REPORT="1")
        self.assertEqual(report.count("# hotgemm_cublas"), 1, report)

    def test_a_report_that_cannot_be_written_is_one_line(self):
        stderr = self.run_suite("Report.ListsProblems", HOTGEMM_CUBLAS_REPORT=str(self.path / "absent" / "report"))
        self.assertRegex(stderr, r"^hotgemm_cublas: cannot write the report to [^\n]*absent/report: [^\n]+\n$")

    def test_from_a_report_to_records_that_decide(self):
        """The report lists what has no record; `hotgemm tune` takes it; then the record says whether a call is served."""
        self.run_suite("Slower.*")
        self.run_suite("Report.ListsProblems", HOTGEMM_CUBLAS_REPORT=str(self.path / "report-%p.txt"))
        report = next(self.path.glob("report-*.txt"))
        self.assertRegex(report.name, r"^report-\d+.txt$")
        problems = [line for line in report.read_text().splitlines() if not line.startswith("#")]
        self.assertEqual(problems, ["40 16 8 tn bf16 align=16 beta=1 count=7", "24 16 8 nn bf16 align=16 count=5"])
        self.tune(report)
        segment = next((self.path / "cache" / "v1" / "db").iterdir())
        text = segment.read_text()
        self.run_suite("Slower.*")  # cuBLAS was not measured
        for ratio, suite in ((0.985, "Slower.*"), (0.995, "AsFast.*")):
            segment.write_text("".join(self.with_ratio(line, ratio) + "\n" for line in text.splitlines()))
            self.run_suite(suite)

    def tune(self, shapes):
        options = ["--jobs", "1", "--candidates", "2", "--scratch", "1M", "--budget", "100", "--rounds", "2"]
        environment = self.environment | {"HOTGEMM_LIBCUBLAS": "/nowhere/libcublas.so"}
        del environment["HOTGEMM_WORKER"]
        done = subprocess.run([ARGUMENTS.command, "tune", "--shapes", shapes, *options], env=environment, text=True,
                              capture_output=True, timeout=200, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @staticmethod
    def with_ratio(line, ratio):
        """A line of records that says how long cuBLAS took: as if it had been measured beside."""
        cublas = f',"cublas":"13.1.0","cublas_algorithm":"","cublas_ratio":{ratio},"cublas_default_ratio":{ratio}'
        body = re.sub(r',"crc":"[0-9a-f]{8}"}$', "", line).replace(',"time":', f'{cublas},"time":')
        return f'{body},"crc":"{zlib.crc32(body.encode()):08x}"}}'


class LibraryTest(unittest.TestCase):
    """The file itself."""

    FUNCTIONS = {name + suffix for suffix in ("", "_64") for name in (
        "cublasGemmEx", "cublasGemmStridedBatchedEx", "cublasGemmBatchedEx", "cublasHgemm", "cublasHgemmStridedBatched",
        "cublasHgemmBatched", "cublasSgemm_v2", "cublasSgemmStridedBatched", "cublasSgemmBatched", "cublasSgemmEx")}

    def test_it_exports_functions_of_cublas_only_each_in_two_versions(self):
        out = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", ARGUMENTS.interposer], text=True,
                             capture_output=True, check=True).stdout
        expected = {f"{name}{at}libcublas.so.{major}" for name in self.FUNCTIONS
                    for at, major in (("@", 12), ("@@", 13))}
        expected |= {"cublasLtMatmul@libcublasLt.so.12", "cublasLtMatmul@@libcublasLt.so.13"}
        names = {line.split()[-1] for line in out.splitlines() if line.split()[1] != "A"}
        self.assertEqual(names, expected)

    def test_it_needs_libc_only(self):
        out = subprocess.run(["readelf", "-dW", ARGUMENTS.interposer], text=True, capture_output=True, check=True).stdout
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", out))
        self.assertLessEqual(needed, {"libc.so.6", "libdl.so.2", "libpthread.so.0"})
        self.assertIn("NODELETE", out)


def main():
    parser = argparse.ArgumentParser()
    for name in ("tests", "interposer", "library", "command", "standin", "nvrtc", "cublaslt"):
        parser.add_argument(f"--{name}", required=True)
    _, rest = parser.parse_known_args(namespace=ARGUMENTS)
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
