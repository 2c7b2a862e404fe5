"""Builds the checkout that it lies in: conan create packaging/conan --build=missing -s compiler.cppstd=20

A CUDA toolkit (12.9 or later) is no package of Conan; its headers must be on the machine that builds."""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd, stdcpp_library
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, mkdir, rename, rmdir

ROOT = os.path.join("..", "..")


class HotgemmRecipe(ConanFile):
    name = "hotgemm"
    description = "GEMM kernels for NVIDIA GPUs, generated, compiled and tuned at run time"
    license = "Apache-2.0"
    topics = ("cuda", "gemm", "jit", "blas")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "command": [True, False]}
    default_options = {"shared": False, "command": False}

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, ROOT, "include", "hotgemm", "version.h"))
        self.version = ".".join(re.findall(r"#define HOTGEMM_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*", "templates/*", "cache/*", "docs/json/*",
                        "tools/command/*", "tools/fit_model/*", "packaging/debian/*", "packaging/python/*"):
            copy(self, pattern, os.path.join(self.recipe_folder, ROOT), self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)

    def requirements(self):
        self.requires("fmt/[>=9 <13]", transitive_libs=True)  # libhotgemm.a needs it, also beside libhotgemm.so
        self.requires("nlohmann_json/[>=3.11 <4]")
        self.requires("spdlog/[>=1.10 <2]", options={"header_only": True})
        self.requires("openssl/[>=3 <4]", transitive_libs=True)
        if self.options.command:
            self.requires("cli11/[>=2.1 <3]", visible=False)  # no library has it

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "HOTGEMM_BUILD_SHARED": bool(self.options.shared),
            "HOTGEMM_BUILD_COMMAND": bool(self.options.command),
            "HOTGEMM_BUILD_EMULATE": False,
            "HOTGEMM_BUILD_TESTS": False,
            "HOTGEMM_OFFLINE": True,
            "HOTGEMM_SEARCH_CUDA_OF_BUILD": False,
        })
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        for directory in ("cmake", "pkgconfig"):  # Conan's generators write these
            rmdir(self, os.path.join(self.package_folder, "lib", directory))
        if self.options.shared:  # libraries are found by name, and beside libhotgemm.so nothing finds libhotgemm.a
            mkdir(self, os.path.join(self.package_folder, "lib", "static"))
            rename(self, os.path.join(self.package_folder, "lib", "libhotgemm.a"),
                   os.path.join(self.package_folder, "lib", "static", "libhotgemm.a"))

    def package_info(self):
        cxx = self.cpp_info.components["hotgemm"]
        cxx.set_property("cmake_target_name", "hotgemm::hotgemm")
        cxx.set_property("pkg_config_name", "hotgemm-cxx")
        cxx.libs = ["hotgemm"]
        cxx.libdirs = ["lib/static"] if self.options.shared else ["lib"]
        cxx.system_libs = ["dl", "m", "pthread", stdcpp_library(self) or "stdc++"]  # the last for programs in C
        cxx.requires = ["fmt::fmt", "nlohmann_json::nlohmann_json", "openssl::crypto", "spdlog::libspdlog"]
        c = self.cpp_info.components["c"]
        c.set_property("cmake_target_name", "hotgemm::c")
        c.set_property("pkg_config_name", "hotgemm")
        if self.options.shared:
            c.libs = ["hotgemm"]
        else:
            c.requires = ["hotgemm"]
