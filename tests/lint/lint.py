#!/usr/bin/env python3
"""Checks the source tree against the rules that no compiler enforces.

lint.py ROOT         prints one line per violation; exit status 1 if there is one
lint.py --self-test  feeds each rule a bad sample, and fails unless every rule reports exactly its own
"""

import pathlib
import re
import sys
import tempfile

SOURCE_DIRS = ("include", "src", "templates", "tests", "tools", "examples")
SUFFIXES = {".cpp", ".hpp", ".h", ".c", ".cuh"}
MAX_LINES = 450
# Longer files, each with the reason why it may be.
LONG_FILES: dict[str, str] = {}

CUDA_HEADER = r"(cuda|nvrtc|cublas|driver_types|vector_types|cuComplex)"
# (rule, paths it looks at, paths it leaves out, pattern that must not occur, message)
PATTERN_RULES = [
    ("asm", r".*", r"templates/ptx/", r"\b(asm|__asm__)\b", "inline assembly belongs in templates/ptx/"),
    ("builtin", r"templates/", r"templates/ptx/",
     r"\b(threadIdx|blockIdx|blockDim|gridDim|__sync\w+|__shared__|__shfl\w*|__cvta\w+|reinterpret_cast)\b",
     "a device built-in or raw access; use an accessor of templates/ptx/"),
    ("std-include", r"templates/", r"^$", r"#\s*include\s*<", "templates are compiled with no std or CUDA header"),
    ("plan-is-pure", r"src/plan/", r"^$", r"#\s*include\s*[<\"](" + CUDA_HEADER + r"\w*\.h|gpu/)",
     "src/plan knows neither CUDA nor src/gpu"),
    ("arrow", r"templates/shared/", r"^$", r"#\s*include\s*\"(\.\./)?(ptx|plan|gpu)/", "templates/shared depends on nothing"),
    ("public-include", r"include/", r"^$", r"#\s*include\s*[<\"](spdlog|fmt|nlohmann|openssl|plan|gpu|" + CUDA_HEADER + ")",
     "public headers include the std library and hotgemm only"),
]
MARKER = re.compile(r"\b(TODO|FIXME|XXX)\b")


def strip_comments(text: str) -> str:
    """Blanks comments and the inside of string literals, and keeps line numbers."""
    token = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^\s()\\]{0,16})\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
        re.S)

    def blank(match: re.Match) -> str:
        found = match.group(0)
        line = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        if found.startswith('"') and re.match(r"\s*#\s*include\s*$", line):
            return found
        return re.sub(r"[^\n]", " ", found)

    return token.sub(blank, text)


def lint(root: pathlib.Path) -> list[tuple[str, str]]:
    """(rule, "path:line: message") of each violation."""
    found = []
    for directory in SOURCE_DIRS:
        for path in sorted((root / directory).rglob("*")):
            if path.suffix not in SUFFIXES or not path.is_file():
                continue
            name = path.relative_to(root).as_posix()
            text = path.read_text(encoding="utf-8")
            lines = text.count("\n")
            if lines > MAX_LINES and name not in LONG_FILES:
                found.append(("length", f"{name}:{lines}: longer than {MAX_LINES} lines"))
            for match in MARKER.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                found.append(("marker", f"{name}:{line}: {match.group(0)}: finish it or write it down elsewhere"))
            code = strip_comments(text)
            for rule, where, but_not, pattern, message in PATTERN_RULES:
                if not re.match(where, name) or re.match(but_not, name):
                    continue
                for match in re.finditer(pattern, code):
                    line = code.count("\n", 0, match.start()) + 1
                    found.append((rule, f"{name}:{line}: {match.group(0)}: {message}"))
    for name in LONG_FILES:
        if not (root / name).is_file():
            found.append(("length", f"{name}: listed as a long file, and does not exist"))
    return found


BAD_SAMPLES = {
    "asm": ("src/gpu/a.cpp", 'void f() { asm volatile("nop"); }\n'),
    "builtin": ("templates/b.cuh", "int f() { return threadIdx.x; }\n"),
    "std-include": ("templates/c.cuh", "#include <cstdint>\n"),
    "plan-is-pure": ("src/plan/d.cpp", "#include <cuda.h>\n"),
    "arrow": ("templates/shared/e.hpp", '#include "../ptx/device.hpp"\n'),
    "public-include": ("include/hotgemm/f.hpp", "#include <spdlog/spdlog.h>\n"),
    "length": ("src/g.cpp", "\n" * (MAX_LINES + 1)),
    "marker": ("tools/h.cpp", "// TO" "DO: later\n"),
}
GOOD_SAMPLES = {
    "templates/ptx/i.hpp": 'inline void f() { asm("bar.sync 0;"); }  // threadIdx\n',
    "templates/j.cuh": '// threadIdx, reinterpret_cast, asm\n/* #include <x> */\n#include "shared/k.hpp"\n',
    "src/plan/l.cpp": '#include <vector>\nconst char* kText = R"(asm volatile threadIdx)";\nconst long kN = 1\'000\'000;\n',
    "src/gpu/m.cpp": '#include <cuda.h>\n#include "plan/l.hpp"\nconst char* kAsm = "asm \\" asm";\n',
    "src/n.cpp": "\n" * MAX_LINES,
}


def self_test() -> int:
    if {rule for rule, *_ in PATTERN_RULES} | {"length", "marker"} != set(BAD_SAMPLES):
        print("a rule has no bad sample")
        return 1
    failures = 0
    samples = [(rule, {path: text}) for rule, (path, text) in BAD_SAMPLES.items()] + [(None, GOOD_SAMPLES)]
    for rule, files in samples:
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")
            found = [name for name, _ in lint(root)]
            if found != ([rule] if rule else []):
                print(f"{rule or 'good samples'}: reported {found}")
                failures += 1
    return 1 if failures else 0


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = pathlib.Path(sys.argv[1])
    if not (root / "templates").is_dir():
        print(f"{root} is not the source tree")
        return 1
    found = lint(root)
    for _, message in found:
        print(message)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
