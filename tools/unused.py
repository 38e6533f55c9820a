#!/usr/bin/env python3
"""Names the functions of src/ with external linkage that no file of src/ or cmd/ calls, and that the public headers do
not export: code that only tests use. A header says of such a function for whom it is there, or the function is deleted
with its tests. Arguments: the root of the tree; prints file: function, and the lines of code that they have."""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
NOT_CODE = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
DEFINITION = re.compile(r"^(?!static\b)[a-z][\w \*\n]*?\b(cor_\w+)\(([^;{}]*?)\)\n\{(.*?)^\}", re.S | re.M)
WORD = re.compile(r"\bcor_\w+\b")


def main():
    texts = {p: NOT_CODE.sub(" ", p.read_text()) for folder in ("src", "cmd") for p in sorted((ROOT / folder).rglob("*.[ch]"))}
    exported = set()
    for header in (ROOT / "include").rglob("*.h"):
        exported |= set(re.findall(r"COR_API\b[^;(]*?\b(cor_\w+)\s*\(", NOT_CODE.sub(" ", header.read_text())))
    defined, used = {}, {}
    for path, text in texts.items():
        for match in DEFINITION.finditer(text) if path.suffix == ".c" else ():
            defined[match.group(1)] = (path, match.group(0).count("\n") + 1)
        if path.suffix == ".c":
            # A prototype is no use; neither is the definition itself.
            for name in WORD.findall(text):
                used[name] = used.get(name, 0) + 1
        else:
            bodies = "".join(m.group(0) for m in re.finditer(r"^(static inline|#define).*?(^\}|[^\\]\n)", text, re.S | re.M))
            for name in WORD.findall(bodies) + re.findall(r"COR_DEFINE_CLEANUP\([^,]*, (cor_\w+)\)", text):
                used[name] = used.get(name, 0) + 1
    total = 0
    for name, (path, lines) in sorted(defined.items(), key=lambda item: (item[1][0], item[0])):
        if used.get(name, 0) <= 1 and name not in exported:
            print(f"{path.relative_to(ROOT)}: {name} ({lines})")
            total += lines
    print(f"{total} lines")


if __name__ == "__main__":
    main()
