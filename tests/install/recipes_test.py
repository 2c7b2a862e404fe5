#!/usr/bin/env python3
"""Checks the recipes of packaging/ without their tools: that they can be read, and agree with CMakeLists.txt."""

import ast
import json
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
RECIPES = {
    "vcpkg": ("vcpkg/hotgemm/portfile.cmake", "vcpkg/hotgemm/vcpkg.json"),
    "conan": ("conan/conanfile.py",),
    "spack": ("spack/packages/hotgemm/package.py",),
}
# The library and the command are linked with these or compiled against them, beside CUDA's headers.
DEPENDENCIES = ("openssl", "fmt", "spdlog", "nlohmann", "cli11")


def text_of(recipe):
    return "\n".join((PACKAGING / name).read_text(encoding="utf-8") for name in RECIPES[recipe])


class RecipesTest(unittest.TestCase):
    def test_python_can_be_parsed(self):
        for path in [*(PACKAGING / "conan").rglob("*.py"), *(PACKAGING / "spack").rglob("*.py")]:
            ast.parse(path.read_text(encoding="utf-8"), str(path))

    def test_the_version_is_that_of_the_headers(self):
        header = (ROOT / "include/hotgemm/version.h").read_text(encoding="utf-8")
        version = ".".join(re.findall(r"#define HOTGEMM_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))
        port = json.loads((PACKAGING / "vcpkg/hotgemm/vcpkg.json").read_text(encoding="utf-8"))
        self.assertEqual(port["version"], version)

    def test_options_exist(self):
        lists = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        options = set(re.findall(r"^option\((HOTGEMM_\w+)", lists, re.M))
        for recipe in RECIPES:
            with self.subTest(recipe):
                used = set(re.findall(r"HOTGEMM_(?!VERSION_)[A-Z_]+\b", text_of(recipe)))
                self.assertGreaterEqual(used, {"HOTGEMM_BUILD_TESTS", "HOTGEMM_OFFLINE"})
                self.assertEqual(used - options, set())

    def test_each_has_all_dependencies(self):
        lists = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8").lower()
        for dependency in DEPENDENCIES:
            self.assertRegex(lists, rf"(find_package\(|package .*\b){dependency}")
            for recipe in RECIPES:
                self.assertRegex(text_of(recipe), rf"[\"']{dependency}", f"{recipe} lacks {dependency}")

    def test_conan_exports_what_is_there(self):
        exported = re.search(r"for pattern in \((.*?)\)", text_of("conan"), re.S)
        for pattern in ast.literal_eval(f"({exported.group(1)},)"):
            self.assertTrue(any(ROOT.glob(pattern)), f"there is no {pattern}")


if __name__ == "__main__":
    unittest.main()
