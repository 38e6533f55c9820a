#!/usr/bin/env python3
"""Writes a C file with a digest of other files: make_digest.py OUT.c NAME FILE...

What is made of the files has the digest in its name, so that a cache elsewhere never takes the work of one build for that of
another."""

import hashlib
import pathlib
import sys


def main(out, name, *files):
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(hashlib.sha256(pathlib.Path(path).read_bytes()).digest())
    pathlib.Path(out).write_text(f'/* Made by tools/make_digest.py. */\nextern const char {name}[];\n'
                                 f'const char {name}[] = "{digest.hexdigest()}";\n')


main(*sys.argv[1:])
