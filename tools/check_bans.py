#!/usr/bin/env python3
"""Refuses what this code base does not do, as file:line: calls (outside of comments and string literals), variables that are cleaned up without a value, diagrams
and tables in comments that clang-format may reflow, a _free, _close or _get of another form than CONTRIBUTING's
ownership words have, and locks that the table of docs/internals/locks.md does not have. With paths, checks those; without, every tracked C file."""

import pathlib
import re
import subprocess
import sys

# (functions, where it is refused, where it is allowed all the same, what to use)
BANS = [
    (["strcpy", "strcat", "stpcpy", "sprintf", "vsprintf"], "", [], "struct cor_buf or snprintf()"),
    (["strtok", "strtok_r"], "", [], "cor_str_cut()"),
    (["atoi", "atol", "atoll", "atof"], "", [], "cor_str_to_u64() or cor_str_to_i64()"),
    (["gets"], "", [], "fgets()"),
    (["malloc", "calloc", "realloc", "free", "strdup", "strndup", "asprintf", "vasprintf"], "",
     # A test may want memory that the seam does not count; an example is another program; what another client is given it frees.
     ["src/base/mem.c", "tests/", "examples/", "bench/client/official/"], "base/mem.h"),
    (["pthread_mutex_init", "pthread_mutex_lock", "pthread_mutex_trylock", "pthread_mutex_unlock", "pthread_cond_init",
      "pthread_cond_wait", "pthread_cond_timedwait", "pthread_rwlock_init", "pthread_spin_init", "uv_mutex_init",
      "uv_rwlock_init", "uv_cond_init", "uv_sem_init"], "src/", ["src/base/lock."], "base/lock.h"),
    (["sleep", "usleep", "nanosleep", "clock_nanosleep"], "tests/", [],
     "the event that is waited for, or a driven clock"),
    (["assert_in_range", "assert_not_in_range", "assert_in_set", "assert_not_in_set"], "tests/", [],
     "assert_uint_in_range() and its like: cmocka 2 calls these deprecated"),
]
# Comments, strings and character constants become blanks; line breaks stay.
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
# A line of a diagram: lines and arrow heads. A line of a table: columns that are three blanks or more apart.
DRAWING = re.compile("[\u2500-\u257f\u25b2\u25ba\u25bc\u25c4]")
COLUMNS = re.compile(r"\s*\*\s.*\S {3,}\S")


def code_of(text):
    return NOT_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)


def violations(name, text):
    banned = {function: instead for functions, where, allowed, instead in BANS for function in functions
              if name.startswith(where) and not any(name.startswith(a) for a in allowed)}
    code = code_of(text)
    for match in re.finditer(r"(?<![\w.>])(" + "|".join(banned) + r")[ \t]*\(", code) if banned else ():
        number = code.count("\n", 0, match.start()) + 1
        yield f"{name}:{number}: {match.group(1)}() is not used here: use {banned[match.group(1)]}"


def cleanups(name, text):
    """Variables that are cleaned up at the end of their block although a `return` may come before they have a value. No compiler sees it."""
    code = code_of(text)
    for match in re.finditer(r"\bCOR_CLEANUP\(\w+\)\s*(?:const |struct |enum )*\w+\b([^;={]*);", code):
        rest = code[match.end():]
        for variable in re.findall(r"\w+", match.group(1)):
            first = re.search(rf"\b(?:return|goto|{variable})\b", rest)
            if first and first.group(0) != variable:
                number = code.count("\n", 0, match.start()) + 1
                yield f"{name}:{number}: the block may be left before {variable} has a value: give it one where it is declared"


def drawings(name, text):
    """Comments of several lines that draw, outside of a region that clang-format leaves alone."""
    is_off = False
    for match in NOT_CODE.finditer(text):
        comment = match.group(0)
        if comment in ("/* clang-format off */", "/* clang-format on */"):
            is_off = comment == "/* clang-format off */"
        if is_off or not comment.startswith("/*") or "\n" not in comment:
            continue
        first = text.count("\n", 0, match.start()) + 1
        for number, line in enumerate(comment.splitlines(), first):
            if DRAWING.search(line) or COLUMNS.match(line):
                yield f"{name}:{number}: a diagram or table in a comment stands between /* clang-format off */ and on"
                break


def prototypes(text):
    """(offset, result, name, parameters) of every function that a header declares or defines."""
    for match in re.finditer(r"^(?:COR_API |static inline )*([a-z][\w ]*?[ *]+)(cor_\w+)\(([^;{]*?)\)\s*[;{]", code_of(text), re.M):
        yield match.start(), match.group(1).strip(), match.group(2), " ".join(match.group(3).split())


def owners(name, text):
    """CONTRIBUTING's ownership words: the forms of _free, _close and _get that a header may have."""
    if not name.endswith(".h"):
        return
    declared = list(prototypes(text))
    names = {function for _, _, function, _ in declared}
    for start, result, function, parameters in declared:
        where = f"{name}:{text.count(chr(10), 0, start) + 1}: {function}()"
        if function.endswith("_free") and result == "void":
            yield f"{where} returns nothing: a _free returns NULL; what empties a struct is a _deinit"
        if function.endswith("_close"):
            first = re.sub(r"\w+$", "", parameters.split(",")[0]).strip()
            if result.endswith("*") and result != first:
                yield f"{where} returns something else than NULL: a _close that blocks returns its own type"
            elif not result.endswith("*") and "," in parameters and "(*on_closed)" not in parameters:
                yield f"{where} has arguments but no on_closed: CONTRIBUTING has the forms of a _close"
            elif not result.endswith("*") and result not in ("void", "bool"):
                yield f"{where} can fail: a _close cannot"
        if function.endswith("_get") and re.search(r"\(\*on_\w+\)|\bcor_\w+_(?:cb|fn) ", parameters):
            if not names & {function[:-len("get")] + verb for verb in ("list", "create")}:
                yield f"{where} calls back: only the verb GET, beside a _list or _create, is an asynchronous _get"


def locks(name, text, page="docs/internals/locks.md"):
    """The rows of the page's table of locks are the ranks of src/base/lock.h, in the same order."""
    if name != "src/base/lock.h":
        return
    ranks = re.findall(r"^ +ROW\((\w+),", text, re.M)
    rows = re.findall(r"^\| `(\w+)` \|", pathlib.Path(page).read_text(), re.M)
    for rank in ranks + [row for row in rows if row not in ranks]:
        if rank not in rows or rank not in ranks:
            yield f"{name}: the lock {rank} is {'not on' if rank in ranks else 'only on'} {page}"
    if sorted(ranks) == sorted(rows) and ranks != rows:
        yield f"{name}: the locks on {page} are in another order"


def sources():
    """What git knows. In what was unpacked from an archive it knows none: then all but what builds have made."""
    if pathlib.Path(".git").exists():
        listed = subprocess.run(["git", "ls-files", "-z", "*.c", "*.h"], check=True, capture_output=True, text=True)
        return listed.stdout.split("\0")[:-1]
    return sorted(str(path) for path in pathlib.Path().rglob("*.[ch]") if not path.parts[0].startswith("build"))


def main():
    names = sys.argv[1:] or sources()
    found = [v for name in names
             for text in [pathlib.Path(name).read_text(errors="replace")]
             for v in [*violations(name, text), *cleanups(name, text), *drawings(name, text), *owners(name, text), *locks(name, text)]]
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
