"""Where libhotgemm.so, the command and NVIDIA's libraries lie.

A wheel has hotgemm/lib/libhotgemm.so and hotgemm/bin/hotgemm. A package without them, as a system's is, takes the
library that the loader finds, and the command in PATH.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SONAME = "libhotgemm.so.0.1"
_OLDEST_NVRTC = (12, 9)
# The directories of NVIDIA's wheels in site-packages: CUDA 13 has one for all, CUDA 12 one for each library.
_WHEEL_DIRECTORIES = {"libnvrtc": ("nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"),
                      "libcublas": ("nvidia/cu13/lib", "nvidia/cublas/lib"),
                      "libcublasLt": ("nvidia/cu13/lib", "nvidia/cublas/lib")}
_MAJORS = (13, 12)


def _in_package(path: str) -> str | None:
    # An editable install has two directories: the sources, and what was built.
    for directory in sys.modules[__package__].__path__:
        found = os.path.join(directory, path)
        if os.path.exists(found):
            return found
    return None


def open_library() -> ctypes.CDLL:
    """Loads libhotgemm.so, which loads no library of NVIDIA."""
    path = _in_package("lib/libhotgemm.so") or _SONAME
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"libhotgemm.so cannot be loaded: {error}. A wheel of hotgemm has it; a checkout has it after "
                          f"`pip install .`, or in LD_LIBRARY_PATH") from error


def adapter_path() -> str:
    """The path, or the name, of the adapter for PyTorch."""
    return _in_package("lib/libhotgemm_torch.so") or "libhotgemm_torch.so"


def in_torch(torch: Any, name: str) -> str:
    """The path of a library of PyTorch."""
    return os.path.join(os.path.dirname(torch.__file__), "lib", name)


def command() -> str:
    """The path of the program `hotgemm`."""
    found = _in_package("bin/hotgemm") or shutil.which("hotgemm")
    if found is None or os.path.realpath(found) == os.path.realpath(sys.argv[0]):  # the latter is the script that asks
        raise FileNotFoundError("there is no command `hotgemm`, neither in the package nor in PATH")
    return found


def command_environment() -> dict[str, str]:
    """The environment for the command: it finds NVIDIA's wheels by it."""
    found = {_variable(name): path for name, path in from_wheels().items()}
    return {**os.environ, **found}


def from_wheels() -> dict[str, str]:
    """The libraries that hotgemm would not find by itself: those of NVIDIA's wheels, by name ("libnvrtc").

    A variable such as HOTGEMM_LIBNVRTC, a library that is loaded already, as by torch, and one in LD_LIBRARY_PATH come
    before wheels; a toolkit of the system comes behind.
    """
    found = {}
    for name in _WHEEL_DIRECTORIES:
        if not os.environ.get(_variable(name)) and not _is_loaded(name) and not _is_in_library_path(name):
            path = _in_wheels(name)
            if path is not None:
                found[name] = path
    return found


def _variable(name: str) -> str:
    return "HOTGEMM_" + name.upper()


def _files(name: str) -> list[str]:
    return [f"{name}.so.{major}" for major in _MAJORS]


def _is_loaded(name: str) -> bool:
    for file in _files(name):
        try:
            ctypes.CDLL(file, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
        except OSError:
            continue
        return True
    return False


def _is_in_library_path(name: str) -> bool:
    directories = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    return any(os.path.exists(os.path.join(directory, file))
               for directory in directories if directory for file in _files(name))


def _in_wheels(name: str) -> str | None:
    for directory in _WHEEL_DIRECTORIES[name]:
        for packages in sys.path:
            for file in _files(name):
                path = os.path.join(packages, directory, file)
                if os.path.isabs(path) and os.path.exists(path) and (name != "libnvrtc" or _is_new_enough(path)):
                    return path
    return None


def _is_new_enough(nvrtc: str) -> bool:
    """Whether the NVRTC at this path is of version 12.9 or later. The file beside it has the version in its name."""
    for file in os.listdir(os.path.dirname(nvrtc)):
        match = re.fullmatch(r"libnvrtc-builtins\.so\.(\d+)\.(\d+)", file)
        if match and (int(match[1]), int(match[2])) >= _OLDEST_NVRTC:
            return True
    return False
