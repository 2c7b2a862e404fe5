#!/usr/bin/env python3
"""Checks how a program was linked: hardened, and without any library of CUDA.

elf.py PROGRAM               exit status 1 and one line per lack
elf.py --self-test COMPILER  a program linked without hardening must be refused
"""

import os
import re
import subprocess
import sys
import tempfile


def lacks(program: str) -> list[str]:
    env = {**os.environ, "LC_ALL": "C"}
    text = subprocess.run(["readelf", "-hldW", program], capture_output=True, text=True, check=True, env=env).stdout
    found = []
    if not re.search(r"^\s*Type:\s+DYN", text, re.M):
        found.append("not position-independent")
    if "GNU_RELRO" not in text:
        found.append("no RELRO")
    if not re.search(r"\(FLAGS(_1)?\).*\b(BIND_)?NOW\b", text):
        found.append("lazy binding")
    stack = re.search(r"GNU_STACK.*", text)
    if not stack or "E" in stack.group(0).split()[-2]:
        found.append("executable stack")
    for library in re.findall(r"\(NEEDED\).*\[(.*)\]", text):
        if re.match(r"lib(cuda|cudart|nvrtc|cublas|cublasLt)\.", library):
            found.append(f"linked to {library}, which must be opened at run time")
    return found


def self_test(compiler: str) -> int:
    with tempfile.TemporaryDirectory() as directory:
        source, program = f"{directory}/a.c", f"{directory}/a"
        with open(source, "w", encoding="utf-8") as file:
            file.write("int main(void) { return 0; }\n")
        subprocess.run([compiler, "-xc", source, "-o", program, "-no-pie", "-Wl,-z,norelro,-z,lazy,-z,execstack"],
                       check=True, stderr=subprocess.DEVNULL)
        expected = ["not position-independent", "no RELRO", "lazy binding", "executable stack"]
        found = lacks(program)
        if found != expected:
            print(f"reported {found}, expected {expected}")
        return 0 if found == expected else 1


def main() -> int:
    if sys.argv[1] == "--self-test":
        return self_test(sys.argv[2])
    found = lacks(sys.argv[1])
    for lack in found:
        print(f"{sys.argv[1]}: {lack}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
