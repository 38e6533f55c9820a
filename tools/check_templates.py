#!/usr/bin/env python3
"""The templates of cor_json_print() (src/json/write/print.h): each is a literal, is well formed, and has as many values as its call.
Prints file:line for each that is not. Argument: --root ROOT."""

import argparse
import pathlib
import re
import sys

CALL = re.compile(r"\bcor_json_print\s*\(")
TOKEN = re.compile(r"[{}\[\],]|'[^'\\\"]*'|%[sjdb]|[A-Za-z0-9_./-]+\??:|[A-Za-z0-9.-]+")
CONSTANT = re.compile(r"true|false|null|-?[0-9]+(\.[0-9]+)?")
STRING = r'"(?:\\.|[^"\\])*"'
COMMENT = re.compile(rf"({STRING})|'(?:\\.|[^'\\])+'|/\*.*?\*/|//[^\n]*", re.S)
MACRO = re.compile(rf'^#define\s+(\w+)\s+((?:{STRING}\s*|\w+\s+)*(?:{STRING}|\w+))\s*$', re.M)


def uncommented(text):
    """The text without comments and character constants, line for line."""
    return COMMENT.sub(lambda m: m.group(1) or "\n" * m.group(0).count("\n") + " ", text)


def arguments(text, at):
    """The arguments of a call whose parenthesis is open at `at`."""
    depth, found, start = 1, [], at
    for token in re.compile(rf"{STRING}|[()\[\]{{}},]").finditer(text, at):
        word = token.group(0)
        if word in "([{":
            depth += 1
        elif word in ")]}":
            depth -= 1
        if depth == 0 or (depth == 1 and word == ","):
            found.append(text[start:token.start()].strip())
            start = token.end()
        if depth == 0:
            return found
    return found


def literal(words, macros, depth=0):
    """What neighbouring literals and macros make; None: something else stands there."""
    made = ""
    for word in re.findall(rf"{STRING}|\w+|\S", words):
        if word.startswith('"'):
            made += word[1:-1]
        elif word in macros and depth < 8:
            part = literal(macros[word], macros, depth + 1)
            if part is None:
                return None
            made += part
        else:
            return None
    return made


def is_joined(before, word):
    """May `word` follow `before`? A template is a part: it may begin and end anywhere between values."""
    value = word[0] in "{['%" or word[-1] != ":" and word not in "}],"
    if before is None:
        return word != ","
    if before[-1] == ":" or before[-2:] == "?:":
        return value and (before[-2:] != "?:" or word[0] == "%")
    if before in "{[,":
        return word != "," and not (before == "," and word in "}]")
    return word in ",}]"


def wrong(template, nvalues):
    """What is wrong with a template, or None."""
    open_ones, before, at, values = [], None, 0, 0
    while at < len(template):
        match = TOKEN.match(template, at)
        if not match:
            return f"'{template[at:at + 12]}' is nothing that a template has"
        word, at = match.group(0), match.end()
        if word[-1] != ":" and word[0] not in "{}[],'%" and not CONSTANT.fullmatch(word):
            return f"'{word}' is no constant"
        if not is_joined(before, word):
            return f"'{word}' stands behind '{before or ''}'"
        if open_ones and (before in ("{", ",")) and (open_ones[-1] == "{") and word[-1] != ":" and word != "}":
            return f"'{word}' has no key in an object"
        if open_ones and open_ones[-1] == "[" and word[-1] == ":":
            return f"'{word}' is a key in an array"
        if word in "{[":
            open_ones.append(word)
        elif word in "}]" and open_ones and open_ones.pop() != {"}": "{", "]": "["}[word]:
            return f"'{word}' ends the other kind"
        values += word[0] == "%"
        before = word
    if before is None or before[-1] == ":" and before[-2:] == "?:" or before == ",":
        return "it ends too early"
    return None if values == nvalues else f"it has {values} values, and the call {nvalues}"


def check(path, text, shared):
    text = uncommented(text)
    macros = {**shared, **dict(MACRO.findall(text))}
    for call in CALL.finditer(text):
        if text[text.rfind("\n", 0, call.start()) + 1:].startswith("#define"):
            continue
        given = arguments(text, call.end())
        template = literal(given[1], macros) if len(given) > 1 else None
        what = "its template is no literal" if template is None else wrong(template, len(given) - 2)
        if what:
            yield f"{path}:{text.count(chr(10), 0, call.start()) + 1}: cor_json_print: {what}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent)
    root = parser.parse_args().root
    headers = {p: p.read_text() for p in sorted((root / "src").rglob("*.h"))}
    shared = {name: value for text in headers.values() for name, value in MACRO.findall(uncommented(text))}
    found = []
    for folder in ("src", "cmd"):
        for path in sorted((root / folder).rglob("*.[ch]")):
            text = path.read_text()
            if "cor_json_print" in text and path.name != "print.h":
                found += check(path.relative_to(root), text, shared)
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
