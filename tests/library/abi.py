#!/usr/bin/env python3
"""Prints the ABI of libcoracle as its public headers declare it: every exported function with its types, every
callback, the values of the enumerations, and size and offset of every member of every public struct (of a machine with
64 bits). tests/library/abi.txt is the ABI that programs were promised; a change of it is a decision. With the folder of the
generated headers of libcoracle-types it prints the same of that library, without the views, which are all one struct cor_value.

abi.py SOURCE_ROOT > tests/library/abi.txt
abi.py SOURCE_ROOT BUILD/include/coracle/types > tests/library/abi_types.txt
abi.py SOURCE_ROOT testing > tests/library/abi_testing.txt: the same of libcoracle-testing"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

TESTING = "testing.h"  # of libcoracle-testing
STRUCT = re.compile(r"^struct (cor_\w+) \{\n(.*?)^\};", re.M | re.S)
ENUM = re.compile(r"\benum (cor_\w+) \{(.*?)\}", re.S)
TABLE = re.compile(r"extern COR_API (const struct cor_(?:own|wire)_type (cor_\w+));")
PROTOTYPE = re.compile(r"COR_API ([^;{]*?\b(cor_\w+)\([^;]*);")
CALLBACK = re.compile(r"^typedef [^;]*?\(\*(cor_\w+)\)[^;]*;", re.M)


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"\\\n", " ", text)
    return re.sub(r"^[ \t]*#.*$", "", text, flags=re.M)


def members(body):
    """The names of a struct's members: `const char *a, *b;`, `void (*fn)(int, int);`, `char text[4][2];`."""
    for statement in body.split(";"):
        function = re.search(r"\(\*(\w+)\)\s*\(", statement)
        if function:
            yield function.group(1)
        elif statement.strip():
            for declarator in statement.split(","):
                yield re.search(r"(\w+)\s*(\[[^\]]*\]\s*)*$", declarator).group(1)


def words(text):
    return re.sub(r"\s+", " ", text).strip()


def program(text, headers):
    """A program that prints what only a compiler knows."""
    lines = [*(f"#include <{header}>" for header in headers), "#include <stddef.h>", "#include <stdio.h>", "int main(void) {"]
    for name, body in STRUCT.findall(text):
        lines.append(f'printf("struct {name} %zu\\n", sizeof(struct {name}));')
        for member in members(body):
            where = f"offsetof(struct {name}, {member}), sizeof(((struct {name} *)0)->{member})"
            lines.append(f'printf("struct {name}.{member} at %zu, %zu\\n", {where});')
    for name, body in ENUM.findall(text):
        for value in re.findall(r"^\s*(COR_\w+)\s*(?:=[^,]*)?,?\s*$", re.sub(r",", ",\n", body), re.M):
            if not value.startswith("COR_ERR"):
                lines.append(f'printf("enum {name} {value} %d\\n", (int){value});')
    if "coracle.h" in headers:
        lines.append('#define COR_ERR_ROW(name, http, reason, retry, text) printf("error %s %d\\n", #name, COR_##name);')
        lines.append("COR_ERRORS(COR_ERR_ROW)")
    return "\n".join([*lines, "return 0; }"])


def measure(folders, text, headers):
    compiler = os.environ.get("CC", "cc").split()
    with tempfile.TemporaryDirectory() as folder:
        source, exe = pathlib.Path(folder) / "abi.c", pathlib.Path(folder) / "abi"
        source.write_text(program(text, headers))
        subprocess.run([*compiler, *(f"-I{folder}" for folder in folders), source, "-o", exe], check=True, timeout=60)
        return subprocess.run([exe], check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()


def describe(root):
    """The lines of the ABI, sorted by name within their kind."""
    headers = (h for h in sorted((root / "include" / "coracle").glob("*.h")) if h.name != TESTING)
    return describe_text(root, "\n".join(without_comments(h.read_text()) for h in headers), "coracle.h")


def describe_testing(root):
    return describe_text(root, without_comments((root / "include/coracle" / TESTING).read_text()), f"coracle/{TESTING}")


def describe_text(root, text, header):
    functions = {name: f"function {words(prototype)}" for prototype, name in PROTOTYPE.findall(text)}
    callbacks = {m.group(1): words(m.group(0)) for m in CALLBACK.finditer(text)}
    return [kind[name] for kind in (functions, callbacks) for name in sorted(kind)] + measure([root / "include"], text, [header])


def describe_types(root, folder):
    """The functions, tables and structs of libcoracle-types, each sorted by name, and its constants as the headers define
    them."""
    own = sorted((root / "include/coracle/types").glob("*.h"))
    structs = own + sorted(folder.glob("*_structs.h"))
    text = "\n".join(h.read_text() for h in [*own, *sorted(folder.glob("*.h"))])
    plain = without_comments(text)
    functions = {name: words(prototype) for prototype, name in PROTOTYPE.findall(plain)}
    tables = sorted(table for table, name in TABLE.findall(plain))
    constants = [words(line) for line in re.findall(r"^#define (\w+ [\"{].*)$", text, re.M)]
    layouts = measure([root / "include", folder.parent.parent], "\n".join(without_comments(h.read_text()) for h in structs),
                      [f"coracle/types/{h.name}" for h in structs])
    return [functions[name] for name in sorted(functions)] + tables + sorted(constants) + layouts


def main(root, what=None):
    if what == "testing":
        return describe_testing(root)
    return describe_types(root, pathlib.Path(what)) if what else describe(root)


if __name__ == "__main__":
    print("\n".join(main(pathlib.Path(sys.argv[1]), *sys.argv[2:])))
