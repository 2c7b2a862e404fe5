"""Runs the tests of run.py with a cache of their own. Tests that others start bring their own settings."""

import os

import pytest

import hotgemm


@pytest.fixture(scope="session", autouse=True)
def process(tmp_path_factory):
    """The caches of this process are empty, no record ships, and nothing is measured but on request."""
    if "HOTGEMM_BUILD_DIRECTORY" not in os.environ:
        return
    os.environ.update(HOTGEMM_CACHE_DIR=str(tmp_path_factory.mktemp("cache")), HOTGEMM_SHIPPED_RECORDS="off",
                      HOTGEMM_TUNE="never", HOTGEMM_LIBCUBLAS="/nowhere/libcublas.so")
    try:
        with hotgemm.Context() as context:
            hotgemm.prewarm("16 16 16 nn f16", "sm_80", jobs=1, context=context)
    except hotgemm.Error as error:
        if "no NVRTC" not in str(error):
            raise
        pytest.exit(f"skipped: {error}", returncode=77)
