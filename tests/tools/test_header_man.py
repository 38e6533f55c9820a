#!/usr/bin/env python3
"""TAP: the man pages of the public headers. The argument is the root of the project.

What a header says is on its page, every function leads to a page, and groff has nothing to complain of (without groff that
is skipped)."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "tools"))
import header_man  # noqa: E402

HEADER = r'''/* clang-format off */
/* A boat for one: it is carried on the back. The way of one:
 *
 *   new ──► free
 *
 * Owner: the maker. */
/* clang-format on */
#ifndef CORACLE_BOAT_H
#define CORACLE_BOAT_H

#include "coracle/oar.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_boat_opts {
    int seats; /* "\n" ends a row */

    int oars;
};

/* Makes a boat with `seats`:
 * - the first,
 *   and its name,
 * - others.
 * -COR_ENOMEM; the rest follows. */
COR_API int cor_boat_new(int seats,
                         struct cor_boat **ret_boat);

COR_API void cor_boat_row(struct cor_boat *boat); /* .once */
COR_API void cor_boat_rest(struct cor_boat *boat);

/* Is it afloat? */
static inline bool cor_boat_floats(void)
{
    return cor_boat_new(1, NULL) == 0;
}

#ifdef __cplusplus
}
#endif

#endif
'''


def page_of(text):
    with tempfile.TemporaryDirectory() as folder:
        header = pathlib.Path(folder) / "boat.h"
        header.write_text(text)
        return header_man.page(header, "1.2")


def header_becomes_a_page():
    page, functions = page_of(HEADER)
    assert functions == ["cor_boat_new", "cor_boat_row", "cor_boat_rest", "cor_boat_floats"], functions
    for part in ("coracle_boat \\- a boat for one\n", "#include <coracle/boat.h>", ".BR coracle_oar (3)",
                 ".nf\n  new \\[u2500]\\[u2500]\\[u25BA] free\n.fi", ".SS cor_boat_row(), cor_boat_rest()",
                 "int cor_boat_new(int seats,\n                 struct cor_boat **ret_boat);",
                 ".IP \\(bu 2\nthe first,\nand its name,\n.IP \\(bu 2\nothers.\n.PP\n\\-COR_ENOMEM; the rest follows.",
                 "Makes a boat with \\fBseats\\fR:", "    int seats; /* \"\\en\" ends a row */\n\n    int oars;\n};",
                 "bool cor_boat_floats(void);"):
        assert part in page, f"not on the page: {part}\n{page}"
    for part in ("COR_API", "CORACLE_BOAT_H", "clang-format", "return cor_boat_new", "__cplusplus"):
        assert part not in page, f"on the page: {part}\n{page}"


def every_exported_function_has_a_page():
    with tempfile.TemporaryDirectory() as folder:
        header_man.write_pages(pathlib.Path(folder), "1.2")
        there = {path.stem for path in pathlib.Path(folder).iterdir()}
        for name in re.findall(r"\bcor_\w+(?=\()", (ROOT / "tests/library/abi.txt").read_text()):
            assert name in there, f"{name} has no page"
        # Of libcoracle-types the functions that were not generated.
        for name in re.findall(r"\bcor_(?:own|pool|str)_\w+(?=\()", (ROOT / "tests/library/abi_types.txt").read_text()):
            assert name in there, f"{name} has no page"
        for alias in sorted(there):
            target = re.match(r"\.so man3/(\w+)\.3\n$", (pathlib.Path(folder) / f"{alias}.3").read_text())
            assert not target or target[1] in there, f"{alias} leads nowhere"


def groff_reads_the_pages():
    if not shutil.which("groff"):
        return "# SKIP groff is not installed"
    with tempfile.TemporaryDirectory() as folder:
        header_man.write_pages(pathlib.Path(folder), "1.2")
        pages = sorted(pathlib.Path(folder).glob("coracle_*.3"))
        said = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8", *pages], capture_output=True, text=True, check=True)
        assert not said.stderr, said.stderr
    return ""


def main():
    tests = (header_becomes_a_page, every_exported_function_has_a_page, groff_reads_the_pages)
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        try:
            note = test() or ""
            print(f"ok {number} - {test.__name__} {note}".rstrip())
        except AssertionError as failure:
            print(f"not ok {number} - {test.__name__}")
            print("\n".join(f"# {line}" for line in str(failure).split("\n")))


main()
