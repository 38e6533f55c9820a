#!/usr/bin/env python3
"""Fails when a cell of a table in a page is longer than a reader takes in at a glance, and when a manual page or the picture of
the README names another version than meson.build. The contracts in docs/contract are exempt: their tables are upstream's."""

import argparse
import pathlib
import re
import sys

CELL_MAX = 200
VERSION = re.compile(r"^  version: '([\d.]+)',$", re.M)
# Where the version is written by hand: the file, and what stands before it.
WRITTEN = (("docs/man/*.1", re.compile(r'^\.TH .*"Coracle ([\d.]+)"', re.M)), ("docs/session.svg", re.compile(r">coracle ([\d.]+) is ready")))


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def long_cells(path, text):
    is_code = False
    for number, line in enumerate(text.split("\n"), 1):
        is_code ^= line.startswith("```")
        if is_code or not line.startswith("|"):
            continue
        for cell in cells(line):
            if len(cell) > CELL_MAX:
                yield (f"{path}:{number}: a cell of {len(cell)} characters, more than {CELL_MAX}: say the rest below the table: "
                       f"{cell[:40]}")


def other_versions(root):
    version = VERSION.search((root / "meson.build").read_text()).group(1)
    for names, pattern in WRITTEN:
        for file in sorted(root.glob(names)):
            found = pattern.search(file.read_text())
            if not found or found.group(1) != version:
                yield f"{file.relative_to(root)}: the version is {found.group(1) if found else 'missing'}, and in meson.build {version}"


def wrong(root):
    for file in [*sorted(root.glob("*.md")), *sorted(root.glob("docs/**/*.md"))]:
        path = file.relative_to(root)
        if path.parts[:2] != ("docs", "contract"):
            yield from long_cells(path, file.read_text())
    yield from other_versions(root)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=pathlib.Path(__file__).parent.parent, type=pathlib.Path)
    found = list(wrong(parser.parse_args().root.resolve()))
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
