#!/usr/bin/env python3
"""Builds the reference of the public headers, and fails if one of their names has no comment.

reference.py DOXYGEN ROOT OUT          writes OUT/html; exit status 1 if Doxygen warns
reference.py DOXYGEN ROOT --self-test  fails unless a name without a comment, added to copies of the headers, is reported
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PARTS = ("docs/Doxyfile", "docs/reference.dox", "docs/c_comments.sed", "include", "templates/shared/gemm_types.hpp")
# A header, a line of it, and what takes its place.
BAD_SAMPLES = [
    ("plan.hpp", "class PlanImpl;", "int undocumented_function(int);\nclass PlanImpl;"),
    ("operands.hpp", "  float alpha = 1.0f;", "  float undocumented_field = 0;\n  float alpha = 1.0f;"),
    ("hotgemm.h", "/* ---- contexts ---- */", "HOTGEMM_C_API int hotgemm_undocumented(void);"),
    ("prepare.h", "  uint64_t seed;", "  int32_t undocumented_member, undocumented_other;\n  uint64_t seed;"),
]


def build(doxygen: str, root: pathlib.Path, out: pathlib.Path) -> str:
    """Doxygen's messages; empty if the reference is complete."""
    out.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([doxygen, "docs/Doxyfile"], cwd=root, text=True, capture_output=True, check=False,
                          env={**os.environ, "HOTGEMM_REFERENCE_DIR": str(out)})
    if done.returncode == 0 and not (out / "html/hotgemm_8h.html").exists():
        return f"no page of hotgemm.h in {out}/html\n"
    return "" if done.returncode == 0 else done.stdout + done.stderr or f"{doxygen}: exit status {done.returncode}\n"


def self_test(doxygen: str, root: pathlib.Path) -> int:
    failures = 0
    for header, line, instead in [("plan.hpp", "", ""), *BAD_SAMPLES]:
        with tempfile.TemporaryDirectory() as directory:
            copy = pathlib.Path(directory)
            for part in PARTS:
                (copy / part).parent.mkdir(parents=True, exist_ok=True)
                copy_one = shutil.copytree if (root / part).is_dir() else shutil.copy
                copy_one(root / part, copy / part)
            path = copy / "include/hotgemm" / header
            text = path.read_text(encoding="utf-8")
            if text.count(line) == 0:
                print(f"{header} has no line {line!r}")
                failures += 1
            path.write_text(text.replace(line, instead, 1), encoding="utf-8")
            messages = build(doxygen, copy, copy / "out")
            if ("undocumented" in messages) != bool(line):
                print(f"{header}, {instead!r}: {messages or 'nothing reported'}")
                failures += 1
    return 1 if failures else 0


def main() -> int:
    doxygen, root, last = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    if last == "--self-test":
        return self_test(doxygen, root)
    messages = build(doxygen, root, pathlib.Path(last).resolve())
    print(messages, end="")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
