#!/usr/bin/env python3
"""Compares the contracts' behaviours with the tests that cite them.

A contract is a numbered catalogue of behaviours. Its page is docs/internals/NAME-behaviours.md; `Contract NAME 1.4.2` in a
test says that the test shows behaviour 1.4.2. The page says how many behaviours each section has, as a heading
(`## 1.4 Queues (11)`) or as the row of a table (`| 1.4 | Queues | 11 |`, or `| 12 to 20 |` when it goes on from another), and whether the contract is complete
(`Status: complete` or `Status: not complete`).

A case of tests/cases/ (a line that begins with the number, after `contract NAME`) shows a behaviour too, unless it is marked as pending.
A page may name worked cases, which have a letter and a number (`Worked cases: A1 to A40, A13b`); they are cited by these names.
A page may name the rows of a table without numbers (`Rows of 4.2: Pod, Node`); a case cites such a row by the number of the table and
the kind of its section. For contracts that are not complete the number of shown behaviours is printed.

In a complete contract every behaviour has a test that cites it, or a line on the page (`- 1.4.2: the reason`), never both;
such a line names only tests that exist, and a test cites only behaviours that exist. In a contract that is not complete a
citation of an unknown behaviour is printed as a note. Such a page may name sections that are complete (`Complete sections: 1, 2.3`), for which the same holds. A citation without the name of a contract, or with a name that has no
page, is always an error."""

import argparse
import pathlib
import re
import sys

PAGES = "docs/internals"
END = "-behaviours.md"
SUFFIXES = {".c", ".h", ".py"}
NUMBER = r"(?:\d+(?:\.\d+){1,2}|[A-H]\d+[a-z]?)"
CASE = re.compile(rf"(pending )?((?:[a-z]+ )?{NUMBER}(?:, (?:[a-z]+ )?{NUMBER})*)(?: |$)")
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
        complete = re.search(r"^Complete sections: ([\d., ]+)$", text, re.M)
        self.complete_sections = re.findall(r"\d+(?:\.\d+)*", complete.group(1)) if complete else []
        self.sections = dict(re.findall(r"^## (\d+(?:\.\d+)?) .*\((\d+)\)$", text, re.M))
        self.sections.update(re.findall(r"^\| (\d+(?:\.\d+)?) \|.*\| (?:\d+ to )?(\d+) \|$", text, re.M))
        first = dict(re.findall(r"^\| (\d+(?:\.\d+)?) \|.*\| (\d+) to \d+ \|$", text, re.M))
        self.known = [f"{section}.{n}" for section, last in self.sections.items() for n in range(int(first.get(section, 1)), int(last) + 1)]
        for section, kinds in re.findall(rf"^Rows of ({NUMBER}): ((?:.+\n)+)", text + "\n", re.M):
            self.known += [f"{section} {kind}" for kind in re.findall(r"\w+", kinds)]
        for names in re.findall(r"^Worked cases: (.+)$", text, re.M):
            self.known += expand(names)
        self.excused = [number for numbers in re.findall(rf"^- ({LIST}): \S", text, re.M) for number in expand(numbers)]
        self.named_tests = list(named_tests(text))

    def must_have(self, number):
        """Must this behaviour have a test or a line?"""
        return self.is_complete or any(number.startswith(section + ".") for section in self.complete_sections)

    def has(self, number):
        """A test may also cite a whole section (`Contract client 1.4`)."""
        return number in self.known or number in self.sections


def expand(text):
    """The numbers of "1.4.2, 1.4.6 to 1.4.9 and 1.5.1"."""
    numbers = []
    for first, last in re.findall(rf"({NUMBER})(?:\s+to[\s*#]+({NUMBER}))?", text):
        if not last:
            numbers.append(first)
            continue
        section, begin = re.fullmatch(r"(.*?)(\d+)", first).groups()
        end = re.fullmatch(r".*?(\d+)", last).group(1)
        numbers += [f"{section}{n}" for n in range(int(begin), int(end) + 1)]
    return numbers


def named_tests(text):
    """Names of the tests that lines of a page point to: "test indexer: a_name, fifo: another_name"."""
    for line in re.findall(rf"^- {LIST}: (.*(?:\n  .*)*)", text, re.M):
        for _, place in re.findall(r"(\btest) ((?:[\w/.-]+:\s+\w+(?:,\s+)?)+)", line):
            yield from re.findall(r":\s+(\w+)", place)


def read_cases(path, contracts, cited, pending):
    """Adds what the cases of a file show to `cited`, and what only pending ones show to `pending`."""
    contract = kind = ""
    for line in path.read_text().splitlines():
        case = CASE.match(line)
        if line.startswith("contract "):
            contract = line.split()[1]
        elif line.startswith("["):
            kind = line[1:].split("]")[0].split()[-1]
        elif case:
            for citation in case.group(2).split(", "):
                *name, number = citation.split(" ")
                name = name[0] if name else contract
                if name in contracts and f"{number} {kind}" in contracts[name].known:
                    number = f"{number} {kind}"
                (pending if case.group(1) else cited).setdefault(name, {}).setdefault(number, path)


def read_tests(root, contracts):
    """{contract or "": {number: the first file that cites it}}, the same of pending cases, and the names of all tests."""
    cited, pending, names = {}, {}, set()
    for path in sorted((root / "tests" / "cases").glob("*.cases")):
        read_cases(path, contracts, cited, pending)
    cited = {name: {number: path.relative_to(root) for number, path in numbers.items()} for name, numbers in cited.items()}
    pending = {name: {number: path.relative_to(root) for number, path in numbers.items()} for name, numbers in pending.items()}
    examples = root / "tests" / "tools"  # It holds examples of citations: the test of this script.
    for path in sorted((root / "tests").rglob("*")):
        if path.suffix in SUFFIXES and examples not in path.parents:
            text = path.read_text(errors="replace")
            names.update(re.findall(r"^TEST\(\w+,\s*(\w+)\)", text, re.M))
            for contract, numbers in re.findall(rf"\bContract(?:[\s*#]+([a-z]+))?[\s*#]+({LIST})", text):
                for number in expand(numbers):
                    cited.setdefault(contract, {}).setdefault(number, path.relative_to(root))
    return cited, pending, names


def of_complete(contract, cited, names):
    """What is wrong with a complete contract, or with the complete sections of one, and the tests that cite it."""
    for number in contract.known:
        if contract.must_have(number) and number not in cited and number not in contract.excused:
            yield f"{contract.page}: {number} has neither a test nor a line here"
    for number in contract.excused:
        if number not in contract.known:
            yield f"{contract.page}: {number} is in no section"
        elif contract.must_have(number) and number in cited:
            yield f"{contract.page}: {number} has a line here, and a test in {cited[number]}"
    for number, path in cited.items():
        if contract.is_complete and not contract.has(number):
            yield f"{path}: {number} is not in the contract {contract.name}"
    for name in contract.named_tests:
        if name not in names:
            yield f"{contract.page}: there is no test {name}"


def count(contract, cited, pending):
    """How many behaviours of a contract that is not complete tests show."""
    shown = [number for number in contract.known if number in cited]
    waiting = [number for number in contract.known if number in pending and number not in cited]
    excused = [number for number in contract.excused if number not in cited]
    share = 100 * len(shown) / max(1, len(contract.known))
    return (f"{contract.name}: tests show {len(shown)} of {len(contract.known)} behaviours ({share:.1f} %)"
            + (f", pending cases {len(waiting)} more" if waiting else "") + (f"; {len(excused)} have a reason" if excused else ""))


def judge(contracts, cited, pending, names):
    """The errors and the notes."""
    errors, notes = [], []
    for name, numbers in [*cited.items(), *pending.items()]:
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
            errors += of_complete(contract, numbers, names) if contract.complete_sections else []
            notes += [f"note: {path}: {number} is not on {contract.page}"
                      for number, path in {**pending.get(contract.name, {}), **numbers}.items() if not contract.has(number)]
    return errors, notes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--lacking", metavar="CONTRACT", help="lists the behaviours of a contract that nothing shows")
    options = parser.parse_args()
    root = options.root
    pages = [Contract(path, root) for path in sorted((root / PAGES).glob("*" + END))]
    contracts = {contract.name: contract for contract in pages}
    cited, pending, names = read_tests(root, contracts)
    errors, notes = judge(contracts, cited, pending, names)
    for line in errors + notes:
        print(line, file=sys.stderr)
    for contract in pages:
        if not contract.is_complete:
            numbers = cited.get(contract.name, {}), pending.get(contract.name, {})
            print(count(contract, *numbers))
            if options.lacking == contract.name:
                print("no case: " + ", ".join(n for n in contract.known if n not in numbers[0] and n not in numbers[1] and n not in contract.excused))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
