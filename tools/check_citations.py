#!/usr/bin/env python3
"""Every behaviour of client-go in the catalogue has a test that cites it ("Contract 1.4.2"), or a line in
docs/internals/client-behaviours.md that says why not; never both. Says each that has neither, each that is unknown, and each
test that such a line names and that is not there."""

import argparse
import pathlib
import re
import sys

PAGE = "docs/internals/client-behaviours.md"
SUFFIXES = {".c", ".h", ".py"}
NUMBER = r"\d+\.\d+\.\d+"
LIST = rf"{NUMBER}(?:(?:,| and| to)[\s*#]+{NUMBER})*"


def expand(text):
    """The numbers of "1.4.2, 1.4.6 to 1.4.9 and 1.5.1"."""
    numbers = []
    for first, last in re.findall(rf"({NUMBER})(?:\s+to[\s*#]+({NUMBER}))?", text):
        section, begin = first.rsplit(".", 1)
        end = (last or first).rsplit(".", 1)[1]
        numbers += [f"{section}.{n}" for n in range(int(begin), int(end) + 1)]
    return numbers


def read_page(text):
    """All numbers of the catalogue, and those that no test cites."""
    known, excused = [], []
    for section, count in re.findall(r"^## (\d+\.\d+) .*\((\d+)\)$", text, re.M):
        known += [f"{section}.{n}" for n in range(1, int(count) + 1)]
    for numbers in re.findall(rf"^- ({LIST}): \S", text, re.M):
        excused += expand(numbers)
    return known, excused


def named_tests(text):
    """Names of the tests that lines of the page point to: "test indexer: a_name, fifo: another_name"."""
    for line in re.findall(rf"^- {LIST}: (.*(?:\n  .*)*)", text, re.M):
        for _, place in re.findall(r"(\btest) ((?:[\w/.-]+:\s+\w+(?:,\s+)?)+)", line):
            yield from re.findall(r":\s+(\w+)", place)


def read_tests(root):
    cited, names = {}, set()
    examples = root / "tests" / "tools"  # of citations, in the test of this script
    for path in sorted((root / "tests").rglob("*")):
        if path.suffix in SUFFIXES and examples not in path.parents:
            text = path.read_text(errors="replace")
            names.update(re.findall(r"^TEST\(\w+,\s*(\w+)\)", text, re.M))
            for numbers in re.findall(rf"Contract ({LIST})", text):
                for number in expand(numbers):
                    cited.setdefault(number, path.relative_to(root))
    return cited, names


def complaints(known, excused, cited):
    for number in known:
        if number not in cited and number not in excused:
            yield f"{PAGE}: {number} has neither a test nor a line here"
    for number in excused:
        if number not in known:
            yield f"{PAGE}: {number} is in no section"
        elif number in cited:
            yield f"{PAGE}: {number} has a line here, and a test in {cited[number]}"
    for number, path in cited.items():
        if number not in known:
            yield f"{path}: {number} is not in the catalogue"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path("."))
    root = parser.parse_args().root
    page = (root / PAGE).read_text()
    known, excused = read_page(page)
    cited, names = read_tests(root)
    found = list(complaints(known, excused, cited))
    found += [f"{PAGE}: there is no test {name}" for name in named_tests(page) if name not in names]
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
