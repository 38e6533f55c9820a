"""A small TAP frame for tests of a program: each function of a module whose name begins with `test_` gets a fresh
Program and fails by AssertionError."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import traceback

TIMEOUT_S = 120


class Outcome:
    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    def ok(self):
        assert self.status == 0, f"status {self.status}: {self.err.strip()}"
        return self.out

    def json(self):
        return json.loads(self.out)

    def fails(self, status, *texts):
        assert self.status == status, f"status {self.status}, expected {status}: {self.out}{self.err}"
        for text in texts:
            assert text in self.err, f"expected {text!r} in {self.err!r}"
        return self


class Program:
    """The program under test, with a folder of its own."""

    def __init__(self, path):
        self.path = path
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cor-cli-"))
        self.data = self.folder / "data"

    def run(self, *args, stdin="", **kwargs):
        done = subprocess.run([self.path, *map(str, args)], input=stdin, capture_output=True, text=True,
                              timeout=TIMEOUT_S, check=False, **kwargs)
        return Outcome(done)

    def store(self, command, *args, stdin=""):
        return self.run("store", command, *args, "--data", self.data, stdin=stdin)

    def start(self, command, *args):
        return subprocess.Popen([self.path, "store", command, *map(str, args), "--data", str(self.data)],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                stdin=subprocess.DEVNULL)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def config_map(name, namespace="default", labels=None, **data):
    metadata = {"name": name, "namespace": namespace}
    if labels:
        metadata["labels"] = labels
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": data}


def main(module):
    tests = [(name, fn) for name, fn in vars(module).items() if name.startswith("test_")]
    print(f"1..{len(tests)}")
    failed = 0
    for number, (name, test) in enumerate(tests, 1):
        program = Program(os.path.abspath(sys.argv[1]))
        try:
            test(program)
            print(f"ok {number} - {name[5:]}", flush=True)
        except (AssertionError, KeyError, ValueError, subprocess.TimeoutExpired):
            failed += 1
            print(f"not ok {number} - {name[5:]}")
            print("\n".join("# " + line for line in traceback.format_exc().splitlines()), flush=True)
        finally:
            program.close()
    return 1 if failed else 0
