"""The plug-in for vLLM, which calls it in each of its processes before CUDA is used."""

from __future__ import annotations

import os
import threading

from . import _override

_lock = threading.Lock()
_enabled: _override.Override | None = None


def vllm_plugin() -> None:
    """Enables the override once in this process, if VLLM_PLUGINS names "hotgemm": vLLM also loads the plug-ins of packages
    that only happen to be installed. The entry point of the group `vllm.general_plugins`."""
    global _enabled
    with _lock:
        if _enabled is None and "hotgemm" in os.environ.get("VLLM_PLUGINS", "").split(","):
            _enabled = _override.enable()
