#!/usr/bin/env python3
"""Checks that a shared library exports what its public headers mark with HOTGEMM_API, no more and no less.

exports.py LIBRARY HEADERS SONAME   exit status 1 and one line per difference
exports.py --self-test COMPILER     a library that exports too much, or too little, must be refused
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

MAX_EXPORTS = 70
HEADER = """
namespace hotgemm {
class HOTGEMM_API Error {};
class Context {
 public:
  HOTGEMM_API Context();
  HOTGEMM_API void run(int);
  HOTGEMM_API void run(double, const std::function<bool(int)>& progress = {});
  Context& operator=(const Context&) = delete;
  int inside() { return run(1); }
  int data = 0;
};
HOTGEMM_API int  // why
version();
int forgotten();
}
"""
SOURCE = """
#define HOTGEMM_API __attribute__((visibility("default")))
namespace hotgemm {
struct Context { HOTGEMM_API Context(); HOTGEMM_API void run(int); void run(double); };
Context::Context() {}
void Context::run(int) {}
void Context::run(double) {}
HOTGEMM_API int version() { return 1; }
HOTGEMM_API int internal() { return 2; }
}
"""


def plain_declarations(text: str) -> str:
    """The header's text without comments, directives, strings, template arguments and default values in braces."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/|^#(?:\\\n|[^\n])*|\"[^\"\n]*\"", " ", text, flags=re.M | re.S)
    text = re.sub(r"=\s*\{[^{}]*\}", "", text)
    while (shorter := re.sub(r"<[^<>;{}]*>", "", text)) != text:
        text = shorter
    return text


def public_api(headers: list[str]) -> tuple[collections.Counter, set[str], list[str]]:
    """Functions with their number of overloads, classes, and functions that lack the mark."""
    functions: collections.Counter = collections.Counter()
    classes, unmarked = set(), []
    for text in headers:
        scopes: list[str | None] = []  # None: the body of a function or of an enumeration
        for statement, end in re.findall(r"([^{};]*)([{};])", plain_declarations(text)):
            words = re.sub(r"^\s*(?:(?:public|private|protected)\s*:\s*)*", "", statement)
            if end == "}":
                scopes.pop()
            elif end == "{":
                scope = re.match(r"(?:namespace|class|struct)\s+(?:HOTGEMM_API\s+)?(\w+)", words)
                scopes.append(scope.group(1) if scope else None)
                if scope and "HOTGEMM_API" in words:
                    classes.add("::".join(filter(None, scopes)))
            elif None not in scopes:
                function = re.match(r"[^=(]*?(~?\w+)\s*\(", words)
                if not function or re.match(r"friend\b|using\b", words) or re.search(r"=\s*(default|delete)\s*$", words):
                    continue
                name = "::".join([*filter(None, scopes), function.group(1)])
                if words.startswith("HOTGEMM_API"):
                    functions[name] += 1
                else:
                    unmarked.append(name)
    return functions, classes, unmarked


def exports(library: str) -> list[str]:
    """The demangled symbols; the variants of a constructor or destructor are one."""
    text = subprocess.run(["nm", "-D", "--defined-only", "-C", library], capture_output=True, text=True, check=True).stdout
    return sorted({line.split(" ", 2)[2] for line in text.splitlines()})


def differences(library: str, headers: list[str]) -> list[str]:
    functions, classes, unmarked = public_api(headers)
    found = [f"{name}: declared in a public header without HOTGEMM_API" for name in unmarked]
    exported: collections.Counter = collections.Counter()
    for symbol in exports(library):
        plain = re.sub(r"\[abi:\w+\]", "", symbol)
        owner = re.sub(r"^(typeinfo|typeinfo name|vtable) for ", "", plain)
        name = plain.split("(")[0]
        if owner in classes or name.rsplit("::", 1)[0] in classes:
            continue
        if name in functions:
            exported[name] += 1
        else:
            found.append(f"{symbol}: exported, but no public header declares it with HOTGEMM_API")
    for name, declared in functions.items():
        if exported[name] != declared:
            found.append(f"{name}: declared {declared} times with HOTGEMM_API, exported {exported[name]} times")
    if not functions:
        found.append("no function is declared with HOTGEMM_API")
    return found


def self_test(compiler: str) -> int:
    with tempfile.TemporaryDirectory() as directory:
        source, library = f"{directory}/a.cpp", f"{directory}/a.so"
        pathlib.Path(source).write_text(SOURCE, encoding="utf-8")
        subprocess.run([compiler, "-shared", "-fPIC", "-fvisibility=hidden", source, "-o", library], check=True)
        found = differences(library, [HEADER])
    expected = ["hotgemm::forgotten: declared in a public header without HOTGEMM_API",
                "hotgemm::internal(): exported, but no public header declares it with HOTGEMM_API",
                "hotgemm::Context::run: declared 2 times with HOTGEMM_API, exported 1 times"]
    if found != expected:
        print("reported", *found, "expected", *expected, sep="\n")
    return 0 if found == expected else 1


def main() -> int:
    if sys.argv[1] == "--self-test":
        return self_test(sys.argv[2])
    library, headers, soname = sys.argv[1:]
    found = differences(library, [path.read_text(encoding="utf-8") for path in sorted(pathlib.Path(headers).glob("*.hpp"))])
    if (number := len(exports(library))) > MAX_EXPORTS:
        found.append(f"{number} exported symbols; at most {MAX_EXPORTS} are expected")
    dynamic = subprocess.run(["readelf", "-dW", library], capture_output=True, text=True, check=True).stdout
    if f"[{soname}]" not in dynamic:
        found.append(f"its SONAME is not {soname}")
    for difference in found:
        print(f"{library}: {difference}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
