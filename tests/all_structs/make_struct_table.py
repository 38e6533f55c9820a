#!/usr/bin/env python3
"""Writes the table of all structs that generated headers declare: make_struct_table.py OUT.c HEADER..."""

import pathlib
import re
import sys


def main(out, *headers):
    types = [name for header in headers
             for name in re.findall(r"^extern (?:COR_API )?const struct cor_own_type (\w+);", pathlib.Path(header).read_text(), flags=re.M)]
    lines = ['#include "struct_table.h"', ""]
    lines += [f"extern const struct cor_own_type {name};" for name in types]
    lines += ["", "const struct cor_own_type *const struct_table[] = {", *(f"    &{name}," for name in types), "};", "",
              "const size_t struct_table_n = sizeof(struct_table) / sizeof(struct_table[0]);"]
    pathlib.Path(out).write_text("\n".join(lines) + "\n")


main(*sys.argv[1:])
