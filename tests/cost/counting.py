"""How work is counted: by a program that was built with -Dcounted=true (tests/cost/work.h), which prints it, or by valgrind in
instructions."""

import pathlib
import shutil
import sys


def is_counted(program):
    """Has the program counts of its own?"""
    return b"__sanitizer_cov_trace_pc" in pathlib.Path(program).read_bytes()


def skip_without_valgrind(program):
    if not is_counted(program) and not shutil.which("valgrind"):
        print("1..0 # SKIP valgrind is not installed")
        sys.exit(0)
