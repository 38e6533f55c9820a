#!/usr/bin/env python3
"""Watch consistency in its forms, one after the other, on after a failure. forms.py BUILD [SECONDS] [FORM..]

The line of each form's last run is kept in BUILD/consistency.txt, so that forms may be run one at a time: the table at the end has
all of them. COR_TEST_SEED repeats the choices of a run, COR_SERVER_FLAGS are more flags for the server, and an empty
COR_CONSISTENCY_COMPACTS leaves the compaction out."""

import difflib
import os
import pathlib
import random
import re
import subprocess
import sys

KINDS = {"cache": "--watch-cache=true", "store": "--watch-cache=false", "evicting": "--watch-cache-bytes=1048576"}
FORMS = {kind + suffix: (flag, http2) for kind, flag in KINDS.items() for suffix, http2 in (("", ""), ("-h2", "1"))}
SECONDS = 60


def refuse(word):
    near = difflib.get_close_matches(word, FORMS, 1)
    meant = f"; did you mean '{near[0]}'?" if near else ""
    sys.exit(f"there is no form '{word}'; they are {', '.join(FORMS)}{meant}")


def choose(words):
    seconds = SECONDS
    if words and words[0].isdigit():
        seconds = int(words.pop(0))
    for word in words:
        if word not in FORMS:
            refuse(word)
    if seconds == 0:
        sys.exit("a run takes a second at least")
    return seconds, words or list(FORMS)


def read_kept(path):
    lines = path.read_text().splitlines() if path.exists() else []
    return {line.split()[0]: line for line in lines if line.split() and line.split()[0] in FORMS}


def why(output):
    """What the test said when it failed, in one line."""
    found = re.findall(r"^(?:ERROR: |not ok )(.*)$", output, re.M)
    return found[0] if found else "it did not end"


def run(build, form, seconds):
    flag, http2 = FORMS[form]
    seed = os.environ.get("COR_TEST_SEED") or str(random.randrange(1, 1 << 47))
    flags = f"{flag} {os.environ.get('COR_SERVER_FLAGS', '')}".strip()
    print(f"== {form}: {flags}{', HTTP/2' if http2 else ''}, {seconds} s, COR_TEST_SEED={seed}", flush=True)
    environment = dict(os.environ, COR_CONSISTENCY_SECONDS=str(seconds), COR_CONSISTENCY_HTTP2=http2, COR_TEST_SEED=seed,
                       COR_SERVER_PROGRAM=str(build / "coracle"), COR_SERVER_FLAGS=flags,
                       COR_CONSISTENCY_COMPACTS=os.environ.get("COR_CONSISTENCY_COMPACTS", "1"))
    test = subprocess.run([build / "tests/consistency/test_watch_consistency"], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    ok = test.returncode == 0
    if not ok:
        print(test.stdout, flush=True)
    numbers = re.findall(r"^# (\d+ writes, .*)$", test.stdout, re.M)
    line = f"{form:<12} {'ok' if ok else 'FAILED':<7} {seconds:>5} s  seed {seed}  " + (numbers[0] if numbers else "")
    line = line.rstrip() if ok else f"{line.rstrip()}  {why(test.stdout)}"
    print(line, flush=True)
    return ok, line


def main():
    build = pathlib.Path(sys.argv[1])
    seconds, forms = choose(sys.argv[2:])
    path = build / "consistency.txt"
    failed = []
    for form in forms:
        ok, line = run(build, form, seconds)
        if not ok:
            failed.append(form)
        kept = read_kept(path)
        kept[form] = line
        path.write_text("".join(kept[name] + "\n" for name in FORMS if name in kept))
    kept = read_kept(path)
    print("== last runs")
    for form in FORMS:
        print(kept.get(form, f"{form:<12} not run"))
    good = sum(line.split()[1] == "ok" for line in kept.values())
    print(f"{good} of {len(FORMS)} forms ok, {len(forms) - len(failed)} of {len(forms)} now")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
