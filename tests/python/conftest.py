"""Runs the tests with a cache of their own."""

import os

import pytest

import hotgemm


def pytest_sessionstart():
    if "HOTGEMM_LIBCUDA" not in os.environ:
        pytest.exit("run the tests by run.py, which ctest does", returncode=4)


@pytest.fixture(scope="session", autouse=True)
def process(tmp_path_factory):
    """The caches of this process are empty, no record ships, and nothing is measured but on request."""
    os.environ.update(HOTGEMM_CACHE_DIR=str(tmp_path_factory.mktemp("cache")), HOTGEMM_SHIPPED_RECORDS="off",
                      HOTGEMM_TUNE="never", HOTGEMM_LIBCUBLAS="/nowhere/libcublas.so")
    try:
        hotgemm.prewarm("16 16 16 nn f16", "sm_80", jobs=1)
    except hotgemm.NoCompiler as error:
        pytest.exit(f"skipped: {error}", returncode=77)
