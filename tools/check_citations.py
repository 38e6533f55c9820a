#!/usr/bin/env python3
"""Compares the contracts' behaviours with the tests that cite them.

A contract is a numbered catalogue of behaviours. Its page is docs/internals/NAME-behaviours.md; `Contract NAME 1.4.2` in a
test says that the test shows behaviour 1.4.2. The page says how many behaviours each section has, as a heading
(`## 1.4 Queues (11)`) or as the row of a table (`| 1.4 | Queues | 11 |`), and whether the contract is complete
(`Status: complete` or `Status: not complete`).

In a complete contract every behaviour has a test that cites it, or a line on the page (`- 1.4.2: the reason`), never both;
such a line names only tests that exist, and a test cites only behaviours that exist. In a contract that is not complete a
citation of an unknown behaviour is printed as a note. A citation without the name of a contract, or with a name that has no
page, is always an error."""

import argparse
import pathlib
import re
import sys

PAGES = "docs/internals"
END = "-behaviours.md"
SUFFIXES = {".c", ".h", ".py"}
NUMBER = r"\d+(?:\.\d+){1,2}"
LIST = rf"{NUMBER}(?:(?:,| and| to|, and)[\s*#]+{NUMBER})*"


class Contract:
    """What the page of one contract says."""

    def __init__(self, path, root):
        text = path.read_text()
        self.name = path.name[: -len(END)]
        self.page = path.relative_to(root)
        status = re.search(r"^Status: (not )?complete\b", text, re.M)
        self.has_status = bool(status)
        self.is_complete = bool(status) and not status.group(1)
        self.sections = dict(re.findall(r"^## (\d+(?:\.\d+)?) .*\((\d+)\)$", text, re.M))
        self.sections.update(re.findall(r"^\| (\d+(?:\.\d+)?) \|.*\| (\d+) \|$", text, re.M))
        self.known = [f"{section}.{n}" for section, count in self.sections.items() for n in range(1, int(count) + 1)]
        self.excused = [number for numbers in re.findall(rf"^- ({LIST}): \S", text, re.M) for number in expand(numbers)]
        self.named_tests = list(named_tests(text))

    def has(self, number):
        """A test may also cite a whole section (`Contract client 1.4`)."""
        return number in self.known or number in self.sections


def expand(text):
    """The numbers of "1.4.2, 1.4.6 to 1.4.9 and 1.5.1"."""
    numbers = []
    for first, last in re.findall(rf"({NUMBER})(?:\s+to[\s*#]+({NUMBER}))?", text):
        section, begin = first.rsplit(".", 1)
        end = (last or first).rsplit(".", 1)[1]
        numbers += [f"{section}.{n}" for n in range(int(begin), int(end) + 1)]
    return numbers


def named_tests(text):
    """Names of the tests that lines of a page point to: "test indexer: a_name, fifo: another_name"."""
    for line in re.findall(rf"^- {LIST}: (.*(?:\n  .*)*)", text, re.M):
        for _, place in re.findall(r"(\btest) ((?:[\w/.-]+:\s+\w+(?:,\s+)?)+)", line):
            yield from re.findall(r":\s+(\w+)", place)


def read_tests(root):
    """{contract or "": {number: the first file that cites it}}, and the names of all tests."""
    cited, names = {}, set()
    examples = root / "tests" / "tools"  # It holds examples of citations: the test of this script.
    for path in sorted((root / "tests").rglob("*")):
        if path.suffix in SUFFIXES and examples not in path.parents:
            text = path.read_text(errors="replace")
            names.update(re.findall(r"^TEST\(\w+,\s*(\w+)\)", text, re.M))
            for contract, numbers in re.findall(rf"\bContract(?:[\s*#]+([a-z]+))?[\s*#]+({LIST})", text):
                for number in expand(numbers):
                    cited.setdefault(contract, {}).setdefault(number, path.relative_to(root))
    return cited, names


def of_complete(contract, cited, names):
    """What is wrong with a complete contract and the tests that cite it."""
    for number in contract.known:
        if number not in cited and number not in contract.excused:
            yield f"{contract.page}: {number} has neither a test nor a line here"
    for number in contract.excused:
        if number not in contract.known:
            yield f"{contract.page}: {number} is in no section"
        elif number in cited:
            yield f"{contract.page}: {number} has a line here, and a test in {cited[number]}"
    for number, path in cited.items():
        if not contract.has(number):
            yield f"{path}: {number} is not in the contract {contract.name}"
    for name in contract.named_tests:
        if name not in names:
            yield f"{contract.page}: there is no test {name}"


def judge(contracts, cited, names):
    """The errors and the notes."""
    errors, notes = [], []
    for name, numbers in cited.items():
        if name not in contracts:
            number, path = next(iter(numbers.items()))
            errors.append(f"{path}: {number} is cited from {f'{name}, which has no page' if name else 'no contract'}")
    for contract in contracts.values():
        numbers = cited.get(contract.name, {})
        if not contract.has_status:
            errors.append(f"{contract.page}: there is no line 'Status: complete' or 'Status: not complete'")
        elif contract.is_complete:
            errors += of_complete(contract, numbers, names)
        else:
            notes += [f"note: {path}: {number} is not on {contract.page}"
                      for number, path in numbers.items() if not contract.has(number)]
    return errors, notes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path("."))
    root = parser.parse_args().root
    pages = [Contract(path, root) for path in sorted((root / PAGES).glob("*" + END))]
    errors, notes = judge({contract.name: contract for contract in pages}, *read_tests(root))
    for line in errors + notes:
        print(line, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
