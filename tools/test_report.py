#!/usr/bin/env python3
"""Sums up ctest's JUnit reports.

test_report.py STAGE=REPORT.xml... [--not-run STAGE=COUNT:REASON] [--markdown STAGE=FILE.md]

Prints a line per stage and, last, "N passed, N failed, N skipped". A report that is missing or empty counts as one
failure. Exit status 1 if anything failed or nothing passed.
"""

import argparse
import collections
import dataclasses
import datetime
import os
import pathlib
import platform
import subprocess
import sys
import xml.etree.ElementTree as ET


@dataclasses.dataclass
class Outcome:
    name: str
    status: str  # passed, failed, skipped
    seconds: float
    message: str


def read_report(path: str) -> list[Outcome]:
    try:
        cases = list(ET.parse(path).getroot().iter("testcase"))
    except (OSError, ET.ParseError):
        cases = []
    if not cases:
        return [Outcome("the stage itself:", "failed", 0, "no test ran")]
    outcomes = []
    for case in cases:
        skipped = case.find("skipped")
        message = skipped.get("message", "") if skipped is not None else ""
        if case.get("status") == "run":
            status = "passed"
        elif case.get("status") == "disabled" or message.startswith("SKIP_"):
            status = "skipped"
        else:  # also a test whose program is missing, which ctest calls "notrun"
            status = "failed"
        outcomes.append(Outcome(case.get("name", "?"), status, float(case.get("time", 0)), message))
    return outcomes


def count(outcomes: list[Outcome]) -> str:
    counts = collections.Counter(outcome.status for outcome in outcomes)
    return f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped"


def output_of(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def markdown(outcomes: list[Outcome]) -> str:
    gpu = output_of("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").splitlines()[0]
    suites: dict[str, list[Outcome]] = collections.defaultdict(list)
    for outcome in outcomes:
        suites[outcome.name.rpartition(".")[0]].append(outcome)
    lines = [
        "# Tests on a GPU", "",
        "Written by `tools/check --gpu`.", "",
        f"- GPU, driver: {gpu}",
        f"- commit: {os.environ.get('HOTGEMM_COMMIT') or output_of('git', 'describe', '--always', '--dirty')}",
        f"- date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
        f"- host: {platform.system()} {platform.machine()}",
        f"- result: **{count(outcomes)}**", "",
        "| suite | passed | failed | skipped | seconds |", "|---|---:|---:|---:|---:|",
    ]
    for suite, members in sorted(suites.items()):
        counts = collections.Counter(outcome.status for outcome in members)
        seconds = sum(outcome.seconds for outcome in members)
        lines.append(f"| {suite} | {counts['passed']} | {counts['failed']} | {counts['skipped']} | {seconds:.1f} |")
    others = [outcome for outcome in outcomes if outcome.status != "passed"]
    if others:
        lines += ["", "Not passed:", ""]
        lines += [f"- {outcome.name}: {outcome.status}" for outcome in others]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("reports", nargs="+", metavar="STAGE=REPORT.xml")
    parser.add_argument("--not-run", metavar="STAGE=COUNT:REASON")
    parser.add_argument("--markdown", metavar="STAGE=FILE.md")
    args = parser.parse_args()

    stages = {stage: read_report(path) for stage, path in (report.split("=", 1) for report in args.reports)}
    everything = [outcome for outcomes in stages.values() for outcome in outcomes]
    print()
    for stage, outcomes in stages.items():
        print(f"{stage}: {count(outcomes)}")
        for outcome in outcomes:
            if outcome.status == "failed":
                print(f"  failed: {outcome.name} {outcome.message}".rstrip())
    if args.not_run:
        stage, rest = args.not_run.split("=", 1)
        number, reason = rest.split(":", 1)
        if int(number):
            print(f"{stage}: {number} {reason}")
        everything += [Outcome(stage, "skipped", 0, reason)] * int(number)
    if args.markdown:
        stage, path = args.markdown.split("=", 1)
        pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(path).write_text(markdown(stages[stage]), encoding="utf-8")
        print(f"wrote {path}")
    print(count(everything))
    statuses = {outcome.status for outcome in everything}
    return 0 if "passed" in statuses and "failed" not in statuses else 1


if __name__ == "__main__":
    sys.exit(main())
