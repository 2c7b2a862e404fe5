#!/usr/bin/env python3
"""Compiles sources one by one, for syntax and types only, of those that the build has joined into larger ones. A source
may lack an include there, and be compiled after one that has it.

includes.py BUILD          a sample of them, drawn by HOTGEMM_TEST_SEED: first those that the last commit or the working tree
                           changes, and those that include a changed header. HOTGEMM_TEST_FULL=1 compiles all
includes.py --self-test COMPILER   a source that lacks an include must be refused
"""

import json
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile

DRAWN = 12  # of about 190: half a minute of a core
MOST = 24  # with the changed ones


def commands(build: pathlib.Path) -> dict[str, list[str]]:
    """For each joined source the command that compiles it alone."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        joined = pathlib.Path(entry["directory"], entry["file"])
        if joined.parent.name != "Unity":
            continue
        words = shlex.split(entry["command"])
        words[words.index("-o"):] = ["-fsyntax-only"]
        for source in re.findall(r'^#include "(.+)"$', joined.read_text(encoding="utf-8"), re.MULTILINE):
            found[source] = [*words, source]
    return found


def changed_files(root: pathlib.Path) -> set[str]:
    """Below `root`; none where there is no history."""
    done = subprocess.run(["git", "diff", "--name-only", "--relative", "HEAD~1"], cwd=root, capture_output=True, text=True,
                          check=False)
    return set(done.stdout.split()) if done.returncode == 0 else set()


def is_touched(source: str, changed: set[str], root: pathlib.Path) -> bool:
    """True if the source has changed, or a header that it names."""
    if str(pathlib.Path(source).relative_to(root)) in changed:
        return True
    named = re.findall(r'^#include "(.+)"', pathlib.Path(source).read_text(encoding="utf-8"), re.MULTILINE)
    return any(f"{room}/{header}" in changed for room in ("src", "templates", "include") for header in named)


def sample(sources: list[str], touched: set[str], seed: int) -> list[str]:
    order = sorted(sources)
    random.Random(seed).shuffle(order)
    first = [source for source in order if source in touched][:MOST - DRAWN]
    return first + [source for source in order if source not in first][:DRAWN]


def refusal(command: list[str]) -> str:
    """The compiler's messages; empty if the source stands alone."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"{shlex.join(command)}\n{done.stderr}"


def refused(alone: dict[str, list[str]], sources: list[str]) -> list[str]:
    return [text for text in (refusal(alone[source]) for source in sources) if text]


def check(build: pathlib.Path) -> int:
    root = pathlib.Path(__file__).resolve().parents[2]
    alone = {source: command for source, command in commands(build).items() if pathlib.Path(source).is_relative_to(root / "src")}
    if not alone:
        print("the build has joined no source of the library, so it compiles each alone")
        return 77
    chosen = list(alone)
    if os.environ.get("HOTGEMM_TEST_FULL") != "1":
        changed = changed_files(root)
        touched = {source for source in alone if is_touched(source, changed, root)}
        chosen = sample(chosen, touched, int(os.environ.get("HOTGEMM_TEST_SEED", "1")))
    found = refused(alone, chosen)
    print("\n".join([*found, f"{len(chosen) - len(found)} of {len(chosen)} sources, of {len(alone)}, can be compiled alone"]))
    return 1 if found else 0


def self_test(compiler: str) -> int:
    with tempfile.TemporaryDirectory() as directory:
        build = pathlib.Path(directory)
        (build / "Unity").mkdir()
        good, bad, joined = build / "good.cpp", build / "bad.cpp", build / "Unity/group.cxx"
        good.write_text("#include <string>\nstd::string a() { return {}; }\n", encoding="utf-8")
        bad.write_text("std::string b() { return {}; }\n", encoding="utf-8")
        joined.write_text(f'#include "{good}"\n\n#include "{bad}"\n', encoding="utf-8")
        command = f"{compiler} -std=c++20 -o group.o -c {joined}"
        (build / "compile_commands.json").write_text(
            json.dumps([{"directory": directory, "file": str(joined), "command": command}]), encoding="utf-8")
        alone = commands(build)
        messages = refused(alone, [str(good), str(bad)])
        named = {f"src/{i}.cpp" for i in range(100)}
        checks = {
            "the joined source can be compiled": not refusal([*shlex.split(command), "-fsyntax-only"]),
            "the source that lacks an include is refused, and no other": len(messages) == 1 and "bad.cpp:1" in messages[0],
            "a seed repeats its sample": sample(sorted(named), set(), 7) == sample(list(named), set(), 7),
            "seeds differ": sample(list(named), set(), 7) != sample(list(named), set(), 8),
            "touched sources come first": sample(list(named), {"src/5.cpp"}, 7)[0] == "src/5.cpp",
            "there are at most as many as stated": len(sample(list(named), named, 7)) == MOST,
        }
    for what, holds in checks.items():
        print(f"{'yes' if holds else 'NO '}  {what}")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(self_test(sys.argv[2]) if sys.argv[1] == "--self-test" else check(pathlib.Path(sys.argv[1])))
