"""The command: `python -m hotgemm`, and the script `hotgemm` of the wheel."""

from __future__ import annotations

import os
import sys

from . import _library


def main() -> None:
    """Becomes the program `hotgemm`. It starts workers by its own path, so that no Python is in between."""
    try:
        program = _library.command()
    except FileNotFoundError as error:
        sys.exit(f"hotgemm: {error}")
    os.execve(program, ["hotgemm", *sys.argv[1:]], _library.command_environment())


if __name__ == "__main__":
    main()
