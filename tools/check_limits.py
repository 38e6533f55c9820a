#!/usr/bin/env python3
"""Fails when a number of src/base/limits.h is not on docs/internals/limits.md, or on the page of its protocol, docs/internals/h2.md.

A number may be written as 16,384, in KB, MB or MiB, or by its name's ending (_MS, _S) in ms, s, min or h. A row that names the
constant itself (`COR_BODY_BYTES_MAX`) is not asked for: the page is for users, who meet the number."""

import argparse
import pathlib
import re
import sys

HEADER = "src/base/limits.h"
PAGES = ("docs/internals/limits.md", "docs/internals/h2.md")
DEFINE = re.compile(r"^#define (COR_\w+) +(.*?) *(?:/\*|$)", re.M)
NUMBER = re.compile(r"\(?(\d+)u?(?: (<<|\*) (\d+)u?)?\)?")


def value_of(text):
    match = NUMBER.fullmatch(text)
    if not match:
        return None
    left, operator, right = int(match.group(1)), match.group(2), int(match.group(3) or 0)
    return left << right if operator == "<<" else left * right if operator == "*" else left


def spellings(name, value):
    found = {f"{value:,}", str(value)}
    if name.endswith(("_MS", "_S")) and not name.endswith("_PER_S"):
        ms = value if name.endswith("_MS") else value * 1000
        for unit, words in ((3600000, ("h", "hours")), (60000, ("min", "minutes")), (1000, ("s",)), (1, ("ms",))):
            if ms % unit == 0:
                found |= {f"{ms // unit:,} {word}" for word in words}
        return found - {str(value), f"{value:,}"} | {f"{value:,} {'ms' if name.endswith('_MS') else 's'}"} | ({"a minute"} if ms == 60000 else set())
    for shift, words in ((10, ("KB", "KiB")), (20, ("MB", "MiB"))):
        if value >= 1 << shift:
            found |= {f"{value / (1 << shift):g} {word}" for word in words}
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=pathlib.Path(__file__).parent.parent, type=pathlib.Path)
    root = parser.parse_args().root.resolve()
    pages = "\n".join((root / page).read_text() for page in PAGES if (root / page).exists())
    failed = False
    for name, text in DEFINE.findall((root / HEADER).read_text()):
        value = value_of(text)
        if value is None:
            print(f"{HEADER}: {name} is no plain number", file=sys.stderr)
            failed = True
        elif not any(re.search(rf"(?<![\d.,]){re.escape(word)}(?![\d\w]|,\d)", pages) for word in spellings(name, value)):
            print(f"{HEADER}: {name}: {' or '.join(sorted(spellings(name, value)))} is not on {PAGES[0]}", file=sys.stderr)
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
