#!/usr/bin/env python3
"""What ./dev says of words that it does not know. Argument: the source root."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[1]).resolve()
CASES = [
    (["tset"], "dev: unknown verb 'tset'; did you mean 'test'? ./dev help lists the verbs"),
    (["nonsense"], "dev: unknown verb 'nonsense'; ./dev help lists the verbs"),
    (["run", "stroe"], "dev: run: unknown word 'stroe'; did you mean 'store'?"),
    (["types"], "dev: types: expected CHECKOUT VERSION, or --check CHECKOUT"),
    (["run", "xyzzy"], "dev: run: unknown word 'xyzzy'; expected 'store', or flags of `coracle serve`"),
]

print(f"1..{len(CASES)}")
for n, (words, want) in enumerate(CASES, 1):
    done = subprocess.run([ROOT / "dev", *words], capture_output=True, text=True, timeout=300)
    ok = done.returncode == 1 and done.stderr.splitlines() == [want]
    print(f"{'ok' if ok else 'not ok'} {n} - dev {' '.join(words)}")
    if not ok:
        print("# " + f"{done.returncode}\n{done.stderr}".replace("\n", "\n# "))
