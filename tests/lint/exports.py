#!/usr/bin/env python3
"""Checks that a shared library exports the functions that the C headers declare, no more and no less, in their node.

exports.py LIBRARY SONAME NODE HEADER...   exit status 1 and one line per difference
exports.py --self-test COMPILER            a library that exports too much, or too little, must be refused
"""

import pathlib
import re
import subprocess
import sys
import tempfile

HEADER = """
/* HOTGEMM_C_API int in_a_comment(void); */
HOTGEMM_C_API const char* hotgemm_version(void);
HOTGEMM_C_API int hotgemm_lost(int,
                               int);
int hotgemm_unmarked(void);
typedef int (*hotgemm_callback)(void* user);
"""
SOURCE = """
const char* hotgemm_version(void) { return ""; }
int hotgemm_unmarked(void) { return 0; }
int other(void) { return 0; }
"""


def declared(header: str) -> tuple[set[str], list[str]]:
    """The functions that the header marks, and those without a mark."""
    text = re.sub(r"/\*.*?\*/|^#(?:\\\n|[^\n])*", " ", header, flags=re.S | re.M)
    marked, unmarked = set(), []
    for statement in re.split(r"[;{}]", text):
        function = re.match(r"\s*(HOTGEMM_C_API\s)?[^(=]*?\b(hotgemm_\w+)\s*\(", statement)
        if not function or "typedef" in statement:
            continue
        if function.group(1):
            marked.add(function.group(2))
        else:
            unmarked.append(function.group(2))
    return marked, unmarked


def exported(library: str) -> dict[str, str]:
    """The node of each exported symbol, by its name. The symbol of a node itself is left out."""
    text = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", library], capture_output=True,
                          text=True, check=True).stdout
    symbols = [line.split()[2] for line in text.splitlines() if line.split()[1] != "A"]
    return {name: node for name, _, node in (symbol.replace("@@", "@").partition("@") for symbol in symbols)}


def differences(library: str, header: str, node: str) -> list[str]:
    functions, unmarked = declared(header)
    symbols = exported(library)
    found = [f"{name}: declared without HOTGEMM_C_API" for name in unmarked]
    found += [f"{name}: exported, but not declared with HOTGEMM_C_API" for name in sorted(symbols.keys() - functions)]
    found += [f"{name}: declared, but not exported" for name in sorted(functions - symbols.keys())]
    found += [f"{name}: in node {symbols[name] or 'none'}, not {node}" for name in sorted(functions & symbols.keys())
              if symbols[name] != node]
    if not functions:
        found.append("no function is declared with HOTGEMM_C_API")
    return found


def self_test(compiler: str) -> int:
    with tempfile.TemporaryDirectory() as directory:
        source, library = f"{directory}/a.c", f"{directory}/a.so"
        pathlib.Path(source).write_text(SOURCE, encoding="utf-8")
        subprocess.run([compiler, "-x", "c", "-shared", "-fPIC", source, "-o", library], check=True)
        found = differences(library, HEADER, "HOTGEMM_0.1")
    expected = ["hotgemm_unmarked: declared without HOTGEMM_C_API",
                "hotgemm_unmarked: exported, but not declared with HOTGEMM_C_API",
                "other: exported, but not declared with HOTGEMM_C_API",
                "hotgemm_lost: declared, but not exported",
                "hotgemm_version: in node none, not HOTGEMM_0.1"]
    if found != expected:
        print("reported", *found, "expected", *expected, sep="\n")
    return 0 if found == expected else 1


def main() -> int:
    if sys.argv[1] == "--self-test":
        return self_test(sys.argv[2])
    library, soname, node, *headers = sys.argv[1:]
    text = "".join(pathlib.Path(header).read_text(encoding="utf-8") for header in headers)
    found = differences(library, text, node)
    dynamic = subprocess.run(["readelf", "-dW", library], capture_output=True, text=True, check=True).stdout
    if f"[{soname}]" not in dynamic:
        found.append(f"its SONAME is not {soname}")
    for difference in found:
        print(f"{library}: {difference}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
