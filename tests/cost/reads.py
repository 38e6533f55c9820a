#!/usr/bin/env python3
"""What reads of odd objects cost, beside those of a plain object of the same size. reads.py PROGRAM [N]

tests/cost/reads.c reads objects of N elements (1,000) in every form, and valgrind counts the instructions of each read. Objects that
are stored and read ten thousand times per second have any shape: thousands of managed fields, labels, annotations, owners or
items, deep nesting, escapes. What a read copies is not counted, since all objects have the same bytes and the buffer of the test
grows by copying; what is left is judged:

- forms that are kept or are the object's own bytes (JSON, metadata, what was once made in protobuf): at most 1.1 times what
  the plain object takes, so that no read walks the object;
- tables, and selectors, which look for a few members: BARS instructions for each byte of the object. They pass every byte once or
  twice; a byte of a long text takes 2 instructions, and one of short members 8;
- what is made in protobuf for the first time: an element of 16 bytes is read, found in its type and written by 1,200 instructions.

A delivery is the difference between many watches and few, for each of those that are more."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
N = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
ALLOWED = 1.1
# The loop's other work falls into the counts: of a read, and of a delivery, which is the mean of many. The clock decides how many
# turns these are spread over, and so how many each of them pays for.
NOISE, NOISE_OF_DELIVERIES = 3000, 1000
BARS = {"get-table": 12, "list-table": 12, "watch-table": 12, "list-by-label": 12, "list-by-field": 12, "watch-by-label": 12,
        "list-protobuf-first": 100}
COPIES = re.compile(r"mem(cpy|move|set|pcpy)|realloc|mremap")


def instructions(path):
    """The cost of all functions in a dump of callgrind but those that copy."""
    names, total, counts, is_call = {}, 0, True, False
    for line in path.read_text(errors="replace").splitlines():
        if line.startswith(("fn=", "cfn=")):
            number, _, name = line.partition("=")[2].partition(" ")
            names.setdefault(number, name)
            if line.startswith("fn="):
                counts = not COPIES.search(names[number])
        elif line.startswith("calls="):
            is_call = True  # the next line has what the called function took
        elif re.match(r"[+*\-\d]", line):
            if counts and not is_call:
                total += int(line.split()[-1])
            is_call = False
    return total


def drive():
    """{(form, shape): instructions of one read or delivery}, and the bytes of an object."""
    counted = {}
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", "--dump-after=drive_read",
                   "--zero-before=drive_read", "--toggle-collect=drive_read", "--dump-instr=no", "--dump-line=no", PROGRAM, str(N)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=3600)
        assert done.returncode == 0, done.stderr[-2000:]
        for number, line in enumerate(done.stdout.splitlines(), 1):
            form, shape, size, readers = line.split()
            took = instructions(pathlib.Path(folder, f"out.{number}"))
            readers = counted.setdefault((form, shape), {}).setdefault(int(readers), [])
            readers.append(took)
    reads = {}
    for key, readers in counted.items():
        few, many = min(readers), max(readers)
        reads[key] = min(readers[many])
        if few < many:
            reads[key] = (reads[key] - min(readers[few])) / (many - few)
    return {key: took for key, took in reads.items() if key[1] != "warm"}, int(size)


if not shutil.which("valgrind"):
    print("1..0 # SKIP valgrind is not installed")
    sys.exit(0)
reads, size = drive()
forms = list(dict.fromkeys(form for form, _ in reads))
print(f"1..{len(forms)}")
for number, form in enumerate(forms, 1):
    plain = reads[form, "plain"]
    bar = BARS[form] * size if form in BARS else ALLOWED * plain + (NOISE_OF_DELIVERIES if form.startswith("watch") else NOISE)
    row = {shape: took for (of, shape), took in reads.items() if of == form}
    worst = max(row, key=row.get)
    print("# " + ", ".join(f"{shape} {took:.0f}" for shape, took in row.items()))
    print(f"{'ok' if row[worst] <= bar else 'not ok'} {number} - {form}: {row[worst]:.0f} instructions of at most {bar:.0f}, for {worst} "
          f"in {size} bytes", flush=True)
