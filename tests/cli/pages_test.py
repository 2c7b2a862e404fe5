#!/usr/bin/env python3
"""Runs the hotgemm commands that stand on the pages, without a GPU.

A command must succeed, or say that there is no driver (exit status 3; an option, a config or a rung that does not exist
is status 1). A `ladder --no-run` of all rungs runs without NVRTC, and says that it is missing. FILE and the like and the
paths of a server are replaced, launchers in front are left out, and so is a line with an ellipsis.
"""

import pathlib
import re
import shutil
import subprocess
import sys

import cli_test
from cli_test import CliTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHAPES = "64 64 64 nn f16\n"
COMMANDS = "bench|cache|db|emulate|info|ladder|prewarm|show|tune"


def commands_of(text: str) -> list[str]:
    """The commands in blocks, with the assignments before them, and those in sentences that have more than a name."""
    fenced = re.findall(r"^ *```(?:sh|bash)?\n(.*?)^ *```", text, re.S | re.M)
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.S | re.M)
    indented = re.findall(r"(?:^ {4,}.*\n)+", prose, re.M)
    found = []
    for block in fenced + indented:
        assignments = ""
        for line in block.replace("\\\n", " ").splitlines():
            if re.fullmatch(r"\s*[A-Z]+=\S+", line):
                assignments += line.strip() + "; "
            command = re.search(rf"(?:^|[\s/])((?:[A-Z_]+=\S+ )*hotgemm (?:{COMMANDS})\b.*)", line.partition(" # ")[0])
            if command and not line.lstrip().startswith(("#", "|")):
                found.append(assignments + command[1].strip())
    found += [" ".join(code.split()) for code in re.findall(rf"`(hotgemm (?:{COMMANDS}) [^`]+)`", prose)]
    return [command for command in found if "…" not in command and "..." not in command and "──" not in command]


class PagesTest(CliTest):
    def setUp(self):
        super().setUp()
        (self.path / "bin").mkdir()
        (self.path / "bin/hotgemm").symlink_to(cli_test.COMMAND)
        self.environment["PATH"] = f"{self.path}/bin:{self.environment['PATH']}"
        self.environment["HOME"] = str(self.path)
        (self.path / "docs").symlink_to(ROOT / "docs")
        for name in ("shapes.txt", "a.txt", "b.txt", "report.txt", "logs/run7/1.txt"):
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(SHAPES, encoding="utf-8")
        shutil.copy(ROOT / "examples/softcap.txt", self.path)
        with open(min((ROOT / "cache").glob("*.jsonl")), encoding="utf-8") as file:
            records = file.readline() + file.readline()
        for name in ("records.jsonl", "A/v1/db/1.jsonl", "B/v1/db/1.jsonl", ".cache/hotgemm/v1/db/1.jsonl"):
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(records, encoding="utf-8")

    def run_line(self, line: str):
        file = "records.jsonl" if "hotgemm db" in line else "shapes.txt"
        for word, instead in ((r"\b(?:THIS_FILE|FILE)\b", file), (r"\bCONFIG\b", cli_test.CONFIG),
                              (r"([ =])/(logs|opt)/", rf"\1{self.path}/\2/")):
            line = re.sub(word, instead, line)
        environment, missing = dict(self.environment), ["libcuda", "driver"]
        if "--no-run" in line and not re.search("--rung|--config", line):
            environment["HOTGEMM_LIBNVRTC"] = "/nonexistent"
            missing.append("nvrtc")
        done = subprocess.run(["bash", "-c", line], env=environment, cwd=self.path, capture_output=True, text=True,
                              timeout=120, check=False)
        says_what_is_missing = done.returncode == 3 and any(name in done.stderr for name in missing)
        is_only_an_option = done.returncode == 1 and "no problem" in done.stderr
        if done.returncode != 0 and not says_what_is_missing and not is_only_an_option:
            self.fail(f"{line}\nexit status {done.returncode}\n{done.stdout[-500:]}\n{done.stderr[-500:]}")

    def test_commands_on_pages(self):
        self.need_nvrtc()
        pages = [page for pattern in ("*.md", "cache/*.md", "docs/*.md", "docs/guide/*.md", "docs/kernels/*.md")
                 for page in ROOT.glob(pattern)]
        done = {}
        for page in sorted(pages):
            for line in commands_of(page.read_text(encoding="utf-8")):
                if page.name != "CHANGELOG.md" and done.setdefault(line, page) == page:
                    with self.subTest(page=page.name, line=line):
                        self.run_line(line)
        self.assertGreater(len(done), 80)

    def test_a_wrong_command_fails(self):
        for line in ("hotgemm ladder --rung no_such_rung", "hotgemm show --no-such-option", "hotgemm emulate --shape 8x8"):
            with self.assertRaises(AssertionError):
                self.run_line(line)


if __name__ == "__main__":
    sys.exit(cli_test.main())
