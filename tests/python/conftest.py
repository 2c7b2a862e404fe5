"""Runs the tests on the stand-in driver, with a cache of their own."""

import os

import pytest

if "HOTGEMM_LIBCUDA" not in os.environ:
    pytest.exit("set HOTGEMM_LIBCUDA to the stand-in driver; ctest does", returncode=4)


@pytest.fixture(scope="session", autouse=True)
def process(tmp_path_factory):
    """The caches of this process are empty, no record ships, and nothing is measured but on request."""
    os.environ.update(HOTGEMM_CACHE_DIR=str(tmp_path_factory.mktemp("cache")), HOTGEMM_SHIPPED_RECORDS="off",
                      HOTGEMM_TUNE="never", HOTGEMM_LIBCUBLAS="/nowhere/libcublas.so")
