#!/usr/bin/env python3
"""Fails when a number of src/base/limits.h is not on docs/internals/limits.md, or on the page of its protocol, docs/internals/h2.md;
when a maximum on the page is neither in the header nor in OTHERS below; and when a text of the program writes such a number itself.

A number may be written as 16,384, in KB, MB, MiB or TiB, or by its name's ending (_US, _MS, _S) in ms, s, min or h. A row that names
the constant itself (`COR_BODY_BYTES_MAX`) is not asked for: the page is for users, who meet the number."""

import argparse
import pathlib
import re
import sys

HEADER = "src/base/limits.h"
PAGE = "docs/internals/limits.md"
PAGES = (PAGE, "docs/internals/h2.md")
DEFINE = re.compile(r"^#define (\w+) +(.*?) *(?:/\*|$)", re.M)
NUMBER = re.compile(r"\(?(?:UINT64_C\((\d+)\)|(\d+)u?)(?: (<<|\*) (\d+)u?)?\)?")
# What stands in the column "maximum" of the page and not in the header: where else it stands, or why it is no limit.
OTHERS = {
    "4": "src/net/stream/handshakes.h: COR_HANDSHAKE_STEPS",
    "4 ms": "src/server/api/call.c: SLICES_US",
    "2 ms": "src/net/stream/stream_out.c: SENDS_US",
    "5 s": "src/storage/cacher/replay.c: ALONE_MS",
    "30 s": "src/server/access/delegation.c: ACCESS_LIMIT_MS",
    "2 s": "src/storage/cacher/replay.c: SHARED_MS",
    "128": "src/codec/yaml.h: COR_YAML_FLOW_DEPTH_MAX",
    "20,000": "src/server/metrics/metrics.h: COR_METRIC_SERIES_MAX",
    "20 ms": "what all that a loop does is measured against",
    "27 KB": "measured",
    "100 KB": "OpenSSL's",
    "224 MB": "seven eighths of COR_HELD_FOR_PEERS_MAX",
    "16,000": "what a user's share holds of them",
    "500": "an example", "60": "an example",
    "40 s": "COR_KEPT_UNUSED_MS and COR_KEPT_SWEEP_MS of src/server/docs/kept_docs.h",
    "5": "minutes", "10 minutes": "two intervals",
    "413": "a code", "422": "a code",
    "536,870,912": "COR_WORK_STEPS_MAX, in the steps of a pattern (src/schema/structural/pattern.c)",
}
# Texts of these are upstream's, and so are their numbers; the text of a PRAGMA is SQLite's.
UPSTREAM = ("src/schema/hooks", "src/schema/format", "src/schema/check")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
STRING = re.compile(r'"(?!PRAGMA)((?:[^"\\\n]|\\.)*)"')
LEAST_IN_TEXTS = 10000  # smaller numbers are codes, ports and years as well
SIZE = re.compile(r"(?<![\w.-])(\d[\d,]*(?: (?:KB|MB|KiB|MiB|TiB))?)(?![\w.]|,\d)")
MAXIMUM = re.compile(r"(?<![\w.,/])(\d[\d,.]*\d|\d)( (?:KB|MB|KiB|MiB|TiB|ms|s|min|h|hours|minutes)\b)?")


def value_of(text):
    match = NUMBER.fullmatch(text)
    if not match:
        return None
    left, operator, right = int(match.group(1) or match.group(2)), match.group(3), int(match.group(4) or 0)
    return left << right if operator == "<<" else left * right if operator == "*" else left


def spellings(name, value):
    found = {f"{value:,}", str(value)}
    if name.endswith(("_US", "_MS", "_S")) and not name.endswith("_PER_S"):
        us = value * {"_US": 1, "_MS": 1000}.get(name[-3:], 1000000)
        words = {"h": 3600000000, "hours": 3600000000, "min": 60000000, "minutes": 60000000, "s": 1000000, "ms": 1000, "µs": 1}
        return {f"{us // unit:,} {word}" for word, unit in words.items() if us % unit == 0} | ({"a minute"} if us == 60000000 else set())
    for shift, words in ((10, ("KB", "KiB")), (20, ("MB", "MiB")), (40, ("TB", "TiB"))):
        if value >= 1 << shift:
            found |= {f"{value / (1 << shift):g} {word}" for word in words}
    return found


def limits_of(root, path):
    """The numbers of a header or a source, by their names: a value, or None for what is no plain number."""
    return {name: value_of(text) for name, text in DEFINE.findall((root / path).read_text()) if text}


def maxima(page):
    """(line, a number with its unit) of the column "maximum" of the page's tables."""
    column = None
    for number, line in enumerate(page.split("\n"), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            column = None
        elif column is None:
            column = cells.index("maximum") if "maximum" in cells else len(cells)
        elif column < len(cells) and not set(cells[0]) <= set("-: "):
            plain = re.sub(r"\]\([^)]*\)|`[^`]*`", "", cells[column])
            for match in MAXIMUM.finditer(plain):
                yield number, match.group(1).rstrip(".,") + (match.group(2) or "")


def stands_there(root, place):
    """Is the number of "file: NAME" there? The spellings, or None when the words are a reason."""
    match = re.fullmatch(r"(src/[\w/]+\.[ch]): (\w+)", place)
    if not match:
        return None
    path, name = match.groups()
    value = limits_of(root, path).get(name) if (root / path).is_file() else None
    return set() if value is None else spellings(name, value)


def wrong_on_page(root, page, spelled):
    for number, word in maxima(page):
        there = stands_there(root, OTHERS[word]) if word in OTHERS else set()
        if word not in spelled and there is not None and word not in there:
            yield f"{PAGE}:{number}: {word} is not in {HEADER}" + (f", and not {OTHERS[word]}" if word in OTHERS else "")


def wrong_texts(root, limits):
    """Texts that write a number which a limit has."""
    spelled = {word: name for name, value in limits.items() if value is not None and value >= LEAST_IN_TEXTS
               for word in spellings(name, value) if not word.endswith(("s", "min", "h"))}
    for path in sorted(path for folder in ("src", "cmd") for path in (root / folder).rglob("*.[ch]")):
        if str(path.relative_to(root)).startswith(UPSTREAM):
            continue
        text = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), path.read_text())
        for string in STRING.finditer(text):
            for match in SIZE.finditer(string.group(1)):
                if match.group(1) in spelled:
                    number = text.count("\n", 0, string.start()) + 1
                    yield f"{path.relative_to(root)}:{number}: a text writes {match.group(1)}, which is {spelled[match.group(1)]}"


def wrong(root):
    pages = "\n".join((root / page).read_text() for page in PAGES if (root / page).exists())
    limits = limits_of(root, HEADER)
    spelled = set()
    for name, value in limits.items():
        if value is None:
            yield f"{HEADER}: {name} is no plain number"
            continue
        words = spellings(name, value)
        spelled |= words
        if not any(re.search(rf"(?<![\d.,]){re.escape(word)}(?![\d\w]|,\d)", pages) for word in words):
            yield f"{HEADER}: {name}: {' or '.join(sorted(words))} is not on {PAGE}"
    yield from wrong_on_page(root, (root / PAGE).read_text(), spelled)
    yield from wrong_texts(root, limits)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=pathlib.Path(__file__).parent.parent, type=pathlib.Path)
    found = list(wrong(parser.parse_args().root.resolve()))
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
