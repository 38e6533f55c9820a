#!/usr/bin/env python3
"""TAP: every symbol with external linkage in the static libraries of src/ has the project's prefix. A program that links
libcoracle statically would meet any other name as its own. Arguments: nm, the libraries."""

import pathlib
import re
import subprocess
import sys

OURS = re.compile(r"cor_|COR_")  # COR_: constants.
GENERATED = re.compile(r"(etcd|google)__")  # From .proto files; libcoracle itself has none of them.


def foreign(listing):
    """[object: symbol] of what `nm -g --defined-only` lists and nobody knows as ours."""
    found, member = [], "?"
    for line in listing.splitlines():
        words = line.split()
        if line.endswith(":"):
            member = line[:-1].rsplit("/", 1)[-1]
        elif len(words) == 3 and not OURS.match(words[2]) and not GENERATED.match(words[2]):
            found.append(f"{member}: {words[2]}")
    return found


PLANTED = """
src/base/libcor_base.a.p/buf.c.o:
0000000000000000 T cor_buf_init
0000000000000010 D dispatch
0000000000000020 V COR_RETRY_DEFAULT
0000000000000030 R etcd__mvccpb__key_value__descriptor
src/base/libcor_base.a.p/map.c.o:
0000000000000000 B table
"""


def main():
    nm, *libraries = sys.argv[1:]
    print(f"1..{len(libraries) + 1}")
    said = foreign(PLANTED)
    results = [("a planted symbol is named", said == ["buf.c.o: dispatch", "map.c.o: table"], said)]
    for library in libraries:
        done = subprocess.run([nm, "-g", "--defined-only", library], capture_output=True, text=True, check=False)
        said = foreign(done.stdout)
        has_ours = any(OURS.match(word) for word in done.stdout.split())
        results.append((pathlib.Path(library).name, done.returncode == 0 and has_ours and not said, [*said, done.stderr]))
    for number, (what, ok, said) in enumerate(results, 1):
        print(f"{'ok' if ok else 'not ok'} {number} - {what}")
        if not ok:
            print("# " + "\n# ".join(said))
    return 0 if all(ok for _, ok, _ in results) else 1


sys.exit(main())
