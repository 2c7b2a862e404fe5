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
# Files that may be longer, each with the reason.
LONG_FILES: dict[str, str] = {}

CUDA_HEADER = r"(cuda|nvrtc|cublas|driver_types|vector_types|cuComplex)"
# (rule, paths it looks at, paths it leaves out, pattern that must not occur, message)
PATTERN_RULES = [
    ("asm", r".*", r"templates/ptx/", r"\b(asm|__asm__)\b", "inline assembly belongs in templates/ptx/"),
    ("builtin", r"templates/", r"templates/ptx/",
     r"\b(threadIdx|blockIdx|blockDim|gridDim|__sync\w+|__shared__|__shfl\w*|__cvta\w+|reinterpret_cast)\b",
     "a device built-in or raw access; use an accessor of templates/ptx/"),
    ("std-include", r"templates/", r"^$", r"#\s*include\s*<", "templates are compiled with no std or CUDA header"),
    ("cuda-include", r"src/(base|config|records|cache|ladder|plan|emulate)/", r"^$",
     r"#\s*include\s*[<\"]" + CUDA_HEADER + r"\w*\.h", "only gpu and the rooms after it know CUDA"),
    ("public-include", r"include/", r"^$", r"#\s*include\s*[<\"](spdlog|fmt|nlohmann|openssl|" + CUDA_HEADER + ")",
     "public headers include the std library and hotgemm only"),
]
ROOMS_FILE = "src/rooms.txt"
# The directory of a room that is not src/<room>/. A longer directory wins.
ROOM_DIRS = {"templates/shared": "templates/shared/", "templates/ptx": "templates/ptx/", "templates": "templates/",
             "include": "include/hotgemm/", "src": "src/", "command": "tools/command/", "fit_model": "tools/fit_model/",
             "tests": "tests/"}
# The roots from which includes are spelled. The twins of templates/ptx are spelled like their originals.
INCLUDE_ROOTS = ("src/", "templates/", "tools/", "tests/", "src/emulate/")
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


def read_rooms(root: pathlib.Path) -> dict[str, set[str] | None]:
    """The rooms that each room may include, itself among them; None for every room."""
    rooms: dict[str, set[str] | None] = {}
    for line in (root / ROOMS_FILE).read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        room, allowed, _ = re.split(r"\s{2,}", line, maxsplit=2)
        rooms[room] = None if allowed == "*" else {room, *allowed.split()} - {"-"}
    return rooms


def room_of(path: str, rooms: dict[str, set[str] | None]) -> str | None:
    """The room that the file at `path` belongs to, or None for a directory that the table lacks."""
    places = {directory: room for room in rooms for directory in [ROOM_DIRS.get(room, f"src/{room}/")]}
    fitting = [directory for directory in places if path.startswith(directory)]
    best = max(fitting, key=len, default=None)
    # The rooms `src` and `templates` contain only the files in these directories; each subdirectory is another room.
    if best is None or (best in ("src/", "templates/") and "/" in path[len(best):]):
        return None
    return places[best]


def lint_includes(root: pathlib.Path, name: str, text: str, rooms: dict[str, set[str] | None]) -> list[tuple[str, str]]:
    """Includes that the table of rooms forbids, or that are not spelled from a root."""
    room = room_of(name, rooms)
    if room is None:
        return [("room", f"{name}: its directory is not in {ROOMS_FILE}")]
    found = []
    for match in re.finditer(r"^\s*#\s*include\s*(\"([^\"]+)\"|<(hotgemm/[^>]+)>)", text, re.M):
        line = text.count("\n", 0, match.start()) + 1
        spelled, quoted, public = match.group(1), match.group(2), match.group(3)
        targets = [base + quoted for base in INCLUDE_ROOTS if (root / base / quoted).is_file()] if quoted else \
                  ["include/" + public]
        if public == "hotgemm/gemm_types.hpp":
            targets = ["templates/shared/gemm_types.hpp"]  # the build makes it reachable under both names
        if not targets:
            found.append(("spelling", f"{name}:{line}: {spelled}: spell it from {', '.join(INCLUDE_ROOTS[:4])}"))
            continue
        target_rooms = {room_of(target, rooms) for target in targets}
        allowed = rooms[room]
        if allowed is not None and not target_rooms & allowed:
            found.append(("room", f"{name}:{line}: {spelled}: {room} may not include {target_rooms.pop()}; "
                                  f"see {ROOMS_FILE}"))
    return found


def lint(root: pathlib.Path) -> list[tuple[str, str]]:
    """(rule, "path:line: message") of each violation."""
    found = []
    rooms = read_rooms(root)
    table = [line for line in (root / ROOMS_FILE).read_text(encoding="utf-8").splitlines() if line[:1] not in ("", "#")]
    quoting = (root / "ARCHITECTURE.md").read_text(encoding="utf-8")
    if "\n".join(table) not in quoting:
        found.append(("quote", f"ARCHITECTURE.md: does not quote the table of {ROOMS_FILE} as it is"))
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
            if not name.startswith("examples/"):
                found += lint_includes(root, name, code, rooms)
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


ROOMS_SAMPLE = """# a comment
templates/shared  -  index arithmetic
templates/ptx  templates/shared  instructions
templates  templates/ptx templates/shared  kernels
include  templates/shared  public headers
config  include templates/shared  values
gpu  include config  effects
src  include config gpu  the API
command  *  the command
tests  *  the tests
"""
TABLE_SAMPLE = ROOMS_SAMPLE.split("\n", 1)[1].rstrip()
# The files that exist beside every sample.
SURROUNDINGS = {ROOMS_FILE: ROOMS_SAMPLE, "ARCHITECTURE.md": f"```\n{TABLE_SAMPLE}\n```\n",
                "src/config/l.hpp": "", "src/gpu/m.hpp": "", "templates/shared/k.hpp": "",
                "templates/ptx/device.hpp": ""}
BAD_SAMPLES = {
    "asm": ("src/gpu/a.cpp", 'void f() { asm volatile("nop"); }\n'),
    "builtin": ("templates/b.cuh", "int f() { return threadIdx.x; }\n"),
    "std-include": ("templates/c.cuh", "#include <cstdint>\n"),
    "cuda-include": ("src/config/d.cpp", "#include <cuda.h>\n"),
    "room": ("src/config/e.hpp", '#include "gpu/m.hpp"\n'),
    "spelling": ("src/config/o.cpp", '#include "l.hpp"\n'),
    "quote": ("ARCHITECTURE.md", "another table\n"),
    "public-include": ("include/hotgemm/f.hpp", "#include <fmt/format.h>\n"),
    "length": ("src/g.cpp", "\n" * (MAX_LINES + 1)),
    "marker": ("tools/command/h.cpp", "// TO" "DO: later\n"),
}
MORE_BAD_SAMPLES = [
    ("room", ("templates/shared/p.hpp", '#include "ptx/device.hpp"\n')),
    ("room", ("src/elsewhere/q.cpp", "int q;\n")),
    ("room", ("include/hotgemm/r.hpp", '#include "config/l.hpp"\n')),
]
GOOD_SAMPLES = {
    "templates/ptx/i.hpp": 'inline void f() { asm("bar.sync 0;"); }  // threadIdx\n',
    "templates/j.cuh": '// threadIdx, reinterpret_cast, asm\n/* #include <x> */\n#include "shared/k.hpp"\n',
    "src/config/l.cpp": '#include <vector>\nconst char* kText = R"(asm volatile threadIdx)";\nconst long kN = 1\'000\'000;\n',
    "src/gpu/m.cpp": '#include <cuda.h>\n#include "config/l.hpp"\nconst char* kAsm = "asm \\" asm";\n',
    "src/n.cpp": "\n" * MAX_LINES,
    "tests/s.cpp": '#include "gpu/m.hpp"\n#include "shared/k.hpp"\n',
}


def self_test() -> int:
    other_rules = {"length", "marker", "room", "spelling", "quote"}
    if {rule for rule, *_ in PATTERN_RULES} | other_rules != set(BAD_SAMPLES):
        print("a rule has no bad sample")
        return 1
    failures = 0
    bad_samples = [*BAD_SAMPLES.items(), *MORE_BAD_SAMPLES]
    samples = [(rule, {path: text}) for rule, (path, text) in bad_samples] + [(None, GOOD_SAMPLES)]
    for rule, files in samples:
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            for path, text in (SURROUNDINGS | files).items():
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
