#!/usr/bin/env python3
"""Checks that docs/environment.md and `hotgemm info` have the variables that the source reads, and the page real options.

variables.py ROOT         prints one line per violation; exit status 1 if there is one
variables.py --self-test  feeds it bad samples, and fails unless exactly these are reported
"""

import pathlib
import re
import sys
import tempfile

PAGE, INFO = "docs/environment.md", "tools/command/info.cpp"
NAME = re.compile(r'"(HOTGEMM_[A-Z0-9_]+)"')
SOURCES = ("src/**/*.[ch]pp", "src/**/*.[ch]", "tools/command/*.cpp", "packaging/python/**/*.py")


def lint(root: pathlib.Path) -> list[str]:
    page = (root / PAGE).read_text(encoding="utf-8")
    read = {name for pattern in SOURCES for path in root.glob(pattern) if path != root / INFO
            for name in NAME.findall(path.read_text(encoding="utf-8"))}
    printed = set(NAME.findall((root / INFO).read_text(encoding="utf-8")))
    told = set(re.findall(r"`(HOTGEMM_[A-Z0-9_]+)", page))
    found = [f"{name}: read by the source, and not on {PAGE}" for name in read - told]
    found += [f"{name}: read by the source, and not printed by `hotgemm info`" for name in read - printed]
    found += [f"{name}: on {PAGE} or in {INFO}, and read by nobody" for name in (told | printed) - read]
    headers = "".join(path.read_text(encoding="utf-8") for path in (root / "include/hotgemm").glob("*.hpp"))
    options = re.findall(r"^\| `HOTGEMM_[^|]*\| `(?:\w+::)?(\w+)`", page, re.M)
    found += [f"{option}: on {PAGE}, and in no public header" for option in options
              if not re.search(rf"\b{option}\b", headers)]
    return sorted(found)


GOOD = {PAGE: "| `HOTGEMM_A`, `HOTGEMM_B=off` | `O::a_b`, a path | 1 |\n| `HOTGEMM_C` | what it does |\n",
        INFO: '{"HOTGEMM_A"}, {"HOTGEMM_B"}, {"HOTGEMM_C"}', "src/x/y.cpp": 'f("HOTGEMM_A"); g("HOTGEMM_B is bad")',
        "src/z.c": 'getenv("HOTGEMM_B")', "packaging/python/p/q.py": 'e["HOTGEMM_C"]', "include/hotgemm/o.hpp": "int a_b;"}
BAD_SAMPLES = [  # files, and what is reported
    ({"src/new.hpp": '"HOTGEMM_D"'}, ["HOTGEMM_D", "HOTGEMM_D"]),
    ({INFO: '{"HOTGEMM_A"}, {"HOTGEMM_B"}'}, ["HOTGEMM_C"]),
    ({"src/z.c": ""}, ["HOTGEMM_B"]),
    ({"include/hotgemm/o.hpp": "int a_bc;"}, ["a_b"]),
]


def self_test() -> int:
    failures = 0
    for files, expected in [({}, []), *BAD_SAMPLES]:
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            for path, text in {**GOOD, **files}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")
            found = [line.partition(":")[0] for line in lint(root)]
            if found != expected:
                print(f"{files or 'good samples'}: reported {found}")
                failures += 1
    return 1 if failures else 0


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found = lint(pathlib.Path(sys.argv[1]))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
