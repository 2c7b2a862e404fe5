#!/usr/bin/env python3
"""Makes the Debian packages of a build tree, and looks at what they hold and say.

CleanDebianTest, under HOTGEMM_TEST_FULL=1, as root and where debootstrap is, installs them in a clean Debian 12, and
builds and runs programs there with nothing but the packages and what they depend on."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
# pylint: disable-next=wrong-import-position
from container_build_test import Image, make_debian_root, run

ARGUMENTS = argparse.Namespace()
LIBRARY, DEVELOPMENT, COMMAND, RECORDS = "libhotgemm0.1", "libhotgemm-dev", "hotgemm", "hotgemm-records"
INTERPOSER = "hotgemm-cublas"
ALL = (LIBRARY, DEVELOPMENT, COMMAND, RECORDS, INTERPOSER)


class PackagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for tool in ("dpkg-deb", "dpkg-shlibdeps", "file", "gzip", "readelf"):  # cpack runs `file` too
            if shutil.which(tool) is None:
                raise unittest.SkipTest(f"it needs {tool}")
        directory = tempfile.TemporaryDirectory(prefix="hotgemm-debian-")
        cls.addClassCleanup(directory.cleanup)
        cls.path = pathlib.Path(directory.name)
        cls.path.chmod(0o755)
        # zstd, because xz takes most of a minute for the static library of a debug build.
        try:
            run(ARGUMENTS.cpack, "--config", f"{ARGUMENTS.build}/CPackConfig.cmake", "-B", cls.path, "-D",
                "CPACK_DEBIAN_COMPRESSION_TYPE=zstd")
        except AssertionError as error:
            # Libraries that no package of this machine owns, such as a fmt in /usr/local.
            unowned = re.search("no dependency information found for .*", str(error))
            if unowned is None:
                raise
            raise unittest.SkipTest(f"the build is linked with a library of no package: {unowned[0]}") from error
        cls.files = {path.name.split("_")[0]: path for path in cls.path.glob("*.deb")}


class DebianTest(PackagesTest):
    def field(self, package, name):
        return run("dpkg-deb", "--field", self.files[package], name).strip()

    def contents(self, package):
        """The paths of a package, without directories, with what links point to."""
        lines = run("dpkg-deb", "--contents", self.files[package]).splitlines()
        return {line.split(None, 5)[5].removeprefix(".") for line in lines if not line.startswith("d")}

    def assert_holds(self, package, pattern):
        contents = sorted(self.contents(package))
        self.assertTrue(any(re.fullmatch(pattern, path) for path in contents), f"{package} lacks {pattern}: {contents}")

    def test_there_is_one_of_each_component(self):
        self.assertEqual(sorted(self.files), sorted(ALL))

    def test_they_say_what_they_are(self):
        summaries = set()
        for package in ALL:
            with self.subTest(package):
                description = self.field(package, "Description").splitlines()
                self.assertGreater(len(description), 4)
                self.assertLess(max(map(len, description)), 82)
                summaries.add(description[0])
                self.assertRegex(self.field(package, "Maintainer"), r"^.+ <\S+@\S+>$")
                self.assertRegex(self.field(package, "Version"), r"^\d+\.\d+\.\d+-\d+$")
                self.assert_holds(package, f"/usr/share/doc/{package}/copyright")
                self.assert_holds(package, f"/usr/share/doc/{package}/changelog.Debian.gz")
        self.assertEqual(len(summaries), len(ALL))
        self.assertEqual(self.field(RECORDS, "Architecture"), "all")

    def test_they_depend_on_what_they_need(self):
        version = re.escape(self.field(LIBRARY, "Version"))
        self.assertRegex(self.field(DEVELOPMENT, "Depends"), rf"\b{LIBRARY} \(= {version}\)")
        self.assertRegex(self.field(DEVELOPMENT, "Depends"), r"\blibssl-dev\b")
        self.assertRegex(self.field(INTERPOSER, "Depends"), rf"\b{LIBRARY} \(= {version}\)")
        for package in (LIBRARY, COMMAND):
            self.assertRegex(self.field(package, "Depends"), r"\blibc6\b")
            self.assertRegex(self.field(package, "Depends"), r"\blibstdc\+\+6\b")
            self.assertIn(RECORDS, self.field(package, "Recommends"))

    def test_they_hold_what_they_should(self):
        self.assert_holds(LIBRARY, r"/usr/lib/(\S+/)?libhotgemm\.so\.0\.1 -> libhotgemm\.so\.0\.1\.\d+")
        for path in self.contents(LIBRARY):  # nothing that two versions would both have
            self.assertRegex(path, rf"libhotgemm\.so\.0\.1|/usr/share/doc/{LIBRARY}/")
        for pattern in (r"/usr/lib/(\S+/)?libhotgemm\.so -> \S+", r"/usr/lib/(\S+/)?libhotgemm\.a",
                        r"/usr/lib/(\S+/)?pkgconfig/hotgemm\.pc", r"/usr/lib/(\S+/)?cmake/hotgemm/hotgemmConfig\.cmake",
                        r"/usr/include/hotgemm/hotgemm\.h", r"/usr/include/hotgemm/hotgemm\.hpp"):
            self.assert_holds(DEVELOPMENT, pattern)
        self.assert_holds(COMMAND, "/usr/bin/hotgemm")
        self.assert_holds(INTERPOSER, r"/usr/lib/(\S+/)?libhotgemm_cublas\.so")
        self.assert_holds(RECORDS, r"/usr/share/hotgemm/cache/\S+\.jsonl")
        for pattern in (r"man/man1/hotgemm\.1\.gz", r"man/man1/hotgemm-tune\.1\.gz", "bash-completion/completions/hotgemm",
                        "zsh/vendor-completions/_hotgemm", r"fish/vendor_completions\.d/hotgemm\.fish",
                        r"hotgemm/json/bench\.json"):
            self.assert_holds(COMMAND, "/usr/share/" + pattern)

    def test_the_linker_learns_of_the_library(self):
        self.assertIn("activate-noawait ldconfig", run("dpkg-deb", "--info", self.files[LIBRARY], "triggers"))
        self.assertRegex(run("dpkg-deb", "--info", self.files[LIBRARY], "shlibs"), rf"libhotgemm 0\.1 {LIBRARY} \(>= ")

    def extracted(self):
        root = self.path / "root"
        if not root.exists():
            for package in ALL:
                run("dpkg-deb", "--extract", self.files[package], root)
        return root

    def test_binaries_are_stripped_and_have_no_run_path(self):
        root = self.extracted()
        for file in (root / "usr/bin/hotgemm", *root.glob("usr/lib/**/libhotgemm.so.0.1")):
            sections = run("readelf", "-SdW", file)
            self.assertNotIn(".debug_info", sections)
            self.assertNotRegex(sections, r"R(UN)?PATH")

    def test_a_program_is_built_against_the_extracted_packages(self):
        if shutil.which("pkg-config") is None:
            self.skipTest("it needs pkg-config")
        root = self.extracted()
        library = next(root.glob("usr/lib/**/libhotgemm.so.0.1")).parent
        flags = run("pkg-config", "--cflags", "--libs", "hotgemm",
                    env={**os.environ, "PKG_CONFIG_PATH": str(library / "pkgconfig")}).split()
        program = self.path / "program"
        run("cc", "-std=c99", HERE / "c_app/main.c", "-o", program, *flags)
        self.assertEqual(run(program, env={"LD_LIBRARY_PATH": str(library)}).strip(),
                         self.field(LIBRARY, "Version").split("-")[0])


class CleanDebianTest(PackagesTest):
    @classmethod
    def setUpClass(cls):
        if os.environ.get("HOTGEMM_TEST_FULL") != "1":
            raise unittest.SkipTest("HOTGEMM_TEST_FULL is not set")
        if os.geteuid() != 0 or shutil.which("debootstrap") is None:
            raise unittest.SkipTest("it needs root and debootstrap")
        super().setUpClass()

    def test_they_work_there(self):
        root = self.path / "debian"
        make_debian_root(root)
        image = Image(root)
        image.copy(self.files.values(), "/packages/")
        image.copy([HERE / "app"], "/cxx")
        image.copy([HERE / "c_app"], "/c")
        apt = "apt-get install -y --no-install-recommends"
        # The library first, and alone: the linker must know it without a further step.
        image.execute(["sh", "-c", f"apt-get update && {apt} gcc libc6-dev /packages/{LIBRARY}_*.deb"])
        self.assertIn("libhotgemm.so.0.1", image.execute(["ldconfig", "-p"]))
        image.execute(["sh", "-c", f"{apt} g++ cmake make pkg-config /packages/*.deb"])
        image.execute(["sh", "-c", "cc -std=c99 /c/main.c -o /c/program $(pkg-config --cflags --libs hotgemm) && /c/program"])
        for project in ("/c", "/cxx"):
            image.execute(["sh", "-c", f"cmake -S {project} -B {project}/build && cmake --build {project}/build && "
                           f"{project}/build/app"])
        self.assertIn("/usr/share/hotgemm/cache", image.execute(["hotgemm", "info", "--json"]))
        image.execute(["dpkg", "--remove", *ALL])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--cpack", required=True)
    ARGUMENTS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
