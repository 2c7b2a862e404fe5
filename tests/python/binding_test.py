"""The binding says what the C header says."""

import ctypes
import pathlib
import re
import shutil
import subprocess

import pytest

from hotgemm import _c

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = "".join((ROOT / f"include/hotgemm/{name}.h").read_text(encoding="utf-8") for name in ("hotgemm", "prepare"))
CODE = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.S)


@pytest.fixture(scope="module")
def of_compiler(tmp_path_factory):
    """Compiles a C program that prints values of expressions, and returns them by expression."""
    compiler = shutil.which("cc") or pytest.skip("no C compiler")
    directory = tmp_path_factory.mktemp("c")

    def values(expressions, before=""):
        lines = [f'  printf("%lld\\n", (long long)({expression}));' for expression in expressions]
        (directory / "values.c").write_text("#include <hotgemm/hotgemm.h>\n#include <stdio.h>\n#include <string.h>\n"
                                            "int main(void) {\n" + before + "\n".join(lines) + "\n}\n")
        subprocess.run([compiler, "-I", ROOT / "include", directory / "values.c", "-o", directory / "values"], check=True)
        printed = subprocess.run([directory / "values"], check=True, capture_output=True, text=True).stdout.split()
        return dict(zip(expressions, map(int, printed)))

    return values


def test_numbers_are_those_of_the_header(of_compiler):
    ours = {name: number for group in _c.NUMBERS for name, number in group.items()}
    declared = {name for block in re.findall(r"\benum\s*\{(.*?)\}", CODE, re.S) for name in
                re.findall(r"HOTGEMM_(\w+)\s*=", block)}
    assert set(ours) == declared
    assert of_compiler([f"HOTGEMM_{name}" for name in ours]) == {f"HOTGEMM_{name}": ours[name] for name in ours}


def test_structs_have_the_sizes_and_offsets_of_the_header(of_compiler):
    declared = dict(re.findall(r"typedef struct hotgemm_(\w+) \{(.*?)\} hotgemm_\1;", CODE, re.S))
    assert set(_c.STRUCTS) == set(declared)
    expected = {}
    for name, kind in _c.STRUCTS.items():
        expected[f"sizeof(hotgemm_{name})"] = ctypes.sizeof(kind)
        for field, _ in kind._fields_:
            expected[f"offsetof(hotgemm_{name}, {field})"] = getattr(kind, field).offset
            expected[f"sizeof(((hotgemm_{name}*)0)->{field})"] = getattr(kind, field).size
    assert of_compiler(list(expected)) == expected


def test_structs_begin_with_the_values_of_the_header(of_compiler):
    initial = re.findall(r"#define (HOTGEMM_(\w+)_INIT)\b", CODE)
    assert {name.lower() for _, name in initial} <= set(_c.STRUCTS)
    before, words, expected = "", [], {}
    for macro, upper in initial:
        name = upper.lower()
        before += f"  hotgemm_{name} {name} = {macro};\n"
        raw = bytes(_c.STRUCTS[name]())
        for at in range(0, len(raw), 8):
            # Structs have no padding, so that every byte is a value.
            words.append(f"*(long long*)((char*)&{name} + {at})")
            expected[words[-1]] = int.from_bytes(raw[at:at + 8], "little", signed=True)
    assert of_compiler(words, before) == expected


def test_functions_take_what_the_header_says():
    declared = {name: 0 if arguments.strip() == "void" else arguments.count(",") + 1 for name, arguments in
                re.findall(r"HOTGEMM_C_API [^;{]*?\bhotgemm_(\w+)\(([^;]*)\);", CODE)}
    assert {name: len(arguments) for name, (_, arguments) in _c.FUNCTIONS.items()} == declared


def test_every_status_has_an_exception():
    import hotgemm
    codes = {name.lower() for name in _c.STATUS} - {"success"}
    exported = {getattr(hotgemm, name) for name in hotgemm.__all__}
    kinds = hotgemm.Error.__subclasses__()
    assert {kind.code for kind in kinds} == codes
    assert set(kinds) <= exported
    for kind in kinds:
        assert str(kind("why")) == "why"
