#!/usr/bin/env python3
"""Makes a static library whose only visible symbols are its exported ones (visibility default): a program that links
it may have functions of any other name, as with the shared library. The parts are linked into one relocatable object,
sections that no exported symbol reaches are left out, and what is hidden becomes local.

static_library.py OUTPUT PART..."""

import pathlib
import re
import subprocess
import sys
import tempfile


def run(*args):
    return subprocess.run([str(a) for a in args], check=True, stdout=subprocess.PIPE, text=True).stdout


def exported(parts):
    """`readelf -s`: number, value, size, type, binding, visibility, section, name."""
    for line in run("readelf", "-sW", *parts).splitlines():
        found = re.match(r"\s*\d+: [0-9a-f]+ +\S+ +\S+ +GLOBAL +DEFAULT +\d+ (\S+)$", line)
        if found:
            yield found.group(1)


def main():
    output, parts = pathlib.Path(sys.argv[1]), sys.argv[2:]
    roots = [word for name in sorted(set(exported(parts))) for word in ("-u", name)]
    with tempfile.TemporaryDirectory() as folder:
        whole = pathlib.Path(folder) / f"{output.stem}.o"
        run("ld", "-r", "--gc-sections", *roots, "-o", whole, "--whole-archive", *parts)
        run("objcopy", "--localize-hidden", whole)
        output.unlink(missing_ok=True)
        run("ar", "rcsD", output, whole)


main()
