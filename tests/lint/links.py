#!/usr/bin/env python3
"""Checks links between markdown pages and the files that pages name, and that docs/README.md leads to every page.

links.py ROOT         prints one line per violation; exit status 1 if there is one
links.py --self-test  feeds each rule a bad sample, and fails unless exactly that rule reports it
"""

import pathlib
import re
import sys
import tempfile

LINK = re.compile(r"!?\[[^\]\n]*(?:\n[^\]\n]*)?\]\(([^)\s]+)\)")
IMAGE = re.compile(r'\bsrc(?:set)?="([^"]+)"')  # of <img> and <source>
SOURCE = re.compile(r"`((?:cmake|docs|src|templates|tests|tools)/[\w./-]+\.\w+)`")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.S | re.M)
SCREEN = 60  # lines; docs/results has pages of one screen, and tables under raw/
INDEX = "docs/README.md"


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.+?) *$", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def lint(root: pathlib.Path) -> list[tuple[str, str]]:
    """(rule, "page: message") of each violation."""
    pages = [*root.glob("*.md"), *root.glob("cache/*.md"), *root.glob("docs/**/*.md")]
    texts = {page.resolve(): page.read_text(encoding="utf-8") for page in sorted(pages)}
    found, leads_to = [], {}
    for page, text in texts.items():
        name = page.relative_to(root.resolve()).as_posix()
        leads_to[page] = set()
        prose = CODE.sub("``", text)
        for rule, target in [*(("file", link) for link in LINK.findall(prose)), *(("image", i) for i in IMAGE.findall(prose))]:
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            to = (page.parent / path).resolve() if path else page
            leads_to[page].add(to)
            if not to.exists():
                found.append((rule, f"{name}: {target}: no such file"))
            elif anchor and anchor not in anchors(texts.get(to, "")):
                found.append(("anchor", f"{name}: {target}: no such heading"))
        found += [("source", f"{name}: {source}: no such file") for source in SOURCE.findall(text)
                  if name != "CHANGELOG.md" and not (root / source).exists()]
        if re.fullmatch(r"docs/results/[\w.-]+", name) and text.count("\n") > SCREEN:
            found.append(("screen", f"{name}: longer than {SCREEN} lines; tables belong in docs/results/raw"))
    reached, waiting = set(), [(root / INDEX).resolve()]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            waiting += leads_to.get(page, ())
    found += [("index", f"{page.relative_to(root.resolve()).as_posix()}: no link leads there from {INDEX}")
              for page in texts if (root / "docs").resolve() in page.parents and page not in reached]
    return found


GOOD = {"README.md": "# A b: `c`\n[d](docs/README.md#x-y) `[code](nowhere)` [web](https://example.org)\n",
        INDEX: "# X, y\n[up](../README.md#a-b-c) [two\nlines](p.md)\n```\n[code](nowhere)\n```\n![picture](s.svg)\n<img src=\"s.svg\">\n",
        "docs/p.md": "`docs/s.svg` `build/x.txt`\n", "docs/s.svg": "", "docs/results/raw/table.csv": "\n" * 2 * SCREEN}
BAD_SAMPLES = {
    "file": {"docs/p.md": "[a](gone.md)\n"},
    "image": {"docs/p.md": '<source srcset="gone.svg">\n'},
    "anchor": {"docs/p.md": "[a](README.md#gone)\n"},
    "source": {"docs/p.md": "`src/gone.cpp`\n"},
    "index": {"docs/new.md": "\n"},
    "screen": {"docs/p.md": "[a](results/r.md)\n", "docs/results/r.md": "\n" * (SCREEN + 1)},
}


def self_test() -> int:
    failures = 0
    for rule, files in [(None, {}), *BAD_SAMPLES.items()]:
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            for path, text in {**GOOD, **files}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")
            found = [name for name, _ in lint(root)]
            if found != ([rule] if rule else []):
                print(f"{rule or 'good samples'}: reported {found}")
                failures += 1
    return 1 if failures else 0


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found = lint(pathlib.Path(sys.argv[1]))
    for _, message in found:
        print(message)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
