#!/usr/bin/env python3
"""Attacks on a real server over TLS while a second client works beside them. hostile.py PROGRAM [--long] [GROUP|WORD...]

Each attack reaches one row of docs/internals/limits.md. Meanwhile an ordinary user works with a client of Python's and with
kubectl (named as skipped where there is none), and may not meet an error. --long attacks longer and harder, and also
wants the 99th percentile of that user's requests under 250 ms. GROUP is "before" or "after": before or
after authentication. With words, only the attacks whose name has one of them."""

import json
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "integration"))

from fixture import Server, report  # noqa: E402

LIMITS = (HERE.parents[1] / "docs/internals/limits.md").read_text()
PATIENCE_S = 120
P99_MS = 250
# mallory attacks; bea works; both are ordinary users who may do everything.
TOKENS = "t-mallory,mallory,1\nt-bea,bea,2\nt-root,root,3,system:masters\n"


class Bystander:
    """bystander.py in a process of its own, so that the attacker's work does not count as its waiting."""

    def __init__(self, server, folder):
        command = [sys.executable, str(HERE / "bystander.py"), server.url, str(server.data / "pki/ca.crt"), "t-bea", "default"]
        self.has_kubectl = shutil.which("kubectl") is not None
        if self.has_kubectl:
            command.append(self.write_kubeconfig(server, folder))
        self.counts, self.errors, self.result = {"round": 0, "kubectl": 0}, [], None
        self.changed = threading.Condition()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    @staticmethod
    def write_kubeconfig(server, folder):
        path = pathlib.Path(folder) / "bea.kubeconfig"
        path.write_text(json.dumps({
            "kind": "Config", "apiVersion": "v1", "current-context": "x",
            "clusters": [{"name": "x", "cluster": {"server": server.url, "certificate-authority": str(server.data / "pki/ca.crt")}}],
            "users": [{"name": "x", "user": {"token": "t-bea"}}], "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}]}))
        return str(path)

    def read(self):
        for line in self.process.stdout:
            word, _, rest = line.strip().partition(" ")
            with self.changed:
                if word in self.counts:
                    self.counts[word] = int(rest)
                elif word == "done":
                    self.result = json.loads(rest)
                else:
                    self.errors.append(rest)
                self.changed.notify_all()

    def wait(self, rounds, of_kubectl):
        """Until it has worked so many rounds more from now on."""
        with self.changed:
            wanted = {"round": self.counts["round"] + rounds,
                      "kubectl": self.counts["kubectl"] + (of_kubectl if self.has_kubectl else 0)}
            is_there = lambda: self.errors or all(self.counts[word] >= n for word, n in wanted.items())
            assert self.changed.wait_for(is_there, PATIENCE_S), f"the second client stands still at {self.counts}, not {wanted}"
            assert not self.errors, f"the second client met an error: {self.errors}"

    def finish(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)
        self.reader.join()
        assert not self.errors, f"the second client met an error: {self.errors}"
        return self.result

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        if not self.process.stdin.closed:
            self.process.stdin.close()


class Field:
    """Where an attack takes place: a server, and what can be seen of it."""

    def __init__(self, server, bystander, is_long):
        self.server, self.bystander, self.is_long = server, bystander, is_long

    def of(self, short, long):
        return long if self.is_long else short

    def rss_mb(self):
        status = pathlib.Path(f"/proc/{self.server.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def metric(self, name):
        """The sum of a metric's series; `name` may have some of its labels."""
        text = self.server.get("/metrics").expect(200).body.decode()
        found = [line for line in text.splitlines() if line.startswith(name) and line[len(name)] in "{ ,}"]
        assert found, f"there is no metric {name}"
        return sum(float(line.rsplit(" ", 1)[1]) for line in found)

    def longest_turn(self):
        """Of all loops, in seconds of its thread's CPU time, since the server began."""
        text = self.server.get("/metrics").expect(200).body.decode()
        return max(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith("coracle_loop_turn_max_seconds"))

    def expect_turns_under(self, seconds):
        longest = self.longest_turn()
        assert longest < seconds, f"a turn of a loop took {1000 * longest:.1f} ms"

    def work(self):
        """The second client works while the attack stands as it is."""
        self.bystander.wait(self.of(10, 200), self.of(1, 5))

    def expect_memory_under(self, base_mb, growth_mb):
        now = self.rss_mb()
        assert now < base_mb + growth_mb, f"{now:.0f} MB, {base_mb:.0f} MB before the attack, at most {growth_mb} more"

    def wait_until(self, is_so, what):
        end = time.monotonic() + PATIENCE_S
        while not is_so():
            assert time.monotonic() < end, f"not in time: {what}"
            time.sleep(0.02)


def play(program, attack, is_long):
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tokens = pathlib.Path(folder) / "tokens.csv"
        tokens.write_text(TOKENS)
        with Server(program, "--token-auth-file", str(tokens), "--authorization-mode", "AlwaysAllow", *attack.flags) as server:
            with Bystander(server, folder) as bystander:
                bystander.wait(2, 0)
                field = Field(server, bystander, is_long)
                base = field.rss_mb()
                attack(field)
                highest, turn = field.rss_mb(), field.longest_turn()
                seen = bystander.finish()
    print(f"# {attack.__name__}: {seen['requests']} requests beside it, p50 {seen['p50']} ms, p99 {seen['p99']} ms, "
          f"longest {seen['max']} ms; longest turn of a loop {1000 * turn:.1f} ms; memory {base:.0f} -> {highest:.0f} MB; {time.monotonic() - begin:.1f} s", flush=True)
    if is_long:
        assert seen["p99"] < P99_MS, f"p99 is {seen['p99']} ms"


def main():
    import attacks

    program, *words = sys.argv[1:]
    is_long = "--long" in words
    words = [word for word in words if word != "--long"]
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if not shutil.which("kubectl"):
        print("# skipped: kubectl is not installed; the second client speaks HTTPS from Python alone")
    groups = {one.group for one in attacks.ATTACKS}.intersection(words)
    words = [word.replace("-", "_") for word in words if word not in groups]
    chosen = [one for one in attacks.ATTACKS
              if (not groups or one.group in groups) and (not words or any(word in one.__name__ for word in words))]

    if not chosen:
        sys.exit(f"hostile.py: no attack is named so: {' '.join(words)}")

    def every_attack_has_its_row():
        for one in attacks.ATTACKS:
            name = one.__name__.replace("_", "-")
            assert f"`{name}`" in LIMITS, f"docs/internals/limits.md has no row with `{name}`"

    run = lambda one: one() if one is every_attack_has_its_row else play(program, one, is_long)
    sys.exit(report([every_attack_has_its_row, *chosen], run))


if __name__ == "__main__":
    main()
