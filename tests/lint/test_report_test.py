#!/usr/bin/env python3
"""Runs tools/test_report.py on reports as ctest writes them. test_report_test.py ROOT"""

import pathlib
import subprocess
import sys
import tempfile

CASE = '<testcase name="unit.A.{name}" time="0.5" status="{status}">{inside}</testcase>'
PASSED = CASE.format(name="Passes", status="run", inside="")
FAILED = CASE.format(name="Fails", status="fail", inside='<failure message=""/>')
SKIPPED = CASE.format(name="Skips", status="notrun", inside='<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>')
DISABLED = CASE.format(name="Off", status="disabled", inside='<skipped message="Disabled"/>')
NOT_BUILT = CASE.format(name="Missing", status="notrun", inside='<skipped message="Unable to find executable"/>')

# (cases of the report, or None for no report; further options; last line; exit status)
EXPECTED = [
    ([PASSED, PASSED], [], "2 passed, 0 failed, 0 skipped", 0),
    ([PASSED, SKIPPED, DISABLED], [], "1 passed, 0 failed, 2 skipped", 0),
    ([PASSED, FAILED], [], "1 passed, 1 failed, 0 skipped", 1),
    ([PASSED, NOT_BUILT], [], "1 passed, 1 failed, 0 skipped", 1),
    ([SKIPPED], [], "0 passed, 0 failed, 1 skipped", 1),
    ([], [], "0 passed, 1 failed, 0 skipped", 1),
    (None, [], "0 passed, 1 failed, 0 skipped", 1),
    ([PASSED], ["--not-run", "gpu=3:skipped: no GPU"], "1 passed, 0 failed, 3 skipped", 0),
]


def main() -> int:
    tool = pathlib.Path(sys.argv[1]) / "tools/test_report.py"
    failures = 0
    for cases, options, last_line, status in EXPECTED:
        with tempfile.TemporaryDirectory() as directory:
            report = pathlib.Path(directory) / "report.xml"
            if cases is not None:
                report.write_text(f"<testsuite>{''.join(cases)}</testsuite>", encoding="utf-8")
            page = pathlib.Path(directory) / "page.md"
            done = subprocess.run([sys.executable, tool, f"unit={report}", *options, "--markdown", f"unit={page}"],
                                  capture_output=True, text=True, check=False)
            lines = done.stdout.splitlines() or [done.stderr]
            if lines[-1] != last_line or done.returncode != status or not page.is_file():
                print(f"{cases} {options}: {done.returncode}, {done.stdout}{done.stderr}")
                failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
