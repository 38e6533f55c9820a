#!/usr/bin/env python3
"""Compares the contracts with the tests that cite them.

A contract is a book of numbered lines, docs/contract/NAME.md: what Kubernetes does. Its headings have the numbers of sections
(`## 1.4 Queues`); its lines begin with their own (`1.4.2 Pop blocks ...`, or `| 1.4.2 | ... |` in a table), or they are an ordered
list below the heading of a section (`2. Pop blocks ...` below 1.4 is 1.4.2). `Contract NAME 1.4.2` in a test says that the test shows
that line; elsewhere it says where something comes from.

The head of a book says more about its lines:
    Status: complete | not complete    each line has a test or a reason; or they need not
    Complete sections: 1, 2.3          of a contract that is not complete: in these sections they do
    Not cited: 0, 7a                   sections with advice, which nothing can show
    Rows of 4.2: Pod, Node             a table without numbers: a case of the kind Pod cites its row as 4.2

A case of tests/cases/ (a line that begins with the number, after `contract NAME`) shows a line too, unless it is marked as pending.

Where no test shows a line, the reason stands under it, or under the table that has it: `> Here: the reason`, or `> Here, 1.4.6 to
1.4.9: the reason`. A line has a test or a reason, never both; a reason names only tests that exist. A citation names a contract and a
line or section that exist; there is no other citation.

docs/contract/COVERAGE.md has how many lines of each section are shown, have a reason, or neither; --write makes it."""

import argparse
import collections
import pathlib
import re
import sys

BOOKS = "docs/contract"
COVERAGE = "COVERAGE.md"
SUFFIXES = {".c", ".h", ".py"}
CITING = ["api", "bench", "cmd", "examples", "include", "src", "tools"]  # beside the tests
NUMBER = r"(?:\d+(?:\.\d+){1,2}|[A-H]\d+[a-z]?)"
CASE = re.compile(rf"(pending )?((?:[a-z]+ )?{NUMBER}(?:, (?:[a-z]+ )?{NUMBER})*)(?: |$)")
LIST = rf"{NUMBER}(?:(?:,| and| to|, and)[\s*#]+{NUMBER})*"
HEADING = re.compile(r"#{1,5} (?:Appendix )?((?:\d+|[A-H])(?:\.\d+)*[a-z]?)[. :]+(.*)")
LINE = re.compile(rf"\s*(?:[-*] )?(?:\| ?)?\**★? ?({NUMBER})\**\.?(?: \||[ :])")
ITEM = re.compile(r"(\d+)\. ")
REASON = re.compile(rf"\s*> Here(?:, ({LIST}))?: (\S.*)")


class Contract:
    """What a book says."""

    def __init__(self, path, root):
        text = path.read_text()
        self.name = path.stem
        self.page = path.relative_to(root)
        status = re.search(r"^Status: (not )?complete\b", text, re.M)
        self.has_status = bool(status)
        self.is_complete = bool(status) and not status.group(1)
        self.complete_sections = self.head(text, "Complete sections")
        self.not_cited = set(self.head(text, "Not cited"))
        self.sections = {}  # the number of a section: its heading
        self.known = {}  # the number of a line: its section
        self.excused, self.named_tests = [], []
        self.read(text.splitlines())
        for section, kinds in re.findall(rf"^Rows of ({NUMBER}): ((?:.+\n)+)", text + "\n", re.M):
            self.known.update({f"{section} {kind}": section for kind in re.findall(r"\w+", kinds)})

    def head(self, text, word):
        match = re.search(rf"^{word}: (.+)$", text, re.M)
        return re.findall(r"[\w.]+", match.group(1)) if match else []

    def read(self, lines):
        section = last = ""
        for line in lines:
            heading, item, number = HEADING.match(line), ITEM.match(line), LINE.match(line)
            reason = REASON.match(line)
            if heading:
                section = heading.group(1)
                self.sections[section] = heading.group(2).strip()
            elif line.startswith("#"):
                section = ""
            elif reason:
                self.excused += expand(reason.group(1)) if reason.group(1) else [last]
                self.named_tests += named_tests(reason.group(2))
            elif number and self.belongs(number.group(1), section):
                last = number.group(1)
                self.known.setdefault(last, section)
            elif item and section and section.split(".")[0] not in self.not_cited:
                last = f"{section}.{item.group(1)}"
                self.known.setdefault(last, section)

    def belongs(self, number, section):
        """A number in the text of another section is only a word. Worked cases have a letter, and stand in any section."""
        return section.split(".")[0] not in self.not_cited and (number.startswith(section + ".") or not number[0].isdigit())

    def must_have(self, number):
        """Must this line have a test or a reason?"""
        return self.is_complete or any(number.startswith(section + ".") for section in self.complete_sections)

    def has(self, number):
        """A citation may also be of a whole section (`Contract client 1.4`)."""
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
    """Names of the tests that a reason points to: "test indexer: a_name, fifo: another_name"."""
    for _, place in re.findall(r"(\btest) ((?:[\w/.-]+:\s+\w+(?:,\s+)?)+)", text):
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


def citations(text):
    """(the contract or "", the number) of each citation in a source."""
    for contract, numbers in re.findall(rf"\bContract(?:[\s*#]+([a-z]+))?[\s*#]+({LIST})", text):
        for number in expand(numbers):
            yield contract, number


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
            for contract, number in citations(text):
                cited.setdefault(contract, {}).setdefault(number, path.relative_to(root))
    return cited, pending, names


def read_others(root):
    """[(contract or "", number, path)] of what is cited outside of the tests: it shows nothing, but it exists."""
    me = pathlib.Path(__file__).resolve()
    paths = [path for folder in CITING for path in sorted((root / folder).rglob("*"))
             if path.suffix in SUFFIXES and path.resolve() != me and "__pycache__" not in path.parts]
    return [(contract, number, path.relative_to(root)) for path in paths
            for contract, number in citations(path.read_text(errors="replace"))]


def of_contract(contract, cited, names):
    """What is wrong with the lines and reasons of a contract."""
    for number in contract.known:
        if contract.must_have(number) and number not in cited and number not in contract.excused:
            yield f"{contract.page}: {number} has neither a test nor a reason"
    for number in contract.excused:
        if number not in contract.known:
            yield f"{contract.page}: {number or 'a line'} has a reason, and is not there"
        elif contract.must_have(number) and number in cited:
            yield f"{contract.page}: {number} has a reason, and a test in {cited[number]}"
    for name in contract.named_tests:
        if name not in names:
            yield f"{contract.page}: there is no test {name}"


def judge(contracts, cited, pending, others, names):
    """The errors."""
    errors = []
    everywhere = [(name, number, path) for found in (cited, pending) for name, numbers in found.items()
                  for number, path in numbers.items()] + others
    unknown = set()
    for name, number, path in everywhere:
        if name not in contracts:
            if name not in unknown:
                errors.append(f"{path}: {number} is cited from {f'{name}, which is no contract' if name else 'no contract'}")
            unknown.add(name)
        elif not contracts[name].has(number):
            errors.append(f"{path}: {number} is not in the contract {name}")
    for contract in contracts.values():
        if not contract.has_status:
            errors.append(f"{contract.page}: there is no line 'Status: complete' or 'Status: not complete'")
        errors += of_contract(contract, cited.get(contract.name, {}), names)
    return errors


def state_of(contract, cited, pending, number):
    if number in cited:
        return "shown"
    if number in contract.excused:
        return "reason"
    return "pending" if number in pending else "neither"


def coverage(contracts, cited, pending):
    """The text of COVERAGE.md."""
    out = ["# What the tests show of the contracts", "",
           "Made by `tools/check_citations.py --write` from the books and from the tests that cite them. `shown`: a test cites the line.",
           "`pending`: only a case that does not pass yet does. `reason`: the line says why there is no test.", "",
           "| contract | lines | shown | pending | reason | neither |", "|---|---|---|---|---|---|"]
    tables = []
    for contract in contracts.values():
        counts = collections.defaultdict(collections.Counter)
        for number, section in contract.known.items():
            counts[section][state_of(contract, cited.get(contract.name, {}), pending.get(contract.name, {}), number)] += 1
        total = sum(counts.values(), collections.Counter())
        row = lambda found: f"{found.total()} | {found['shown']} | {found['pending']} | {found['reason']} | {found['neither']}"
        out.append(f"| [{contract.name}]({contract.page.name}) | {row(total)} |")
        tables += ["", f"## {contract.name}", "", "| section | | lines | shown | pending | reason | neither |", "|---|---|---|---|---|---|---|"]
        tables += [f"| {section} | {contract.sections[section]} | {row(found)} |" for section, found in counts.items()]
    return "\n".join(out + tables) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--lacking", metavar="CONTRACT", help="lists the lines of a contract that nothing shows")
    parser.add_argument("--write", action="store_true", help=f"writes {BOOKS}/{COVERAGE}")
    options = parser.parse_args()
    root = options.root
    books = [Contract(path, root) for path in sorted((root / BOOKS).glob("*.md")) if path.name not in (COVERAGE, "README.md")]
    contracts = {contract.name: contract for contract in books}
    cited, pending, names = read_tests(root, contracts)
    errors = judge(contracts, cited, pending, read_others(root), names)
    text, table = coverage(contracts, cited, pending), root / BOOKS / COVERAGE
    if options.write:
        table.write_text(text)
    elif not table.exists() or table.read_text() != text:
        errors.append(f"{BOOKS}/{COVERAGE} is not what the tests show: run tools/check_citations.py --write")
    for line in errors:
        print(line, file=sys.stderr)
    if options.lacking in contracts:
        contract = contracts[options.lacking]
        states = {n: state_of(contract, cited.get(contract.name, {}), pending.get(contract.name, {}), n) for n in contract.known}
        print("no test: " + ", ".join(n for n, state in states.items() if state == "neither"))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
