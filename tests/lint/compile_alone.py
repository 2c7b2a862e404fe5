#!/usr/bin/env python3
"""Compiles files one by one, for syntax and types only.

compile_alone.py headers   ROOT INCLUDE_DIR COMPILER...  public and shared headers, each by itself; a COMPILER may be nvcc
compile_alone.py templates ROOT INCLUDE_DIR COMPILER...  templates and golden kernels, with the host prelude
compile_alone.py self-test ROOT INCLUDE_DIR COMPILER...  a bad header and a bad template must be refused

INCLUDE_DIR holds the generated <hotgemm/gemm_types.hpp>.
"""

import pathlib
import subprocess
import sys
import tempfile


# Warnings that users may have turned on; those of C are errors by its standard.
STRICT = ["-Wextra", "-Wconversion", "-Wshadow", "-Wpedantic"]


def compiles(compiler: str, flags: list[str], path: pathlib.Path, language: str = "c++") -> bool:
    if pathlib.Path(compiler).name == "nvcc":  # it cannot check syntax alone, and its own code is not pedantic
        warnings = ",".join(flag for flag in ["-Wall", "-Werror", *flags] if flag.startswith("-W") and flag != "-Wpedantic")
        rest = [flag for flag in flags if not flag.startswith("-W")]
        command = [compiler, "-x", "cu", "-std=c++20", "-Xcompiler", warnings, *rest, "-c", str(path), "-o", "/dev/null"]
    else:
        standard = ["-std=c99", "-pedantic-errors"] if language == "c" else ["-std=c++20"]
        command = [compiler, f"-x{language}", *standard, "-fsyntax-only", "-Wall", "-Werror", *flags, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.returncode == 0


def header_alone(compiler: str, flags: list[str], header: pathlib.Path) -> bool:
    # Through a source that includes it, since compilers warn about `#pragma once` in a main file.
    languages = ["c", "c++"] if header.suffix == ".h" and pathlib.Path(compiler).name != "nvcc" else ["c++"]
    with tempfile.TemporaryDirectory() as directory:
        source = pathlib.Path(directory) / "alone.cpp"
        source.write_text(f'#include "{header}"\nextern int anything;  // C wants a declaration in each file\n', encoding="utf-8")
        return all([compiles(compiler, flags, source, language) for language in languages])


def template_alone(compiler: str, root: pathlib.Path, template: pathlib.Path) -> bool:
    prelude = root / "src/emulate/host_prelude.hpp"
    flags = ["-include", str(prelude), f"-I{root / 'templates'}", "-Wno-unknown-pragmas"]  # #pragma unroll
    if template.suffix == ".cuh":
        return header_alone(compiler, flags, template)
    return compiles(compiler, flags, template)


def refuses_bad_samples(compiler: str, root: pathlib.Path, include_flags: list[str]) -> bool:
    with tempfile.TemporaryDirectory() as directory:
        header = pathlib.Path(directory) / "bad.hpp"
        header.write_text("#pragma once\ninline std::string name() { return {}; }\n", encoding="utf-8")  # no <string>
        template = pathlib.Path(directory) / "bad.cuh"
        template.write_text("#pragma once\n__device__ int f() { return no_such_thing; }\n", encoding="utf-8")
        good = pathlib.Path(directory) / "good.cuh"
        good.write_text("#pragma once\n__global__ void __launch_bounds__(32) f(const __grid_constant__ int) {}\n",
                        encoding="utf-8")
        return (not header_alone(compiler, include_flags, header) and not template_alone(compiler, root, template)
                and template_alone(compiler, root, good))


def main() -> int:
    what, root, include_dir, compilers = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4:]
    include_flags = [f"-I{root / 'include'}", f"-I{include_dir}", f"-I{root / 'templates'}"]
    results = []
    for compiler in compilers:
        if what == "headers":
            public = sorted((root / "include").rglob("*.h*"))
            if pathlib.Path(compiler).name == "nvcc":  # it takes seconds for each file
                public = [header for header in public if header.stem == "hotgemm"]
            else:
                shared = sorted((root / "templates/shared").glob("*.hpp"))
                results += [header_alone(compiler, include_flags, header) for header in shared]
            results += [header_alone(compiler, [*STRICT, *include_flags], header) for header in public]
        elif what == "templates":
            templates = [*(root / "templates").glob("*.cuh"), *(root / "tests/golden").glob("*.cu")]
            results += [template_alone(compiler, root, template) for template in sorted(templates)]
        else:
            results.append(refuses_bad_samples(compiler, root, include_flags))
    print(f"{what}: {sum(results)} of {len(results)} as they should be")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
