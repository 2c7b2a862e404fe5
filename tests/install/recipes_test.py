#!/usr/bin/env python3
"""Checks the recipes of packaging/ without their tools: that they can be read, and agree with CMakeLists.txt."""

import ast
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import types
import unittest
from unittest import mock

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


class Components(dict):
    def __missing__(self, name):
        self[name] = types.SimpleNamespace(libs=[], libdirs=["lib"], requires=[], system_libs=[],
                                           set_property=lambda *_: None)
        return self[name]


def conan_package(folder, shared):
    """The components of Conan's recipe, whose package is made in a folder: of files that are empty, without Conan."""
    def install(_):
        for name in ("libhotgemm.a", *["libhotgemm.so"] * shared):
            (folder / "lib").mkdir(exist_ok=True)
            (folder / "lib" / name).touch()

    tools = {"build": ("check_min_cppstd",), "cmake": ("CMakeDeps", "CMakeToolchain", "cmake_layout"), "files": ("copy", "load")}
    modules = {f"conan.tools.{name}": types.SimpleNamespace(**dict.fromkeys(names)) for name, names in tools.items()}
    modules["conan.tools.build"].stdcpp_library = lambda _: "stdc++"
    modules["conan.tools.cmake"].CMake = lambda recipe: types.SimpleNamespace(install=lambda: install(recipe))
    vars(modules["conan.tools.files"]).update(copy=lambda *_: None, mkdir=lambda _, path: pathlib.Path(path).mkdir(),
                                              rename=lambda _, old, new: shutil.move(old, new), rmdir=lambda *_: None)
    with mock.patch.dict("sys.modules", {"conan": types.SimpleNamespace(ConanFile=object), **modules}):
        spec = importlib.util.spec_from_file_location("conanfile", PACKAGING / "conan/conanfile.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    recipe = module.HotgemmRecipe()
    recipe.source_folder, recipe.package_folder = str(ROOT), str(folder)
    recipe.options = types.SimpleNamespace(shared=shared, command=True)
    recipe.cpp_info = types.SimpleNamespace(components=Components())
    recipe.package()
    recipe.package_info()
    return recipe.cpp_info.components


def conan_requirements():
    """The packages that Conan's recipe makes its consumers require, with the command too."""
    source = ast.parse(text_of("conan"))
    calls = [node for node in ast.walk(source) if isinstance(node, ast.Call) and ast.unparse(node.func) == "self.requires"]
    return {ast.literal_eval(call.args[0]).partition("/")[0] for call in calls
            if not any(word.arg == "visible" for word in call.keywords)}


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

    def test_conan_exports_what_is_installed(self):
        exported = re.search(r"for pattern in \((.*?)\)", text_of("conan"), re.S)
        patterns = ast.literal_eval(f"({exported.group(1)},)")
        rules = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "cmake").glob("*.cmake")))
        for path in re.findall(r"install\(\s*(?:DIRECTORY|FILES|PROGRAMS) ([\w./-]+)", rules):
            self.assertTrue(any((path + "/").startswith(pattern.rstrip("*")) for pattern in patterns), f"{path} is not exported")

    def test_quickstart_looks_at_all_sources_of_the_wheel(self):
        script = (ROOT / "tools/quickstart").read_text(encoding="utf-8")
        looked_at = tuple(f"{path}/" for path in re.search(r"local sources=\((.*)\)", script).group(1).split())
        commands = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        for path in re.findall(r"\b((?:src|tools|cmake|packaging)/[\w/]*\w)(?=[/\s.)$])", commands):
            if not path.startswith("tools/fit_model"):  # it is in no wheel
                self.assertTrue(f"{path}/".startswith(looked_at), path)

    def test_conan_names_libraries_that_cmake_finds(self):
        for shared in (False, True):
            with self.subTest(shared=shared), tempfile.TemporaryDirectory() as name:
                components = conan_package(pathlib.Path(name), shared)
                wanted = {"hotgemm": "libhotgemm.a", **({"c": "libhotgemm.so"} if shared else {})}
                self.assertEqual({each for each, component in components.items() if component.libs}, set(wanted))
                for each, file in wanted.items():
                    directories = " ".join(f'"{name}/{path}"' for path in components[each].libdirs)
                    script = pathlib.Path(name) / "find.cmake"
                    script.write_text('set(CMAKE_FIND_LIBRARY_PREFIXES lib)\nset(CMAKE_FIND_LIBRARY_SUFFIXES .so .a)\n'
                                      f'find_library(found NAMES {components[each].libs[0]} PATHS {directories} '
                                      'NO_DEFAULT_PATH)\nmessage("${found}")\n', encoding="utf-8")
                    found = subprocess.run(["cmake", "-P", script], stderr=subprocess.PIPE, text=True, check=True).stderr
                    self.assertEqual(pathlib.Path(found.strip()).name, file)

    def test_conan_gives_each_requirement_to_a_library(self):
        with tempfile.TemporaryDirectory() as name:
            components = conan_package(pathlib.Path(name), False)
        used = {each.partition("::")[0] for component in components.values() for each in component.requires if "::" in each}
        self.assertEqual(conan_requirements(), used)  # or Conan ends in an error

    def test_programs_in_c_get_the_library_of_cxx(self):
        with tempfile.TemporaryDirectory() as name:
            self.assertIn("stdc++", conan_package(pathlib.Path(name), False)["hotgemm"].system_libs)

    def test_spack_has_a_compiler_for_each_language(self):
        languages = re.search(r"^project\(.*LANGUAGES ([A-Z ]+)\)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), re.M)
        for language in languages.group(1).lower().split():
            self.assertIn(f'depends_on("{language}", type="build")', text_of("spack"))


if __name__ == "__main__":
    unittest.main()
