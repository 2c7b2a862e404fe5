#!/usr/bin/env python3
"""Runs the tests of the Python package with what a build tree has. Exit status 77: they cannot be run here, and why.

run.py --library LIBHOTGEMM.SO --command HOTGEMM --build BUILD_DIRECTORY [--standin LIBCUDA] [words for pytest]

Without --standin they run on the GPU, in managed memory.
"""

import argparse
import ctypes
import os
import pathlib
import subprocess
import sys

DRIVER = "libcuda.so.1"
HERE = pathlib.Path(__file__).resolve().parent


def has_gpu():
    try:
        return ctypes.CDLL(DRIVER).cuInit(0) == 0
    except OSError:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("library", "command", "build"):
        parser.add_argument(f"--{name}", required=True, type=pathlib.Path)
    parser.add_argument("--standin")
    arguments, words = parser.parse_known_args()
    if arguments.standin is None and not has_gpu():
        print("skipped: no GPU")
        return 77
    # A virtual environment may lack what the system's Python has.
    pythons = [python for python in dict.fromkeys((sys.executable, "/usr/bin/python3")) if os.path.exists(python)]
    able = [python for python in pythons
            if subprocess.run([python, "-c", "import pytest, numpy"], capture_output=True, check=False).returncode == 0]
    if not able:
        print(f"skipped: {' and '.join(pythons)} cannot import pytest and numpy; tools/setup installs them")
        return 77
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("HOTGEMM_") or name == "HOTGEMM_LIBNVRTC"}
    environment.update(
        PYTHONPATH=os.pathsep.join([str(HERE.parents[1] / "packaging/python"), str(HERE)]), PYTHONDONTWRITEBYTECODE="1",
        LD_LIBRARY_PATH=os.pathsep.join(filter(None, [str(arguments.library.parent), os.environ.get("LD_LIBRARY_PATH")])),
        PATH=os.pathsep.join([str(arguments.command.parent), os.environ["PATH"]]), HOTGEMM_LIBCUDA=arguments.standin or DRIVER,
        HOTGEMM_BUILD_DIRECTORY=str(arguments.build))
    return subprocess.run([able[0], "-m", "pytest", "-q", "-p", "no:cacheprovider", *(words or [str(HERE)])],
                          env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
