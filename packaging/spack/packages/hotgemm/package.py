import pathlib

from spack.package import *


class Hotgemm(CMakePackage):
    """GEMM kernels for NVIDIA GPUs, generated, compiled and tuned at run time.

    The recipe builds the checkout that it lies in: spack repo add packaging/spack && spack install hotgemm"""

    git = pathlib.Path(__file__).resolve().parents[4].as_uri()
    license("Apache-2.0")
    version("main", branch="main")

    variant("shared", default=True, description="Build libhotgemm.so, the C interface, beside the static library")
    variant("command", default=True, description="Build the hotgemm command")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("cuda@12.9:")
    depends_on("fmt@9:")
    depends_on("spdlog@1.10:")
    depends_on("nlohmann-json@3.11:")
    depends_on("openssl@3:")
    depends_on("cli11@2.1:", when="+command")

    def cmake_args(self):
        return [
            self.define_from_variant("HOTGEMM_BUILD_SHARED", "shared"),
            self.define_from_variant("HOTGEMM_BUILD_COMMAND", "command"),
            self.define("HOTGEMM_BUILD_EMULATE", False),
            self.define("HOTGEMM_BUILD_TESTS", False),
            self.define("HOTGEMM_OFFLINE", True),
        ]
