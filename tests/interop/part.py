"""A program beside the server, as real as it is: a controller, or an API server behind ours."""

import pathlib
import subprocess
import tempfile

LINES = 30


class Part:
    """A program that runs until the end; what it said last is shown when a test has failed."""

    def __init__(self, command, env=None):
        self.name = pathlib.Path(command[0]).name
        self.log = tempfile.TemporaryFile("w+", errors="replace")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, env=env)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def show(self):
        self.log.seek(0)
        for line in self.log.readlines()[-LINES:]:
            print(f"# {self.name}: {line.rstrip()[:300]}")
