"""The numbers that pages cite: each must be found in a file that its sentence links to.

A sentence, or a row of a table, that links to a page or CSV of docs/results or docs/notebook cites it. A sentence that
ends with a colon cites for the table or block behind it. Every number of it, but those in names, in code and in sizes
such as 4096³, is in one of the cited files, there maybe with more digits. A sentence that says "on an H200" or "on an
H100" and has a number cites a file or a commit, or its paragraph cites a file. The pages of docs/results/raw and
docs/notebook are what others cite, and are not checked.
"""

import pathlib
import re

LINK = re.compile(r"!?\[([^\]]*)\]\(([^)\s]+)\)")
CODE = re.compile(r"`[^`]*`|<!--.*?-->")
SKIPPED = re.compile(r"^```.*?^```|<!-- gain.*?<!-- /gain -->", re.S | re.M)  # guide_numbers writes the gains
NUMBER = re.compile(r"(?<![\w.,-])\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?(?![\w³²]|\.\d)")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[:;])\s+(?=[A-Z*`\[])|\s+(?=- )")
MEASURED = re.compile(r"\bon an H[12]00\b", re.I)
COMMIT = re.compile(r"\bcommit [0-9a-f]{7}\b")
CITED = ("docs/results/", "docs/notebook/")
SOURCES = ("docs/results/raw/", "docs/notebook/")


def numbers(text: str) -> list[str]:
    return [number.replace(",", "") for number in NUMBER.findall(text)]


def blocks(text: str) -> list[tuple[bool, list[str]]]:
    """The sentences of each paragraph, or the lines of each table and indented block; True for the latter."""
    found = []
    for block in re.split(r"\n\s*\n", SKIPPED.sub("", text)):
        if block.lstrip().startswith("|") or block.startswith("    "):
            found.append((True, block.splitlines()))
        else:
            found.append((False, SENTENCE_END.split(" ".join(block.split()))))
    return found


class Files:
    """The cited files, and the numbers in them."""

    def __init__(self, root: pathlib.Path):
        self.root = root.resolve()
        self.values: dict[pathlib.Path, list[float]] = {}

    def cited_by(self, page: pathlib.Path, text: str) -> list[pathlib.Path]:
        targets = [(page.parent / target.partition("#")[0]).resolve() for _, target in LINK.findall(text)
                   if not re.match(r"[a-z]+:", target)]
        return [to for to in targets if to.is_file() and to.suffix in (".md", ".csv")
                and to.relative_to(self.root).as_posix().startswith(CITED)]

    def have(self, number: str, files: list[pathlib.Path]) -> bool:
        """Whether one of the files has the number, or one that rounds to it."""
        mantissa, _, exponent = number.partition("e")
        ulp = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
        for file in files:
            if file not in self.values:
                every = re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?", file.read_text(encoding="utf-8"))
                self.values[file] = [float(value.replace(",", "")) for value in every]
            if any(abs(value - float(number)) <= 0.5001 * ulp for value in self.values[file]):
                return True
        return False


def faults(root: pathlib.Path) -> list[str]:
    """A line for each number that its sources do not have, and for each measured number without a source."""
    files, found = Files(root), []
    for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        name = page.relative_to(root).as_posix()
        if name.startswith(SOURCES) or not page.is_file():
            continue
        introduced: list[pathlib.Path] = []  # by a sentence that ends with a colon
        for is_table, texts in blocks(page.read_text(encoding="utf-8")):
            near = introduced if is_table else files.cited_by(page, " ".join(texts))
            if not is_table:
                introduced = []
            for text in texts:
                plain = CODE.sub("", LINK.sub(r"\1", text))
                is_measured = not is_table and not name.startswith(CITED) and MEASURED.search(plain)
                cited = files.cited_by(page, text) or (near if is_table or is_measured else [])
                if not is_table and text.endswith(":"):
                    introduced = cited
                missing = [number for number in numbers(plain) if cited and not files.have(number, cited)]
                if missing:
                    where = ", ".join(file.relative_to(files.root).as_posix() for file in cited)
                    found.append(f"{name}: {', '.join(missing)} not in {where}: {text.strip()[:100]}")
                elif is_measured and not cited and numbers(plain) and not COMMIT.search(plain):
                    found.append(f"{name}: cites no file for what it says of a GPU: {text.strip()[:100]}")
    return found
