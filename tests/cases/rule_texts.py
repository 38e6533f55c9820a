#!/usr/bin/env python3
"""Lists the validation rules that no case shows: rules of api/validation/*.rules and messages of src/schema/hooks/*.c that the expectations of
the case files do not have. A rule without a text of its own (`replicas nonnegative`) is shown by a cause whose field has its last name
and whose message is that of the statement, a rule with a text by that text.

  rule_texts.py [WORD..]     words choose files (workloads)"""

import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import case_file  # noqa: E402
import compile_validation  # noqa: E402

# What a statement without a text says.
PHRASES = {"required": "Required value", "missing": "Required value", "forbidden": "Forbidden: ", "enum": "Unsupported value: ",
           "unsupported": "Unsupported value: ", "nonnegative": "must be greater than or equal to 0", "positive": "must be greater than zero",
           "min": "must be greater than or equal to ", "max": "must be less than or equal to ", "range": "must be between ",
           "length": "Too long: ", "items": "Too many: ", "unique": "Duplicate value: ", "duplicate": "Duplicate value: ",
           "immutable": "field is immutable", "invalid": "Invalid value: ", "not_found": "Not found: ", "format": "Invalid value: ",
           "too_long": "Too long: ", "too_many": "Too many: "}


def expectations():
    """(field, message) of all causes, and the texts of warnings with an empty field."""
    found = []
    for path in sorted(HERE.glob("*.cases")):
        for line in path.read_text().splitlines():
            text = line.strip()
            for name, shared in case_file.TEXTS.items():
                text = text.replace(f"<{name}>", shared)
            if line.startswith("  - "):
                found.append(tuple((text[2:].split(": ", 1) + [""])[:2]))
            elif line.startswith("  "):
                found.append(("", text))
    return found


def pieces(text):
    """The parts of a text between what is filled in."""
    parts = re.split(r"\{[^{}]*\}|%[-.\d*lz]*[a-zA-Z]", text.replace("{{", "{"))
    return [part.strip() for part in parts if len(part.strip()) > 2]


def statements(node):
    """(where, line, field, word, text) of the statements below a node of a rule file."""
    for below in node.below:
        words = compile_validation.TOKEN.findall(below.text)
        field = words[0]
        for at, word in enumerate(words):
            if word in PHRASES and field not in ("if", "else", "each") and (at > 0 or word == field):
                by = words[at + 2].split(",")[0] if word == "unique" and words[at + 1:at + 2] == ["by"] else ""
                texts = [json.loads(text) for text in words[at + 1:at + 8] if text.startswith('"') and " " in text]
                yield below.where, below.text, by or ("" if at == 0 or field == "@key" else field), word, texts[0] if texts else ""
        yield from statements(below)


def is_shown(field, phrase, text, found):
    tail = re.split(r"[.\[]", field.rstrip("]"))[-1]
    parts = pieces(text) or [phrase]
    return any((text or not tail or re.search(rf"(^|[.\[]){re.escape(tail)}\]?(\[\d+\])?$", where)) and all(part in message for part in parts)
               for where, message in found)


def main():
    words, found = sys.argv[1:], expectations()
    for path in sorted((ROOT / "api/validation").glob("*.rules")):
        rules = [rule for root in compile_validation.read_tree(path) for rule in statements(root)] if not words or path.stem in words else []
        lacking = [rule for rule in rules if not is_shown(rule[2], PHRASES[rule[3]], rule[4], found)]
        for where, line, *_ in lacking:
            print(f"{where}: {line}")
        if rules:
            print(f"{path.name}: cases show {len(rules) - len(lacking)} of {len(rules)} rules")
    for path in sorted((ROOT / "src/schema/hooks").glob("*.c")):
        if words and path.stem not in words:
            continue
        code = re.sub(r"/\*.*?\*/|^#.*$", "", path.read_text(), flags=re.S | re.M)
        texts = [json.loads(f'"{text}"') for text in re.findall(r'"((?:[^"\\\n]|\\.)* (?:[^"\\\n]|\\.)*)"', code) if "\\x" not in text]
        lacking = [text for text in texts if not all(any(part in message for _, message in found) for part in pieces(text))]
        for text in lacking:
            print(f"{path.name}: {text}")
        if texts:
            print(f"{path.name}: cases show {len(texts) - len(lacking)} of {len(texts)} messages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
