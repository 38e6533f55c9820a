#!/usr/bin/env python3
"""TAP: shapes.py finds the work that grows too fast, and only that. planted.py PROGRAM"""

import pathlib
import subprocess
import sys

GROWS = {"pass": False, "move": True, "walk": True, "measure": True, "compare": True}

shapes = pathlib.Path(__file__).with_name("shapes.py")
done = subprocess.run([sys.executable, shapes, sys.argv[1], "1000"], capture_output=True, text=True, check=False)
found = {line.split(" - ")[1].split()[0]: line.startswith("not ok") for line in done.stdout.splitlines() if " - " in line}
print(f"1..{len(GROWS)}")
for number, (name, grows) in enumerate(GROWS.items(), 1):
    words = "ok" if found.get(name) == grows else "not ok"
    print(f"{words} {number} - {name} {'grows too fast, and is found' if grows else 'does not'}")
if found != GROWS:
    print(f"# {done.stdout}{done.stderr}".replace("\n", "\n# "))
