"""Benchmarks, by the command."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable


def bench(problems: str | Iterable[str], *options: str) -> dict[str, Any]:
    """Times problems against cuBLAS on this machine's GPU, in a process of the command `hotgemm bench --json`.

    Args:
      problems: their texts: "4096 4096 512 nt bf16".
      options: further words for the command, such as "--policy", "tune".

    Returns the object that the command writes; docs/measuring.md explains it. Raises subprocess.CalledProcessError, with
    the message of the command in `stderr`, if it fails: 2 some problems failed, 3 no GPU, 4 wrong numbers.
    """
    import json
    import subprocess
    import tempfile

    from . import _library

    lines = [problems] if isinstance(problems, str) else list(problems)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as shapes:
        shapes.write("\n".join(lines) + "\n")
        shapes.flush()
        done = subprocess.run([_library.command(), "bench", "--json", "--shapes", shapes.name, *options], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=_library.command_environment())
    result: dict[str, Any] = json.loads(done.stdout)
    return result
