"""The parts of a wheel find each other, wherever it is unpacked."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import hotgemm


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """A directory like site-packages, with the package and what the build tree adds to it."""
    cmake = shutil.which("cmake") or pytest.skip("no cmake")
    build = pathlib.Path(os.environ["HOTGEMM_BUILD_DIRECTORY"])
    packages = tmp_path_factory.mktemp("site-packages")
    package = packages / "hotgemm"
    shutil.copytree(pathlib.Path(hotgemm.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([cmake, "--install", build, "--component", "wheel", "--prefix", package],
                   check=True, capture_output=True)
    return packages


def run(unpacked, *words):
    """Runs Python as a user's machine would: nothing but the wheel knows where hotgemm is."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("LD_LIBRARY_PATH", "HOTGEMM_SHIPPED_RECORDS")}
    environment.update(PYTHONPATH=str(unpacked), PATH="/usr/bin:/bin")
    return subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=True).stdout


def test_the_package_has_its_own_library(unpacked):
    printed = run(unpacked, "-c", "import hotgemm\nhotgemm.version()\nprint([line.split()[-1] for line in "
                                  "open('/proc/self/maps') if 'libhotgemm.so' in line][0])")
    assert printed == f"{unpacked}/hotgemm/lib/libhotgemm.so\n"


def test_the_command_is_in_the_package_and_has_the_records(unpacked):
    told = json.loads(run(unpacked, "-m", "hotgemm", "info", "--json"))
    assert told["records"]["shipped"] == f"{unpacked}/hotgemm/share/hotgemm/cache" and told["records"]["count"] > 100


def test_a_wheel_can_hold_all_of_it(unpacked):
    package = unpacked / "hotgemm"
    assert not [path for path in package.rglob("*") if path.is_symlink()]
    names = {path.name for path in package.iterdir() if path.suffix != ".py"} - {"__pycache__"}
    assert names == {"bin", "lib", "py.typed", "share", "torch"}
