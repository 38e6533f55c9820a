#!/usr/bin/env python3
"""Fails when a file of src/server/ names a kind, a resource or a subresource in a string literal.

Kinds differ by their rows in the table of resources (src/schema/kinds/resource_row.c): flags, hooks, roles, actions and parts.
Code that compares a name instead would not work for a resource that is defined while the server runs. The names come from
the table itself. A literal counts when it is a name, when it is a path that begins with a resource (`"pods/binding"`), or
when it contains a quoted name (`"{\\"kind\\":\\"Pod\\"}"`); words of a message do not count.

Controllers (src/server/controllers/) are programs about certain kinds, as a client's are, and may name them.

A name that is no knowledge about a kind is allowed by a comment that says why, at the end of the line or on a line of its
own before a run of lines without blank lines: `/* names a kind: the grammar of URLs */`."""

import argparse
import pathlib
import re
import sys

TABLE = "src/schema/kinds/resource_row.c"
FOLDER = "src/server"
PROGRAMS = "src/server/controllers"
NAMES = re.compile(r'NAMES\(\s*"[^"]*",\s*"[^"]*",\s*"([^"]*)",\s*"([^"]*)",\s*"[^"]*"\)')
SUBRESOURCE = re.compile(r'\.name = "([^"]*)"')
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
ALLOWED = re.compile(r"/\* names a kind: [^*\s]")
# Subresources whose names are ordinary words of JSON and of messages.
WORDS = {"status", "log", "token", "proxy", "scale"}


def names_of(table):
    kinds = set()
    for kind, plural in NAMES.findall(table):
        kinds |= {kind, kind + "List", plural}
    return kinds | (set(SUBRESOURCE.findall(table)) - WORDS)


def named(literal, names):
    """The name that the literal has, or None."""
    if literal in names:
        return literal
    if literal.split("/")[0] in names and re.fullmatch(r"[a-z]+(/[a-z]+)+", literal):
        return literal.split("/")[0]
    return next((word for word in re.findall(r'''(?:\\"|')([A-Za-z]+)(?:\\"|')''', literal) if word in names), None)


def without_comments(text):
    """The text with its comments blanked, line by line as before."""
    return re.sub(r'"(?:[^"\\\n]|\\.)*"|/\*.*?\*/',
                  lambda m: m.group(0) if m.group(0)[0] == '"' else re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.S)


def violations(path, text, names):
    allowed = False
    lines = text.splitlines()
    for number, code in enumerate(without_comments(text).splitlines(), 1):
        line = lines[number - 1]
        if not line.strip():
            allowed = False
        if ALLOWED.search(line):
            if line.lstrip().startswith("/*"):
                allowed = True
            continue
        if allowed or code.lstrip().startswith("#include"):
            continue
        for literal in LITERAL.findall(code):
            name = named(literal, names)
            if name:
                yield f'{path}:{number}: "{name}" is the name of a kind or resource; its row should say what differs'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=pathlib.Path(__file__).parent.parent, type=pathlib.Path)
    root = parser.parse_args().root.resolve()
    names = names_of((root / TABLE).read_text())
    found = [v for path in sorted((root / FOLDER).rglob("*.[ch]")) if root / PROGRAMS not in path.parents
             for v in violations(path.relative_to(root), path.read_text(), names)]
    if not names:
        found.append(f"{TABLE}: no names are found in the table")
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
