"""A program that runs, and what it says as it says it."""

import os
import re
import signal
import subprocess
import threading

PATIENCE_S = 60


class Program:
    """Its output, both streams in one, is read by a thread; whoever waits for a line is woken by it."""

    def __init__(self, command, stdin=None, **env):
        self.text = ""
        self.is_over = False  # of the output
        self.changed = threading.Condition()
        self.process = subprocess.Popen([str(word) for word in command], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        env=dict(os.environ, **env))
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None:
            self.kill()
        self.reader.join()
        self.process.stdout.close()

    def read(self):
        while True:
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            with self.changed:
                self.text += piece.decode()
                self.is_over = not piece
                self.changed.notify_all()
            if not piece:
                return

    def says(self, line, times=1):
        """Waits for a whole line, a pattern, or for so many of them."""
        def found():
            return len(re.findall(f"^{line}$", self.text, re.M)) >= times

        with self.changed:
            self.changed.wait_for(lambda: found() or self.is_over, PATIENCE_S)
            assert found(), f"{line!r} is not {times} times in {self.text[-2000:]!r}"
        return self

    def ends(self, expected=0):
        code = self.process.wait(PATIENCE_S)
        self.reader.join(PATIENCE_S)
        assert code == expected, f"ended with {code}: {self.text[-3000:]}"
        return self.text

    def stops(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.ends()

    def kill(self):
        self.process.kill()
        self.process.wait()
