"""What hotgemm does to a process, and what it finds there."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import textwrap

import pytest

import hotgemm
from hotgemm import _library

PATHS = os.pathsep.join([str(pathlib.Path(hotgemm.__file__).parents[1]), str(pathlib.Path(__file__).parent)])


def python(program, expect=0, **variables):
    """Runs a program in another process, and returns what it prints."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": PATHS, **variables}, check=False)
    assert done.returncode == expect, done.stderr
    return done.stdout


LOADED = """
    def loaded():
        return [line.split()[-1] for line in open("/proc/self/maps") if ".so" in line]
    """


def test_import_opens_no_library():
    printed = python(LOADED + """
    import hotgemm, sys
    print([name for name in loaded() if any(part in name for part in ("hotgemm", "cuda", "nvrtc", "cublas"))])
    print([name for name in ("numpy", "torch", "cupy", "logging", "subprocess") if name in sys.modules])
    """, HOTGEMM_LIBCUDA="/nowhere/libcuda.so")
    assert printed == "[]\n[]\n"


def test_the_library_opens_no_library_of_nvidia_before_it_needs_one():
    printed = python(LOADED + """
    import hotgemm
    hotgemm.version()
    hotgemm.stats()
    print([name for name in loaded() if any(part in name for part in ("libcuda", "nvrtc", "cublas"))])
    """)
    assert printed == "[]\n"


def test_the_version_is_that_of_the_header():
    header = (pathlib.Path(__file__).parents[2] / "include/hotgemm/version.h").read_text()
    numbers = [line.split()[-1] for line in header.splitlines() if line.startswith("#define HOTGEMM_VERSION_M")
               or line.startswith("#define HOTGEMM_VERSION_P")]
    assert hotgemm.__version__ == hotgemm.version() == ".".join(numbers)
    with pytest.raises(AttributeError, match="matmull"):
        hotgemm.matmull


def test_import_is_fast():
    program = """
    import time, ctypes
    begin = time.process_time()
    import hotgemm
    print(time.process_time() - begin)
    """
    assert min(float(python(program)) for _ in range(3)) < 0.15


def test_children_of_fork_get_an_error():
    python("""
    import os, hotgemm, device
    a, b, out = device.integers((8, 8)), device.integers((8, 8)), device.empty((8, 8))
    hotgemm.matmul(a, b, out)
    child = os.fork()
    if child == 0:
        try:
            hotgemm.matmul(a, b, out)
        except hotgemm.Forked as error:
            os._exit(7 if error.code == "forked" else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    """)


def test_children_of_fork_may_use_it_first():
    python("""
    import os, hotgemm
    hotgemm.version()
    child = os.fork()
    if child == 0:
        import device, numpy as np
        a, b, out = device.integers((8, 8)), device.integers((8, 8)), device.empty((8, 8))
        hotgemm.matmul(a, b, out)
        os._exit(0 if np.array_equal(out.values, a.values @ b.values) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    """)


def test_children_of_a_parent_that_only_compiled_may_use_it():
    """NVRTC does not touch the GPU. The thread of the background is the child's own, which ends it."""
    python("""
    import os, sys, hotgemm
    assert hotgemm.prewarm("24 24 24 nn f16", "sm_86", jobs=1).compiled == 1
    child = os.fork()
    if child == 0:
        import device, numpy as np
        context = hotgemm.Context(policy="background")
        a, b, out = device.integers((8, 8)), device.integers((8, 8)), device.empty((8, 8))
        for _ in range(3):
            hotgemm.matmul(a, b, out, context=context)
        sys.exit(0 if np.array_equal(out.values, a.values @ b.values) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    """)


def test_a_process_ends_while_the_background_works():
    """A thread of the library logs when the interpreter is gone."""
    python("""
    import hotgemm, device
    hotgemm.set_log_level("debug")
    a, b, out = device.integers((64, 64)), device.integers((64, 64)), device.empty((64, 64))
    context = hotgemm.Context(policy="background")
    for _ in range(100):
        hotgemm.matmul(a, b, out, context=context)
    """)


def test_ctrl_c_stops_a_prewarm():
    program = """
    import hotgemm, signal, sys
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the parent may ignore it
    try:
        hotgemm.prewarm([f"64 64 64 {layout} {kind}" for layout in ("nn", "nt", "tn", "tt") for kind in ("f16", "bf16")],
                        ["sm_80", "sm_86", "sm_89", "sm_90a"], jobs=1,
                        progress=lambda done, total: print(done, total, flush=True))
    except KeyboardInterrupt:
        sys.exit(40)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTHONPATH": PATHS}) as child:
        done, total = map(int, child.stdout.readline().split())
        child.send_signal(signal.SIGINT)
        later = child.stdout.read().splitlines()
    assert child.returncode == 40 and done == 1 and len(later) < total / 2


# ---- NVIDIA's wheels ----


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A directory of packages in front of all others, and a process that has loaded no library of NVIDIA."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(_library, "_is_loaded", lambda name: False)
    for name in ("HOTGEMM_LIBNVRTC", "HOTGEMM_LIBCUBLAS", "HOTGEMM_LIBCUBLASLT", "LD_LIBRARY_PATH"):
        monkeypatch.delenv(name, raising=False)

    def add(path):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
        return str(tmp_path / path)

    return add


def test_libraries_are_found_in_wheels(packages, monkeypatch):
    assert _library.from_wheels() == {}
    old = packages("nvidia/cuda_nvrtc/lib/libnvrtc.so.12")
    packages("nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.8")
    assert _library.from_wheels() == {}  # too old
    packages("nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.9")
    assert _library.from_wheels() == {"libnvrtc": old}
    new = packages("nvidia/cu13/lib/libnvrtc.so.13")
    packages("nvidia/cu13/lib/libnvrtc-builtins.so.13.2")
    blas = packages("nvidia/cu13/lib/libcublas.so.13")
    assert _library.from_wheels() == {"libnvrtc": new, "libcublas": blas}
    environment = _library.command_environment()
    assert (environment["HOTGEMM_LIBNVRTC"], environment["HOTGEMM_LIBCUBLAS"]) == (new, blas)
    monkeypatch.setenv("HOTGEMM_LIBNVRTC", "/mine.so")
    assert _library.from_wheels() == {"libcublas": blas}
    assert _library.command_environment()["HOTGEMM_LIBNVRTC"] == "/mine.so"


def test_loaded_libraries_and_the_library_path_come_before_wheels(packages, monkeypatch, tmp_path):
    packages("nvidia/cu13/lib/libnvrtc.so.13")
    packages("nvidia/cu13/lib/libnvrtc-builtins.so.13.2")
    assert "libnvrtc" in _library.from_wheels()
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path / "cuda"))
    assert "libnvrtc" in _library.from_wheels()
    packages("cuda/libnvrtc.so.12")
    assert "libnvrtc" not in _library.from_wheels()
    monkeypatch.delenv("LD_LIBRARY_PATH")
    monkeypatch.setattr(_library, "_is_loaded", lambda name: name == "libnvrtc")
    assert "libnvrtc" not in _library.from_wheels()


def test_loaded_libraries_are_recognised():
    assert not _library._is_loaded("libhotgemm_of_nobody")
    hotgemm.version()
    assert _library._is_loaded("libc") is False  # libc.so.13 is not libc.so.6
    _library_majors, _library._MAJORS = _library._MAJORS, (6,)
    try:
        assert _library._is_loaded("libc") is True
    finally:
        _library._MAJORS = _library_majors


@pytest.mark.parametrize("seconds", (0, 0.1, 0.2, 0.4, 0.8))
def test_a_process_may_end_while_a_thread_of_the_library_compiles(seconds, tmp_path):
    """The thread opens NVRTC, whose destructors are registered after the handler that stops the thread."""
    python(f"""
    import time
    import hotgemm
    import device
    for n in range(64, 96):
        a, b, out = (device.empty(shape) for shape in ((64, 8 * n), (8 * n, n), (64, n)))
        try:
            hotgemm.matmul(a, b, out, only="prepared", prepare_later=True)
        except hotgemm.NotPrepared:
            pass
    time.sleep({seconds})
    """, HOTGEMM_CACHE_DIR=str(tmp_path))


# ---- the command ----


@pytest.fixture
def command():
    return shutil.which("hotgemm") or pytest.skip("the command is not built")


def test_python_becomes_the_command(command):
    done = subprocess.run([sys.executable, "-m", "hotgemm", "--version"], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": PATHS})
    assert done.stdout.splitlines()[0] == f"hotgemm {hotgemm.version()}"
    done = subprocess.run([sys.executable, "-m", "hotgemm", "bogus"], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": PATHS})
    assert done.returncode == 1 and "bogus" in done.stderr


def test_no_command(tmp_path):
    done = subprocess.run([sys.executable, "-m", "hotgemm", "--version"], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": PATHS, "PATH": str(tmp_path)})
    assert done.returncode == 1 and "there is no command `hotgemm`" in done.stderr


def test_bench_is_that_of_the_command(command, monkeypatch):
    monkeypatch.setenv("HOTGEMM_STANDIN_SCRIPT", "hotgemm_=speed:50")
    result = hotgemm.bench("64 64 64 nn f16", "--rounds", "3", "--round-us", "100", "--no-baseline", "--policy", "estimate")
    row, = result["results"]
    assert row["problem"].startswith("64 64 64 nn f16")
    with pytest.raises(subprocess.CalledProcessError) as raised:
        hotgemm.bench("64 64 64 nn f19")
    assert "f19" in raised.value.stderr
