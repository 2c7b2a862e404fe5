"""Code that the plot tools share: a Python that has matplotlib, a light and a dark theme, and writing a figure in both."""

import argparse
import contextlib
import dataclasses
import os
import shutil
import subprocess
import sys

DASHES = ("-", "--", "-.", ":")
MARKERS = "os^Dv<>P"
FORMATS = ("png", "svg")


class PlotError(Exception):
    """An error in a file or an option, with a message for the user."""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise PlotError(f"{message}; see --help")


@dataclasses.dataclass(frozen=True)
class Theme:
    suffix: str  # of the names of files
    paper: str
    ink: str  # text, axes, and libraries
    faint: str  # grids
    accent: str  # hotgemm's tuned kernels
    colours: tuple[str, ...]


# Paul Tol's palettes "muted" and "light": distinct from each other, also for colour-blind readers.
THEMES = {
    "light": Theme("", "white", "black", "#dddddd", "#cc3311",
                   ("#332288", "#88ccee", "#44aa99", "#117733", "#999933", "#ddcc77", "#cc6677", "#882255", "#aa4499")),
    "dark": Theme("-dark", "#0d1117", "#e6edf3", "#30363d", "#ff7b72",
                  ("#77aadd", "#99ddff", "#44bb99", "#bbcc33", "#aaaa00", "#eedd88", "#ee8866", "#ffaabb", "#bbbbbb")),
}


# ---- the right Python ----

def find_matplotlib() -> None:
    """Returns if this Python has matplotlib. Otherwise runs the script again in another Python that has it: the one on
    PATH, or the system's, where tools/setup installs it."""
    try:
        import matplotlib  # noqa: F401
        return
    except ImportError as error:
        reason = error
    tried = [sys.executable]
    for python in (shutil.which("python3"), "/usr/bin/python3"):
        if not python or python in tried or not os.access(python, os.X_OK):
            continue
        tried.append(python)
        if subprocess.run([python, "-c", "import matplotlib"], capture_output=True, check=False).returncode == 0:
            os.execv(python, [python, *sys.argv])
    raise PlotError(f"needs matplotlib: install python3-matplotlib (tools/setup does); tried {', '.join(tried)} ({reason})")


# ---- writing ----

def add_output_options(parser: argparse.ArgumentParser, stem: str) -> None:
    parser.add_argument("--output", metavar="STEM", default=stem,
                        help=f"write STEM.png, STEM.svg, and both again as STEM-dark (default: {stem})")
    parser.add_argument("--theme", type=words_of(tuple(THEMES)), default=tuple(THEMES), metavar="THEME,...",
                        help="light, dark (default: both)")
    parser.add_argument("--format", type=words_of(FORMATS), default=FORMATS, metavar="FORMAT,...",
                        help="png, svg (default: both)")
    parser.add_argument("--title", help="title above the plot, in place of the one that the results give")


def words_of(known: tuple[str, ...]):
    def words(text: str) -> tuple[str, ...]:
        for word in text.split(","):
            if word not in known:
                raise argparse.ArgumentTypeError(f"{word!r} is not one of {', '.join(known)}")
        return tuple(text.split(","))

    return words


def save(options: argparse.Namespace, size: tuple[float, float], draw, source: str = "") -> None:
    """Writes the figure that draw(figure, theme) makes, in each theme and format. `source` says in an SVG what it was
    made from."""
    import matplotlib
    from matplotlib.figure import Figure
    for theme in (THEMES[name] for name in options.theme):
        with matplotlib.rc_context(settings_of(theme)):
            figure = Figure(figsize=size, dpi=150)
            draw(figure, theme)
            for kind in options.format:
                # Dates and programs are left out, so that the same numbers give the same bytes.
                metadata = {"Software": None} if kind == "png" else {"Date": None, "Creator": None, "Source": source or None}
                try:
                    figure.savefig(f"{options.output}{theme.suffix}.{kind}", bbox_inches="tight", metadata=metadata)
                except OSError as error:
                    raise PlotError(f"cannot write: {error}") from error


def settings_of(theme: Theme) -> dict:
    colours = {name: theme.ink for name in ("axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "text.color",
                                            "xtick.color", "ytick.color")}
    # Text is not converted to paths.
    return colours | {"figure.facecolor": theme.paper, "axes.facecolor": theme.paper, "savefig.facecolor": theme.paper,
                      "grid.color": theme.faint, "svg.fonttype": "none", "svg.hashsalt": "hotgemm", "font.size": 10,
                      "axes.spines.top": False, "axes.spines.right": False}


def draw_legend(axes) -> None:
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)


@contextlib.contextmanager
def errors_of(program: str):
    """Ends the program with exit status 1 and one line after a PlotError."""
    try:
        yield
    except PlotError as error:
        print(f"{program}: {error}", file=sys.stderr)
        sys.exit(1)
