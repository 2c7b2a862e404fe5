#!/usr/bin/env python3
"""Opens each template in clangd, as an editor would with the project's .clangd, and fails on a diagnostic.

clangd_check.py CLANGD ROOT              every templates/*.cuh
clangd_check.py CLANGD ROOT --self-test  a template with an error must be refused
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def diagnostics(clangd: str, file: pathlib.Path) -> list[str]:
    done = subprocess.run([clangd, f"--check={file}", "--check-lines=1-1"], capture_output=True, text=True, check=False)
    found = re.findall(r"^E\[[^\]]*\] (\[.*)$", done.stderr, re.M)
    if not found and "All checks completed" not in done.stderr:
        found = [f"clangd did not finish:\n{done.stderr}"]
    return found


def self_test(clangd: str, root: pathlib.Path) -> int:
    with tempfile.TemporaryDirectory() as directory:
        copy = pathlib.Path(directory)
        shutil.copy(root / ".clangd", copy)
        (copy / "src/emulate").mkdir(parents=True)
        shutil.copy(root / "src/emulate/host_prelude.hpp", copy / "src/emulate")
        (copy / "templates").mkdir()
        good, bad = copy / "templates/good.cuh", copy / "templates/bad.cuh"
        good.write_text("#pragma once\n__global__ void f(const __grid_constant__ int) {}\n", encoding="utf-8")
        bad.write_text("#pragma once\n__global__ void f() { no_such_thing(); }\n", encoding="utf-8")
        as_expected = not diagnostics(clangd, good) and diagnostics(clangd, bad)
        return 0 if as_expected else 1


def main() -> int:
    clangd, root = sys.argv[1], pathlib.Path(sys.argv[2])
    if "--self-test" in sys.argv:
        return self_test(clangd, root)
    templates = sorted((root / "templates").glob("*.cuh"))
    failed = False
    for template in templates:
        for diagnostic in diagnostics(clangd, template):
            print(f"{template}: {diagnostic}")
            failed = True
    return 1 if failed or not templates else 0


if __name__ == "__main__":
    sys.exit(main())
