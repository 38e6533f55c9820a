#!/usr/bin/env python3
"""The second client: an ordinary user who works while somebody else attacks. bystander.py URL CA TOKEN NAMESPACE [KUBECONFIG]

Writes a line for each round over HTTPS ("round") and, with a kubeconfig, for each of kubectl ("kubectl"), and for each error.
Ends when its input does, with the latencies of single requests as JSON."""

import http.client
import json
import os
import ssl
import subprocess
import sys
import tempfile
import threading
import time

REQUEST_S = 60
URL, CA, TOKEN, NAMESPACE, *KUBECONFIG = sys.argv[1:]
MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
HEADERS = {"Authorization": "Bearer " + TOKEN}
stopping = threading.Event()
latencies = []


def say(*words):
    sys.stdout.write(" ".join(words).replace("\n", " ") + "\n")
    sys.stdout.flush()


def connect():
    host, port = URL.removeprefix("https://").rsplit(":", 1)
    return http.client.HTTPSConnection(host, int(port), context=ssl.create_default_context(cafile=CA), timeout=REQUEST_S)


def timed(function):
    begin = time.monotonic()
    result = function()
    latencies.append(time.monotonic() - begin)
    return result


def request(connection, method, path, status, body=None, kind="application/json"):
    def ask():
        connection.request(method, path, body and json.dumps(body), {**HEADERS, "Content-Type": kind})
        response = connection.getresponse()
        return response.status, response.read()

    got, text = timed(ask)
    if got != status:
        raise AssertionError(f"{method} {path}: {got} instead of {status}: {text[:300]!r}")
    return json.loads(text)


class Following:
    """A watch, which is told of this client's own writes."""

    def __init__(self):
        self.connection = connect()
        version = request(self.connection, "GET", MAPS + "?limit=1", 200)["metadata"]["resourceVersion"]
        self.connection.request("GET", f"{MAPS}?watch=1&resourceVersion={version}", headers=HEADERS)
        self.stream = self.connection.getresponse()
        if self.stream.status != 200:
            raise AssertionError(f"watch: {self.stream.status}")

    def expect(self, kind, name):
        def read():
            while True:
                line = self.stream.readline()
                if not line:
                    raise AssertionError("the watch ended")
                event = json.loads(line)
                if event["type"] == kind and event["object"]["metadata"]["name"] == name:
                    return

        timed(read)


def play_round(number, connection, following):
    name = f"by-{number}"
    # Some of them are large enough to be worked on by other threads than the loops.
    size = 100_000 if number % 5 == 0 else 1
    made = request(connection, "POST", MAPS, 201, {"metadata": {"name": name}, "data": {"k": "v" * size}})
    following.expect("ADDED", name)
    if request(connection, "GET", f"{MAPS}/{name}", 200)["metadata"]["uid"] != made["metadata"]["uid"]:
        raise AssertionError("another object")
    request(connection, "PATCH", f"{MAPS}/{name}", 200, {"data": {"k": "w"}}, "application/merge-patch+json")
    following.expect("MODIFIED", name)
    if name not in [item["metadata"]["name"] for item in request(connection, "GET", MAPS, 200)["items"]]:
        raise AssertionError("a list without it")
    request(connection, "DELETE", f"{MAPS}/{name}", 200)
    following.expect("DELETED", name)


def work():
    try:
        connection, following = connect(), Following()
        number = 0
        while not stopping.is_set():
            play_round(number, connection, following)
            number += 1
            say("round", str(number))
            if number % 5 == 0:  # A newcomer is served too.
                connection.close()
                connection = connect()
    except Exception as error:
        say("error", type(error).__name__, str(error))


def kubectl(home, *words):
    result = subprocess.run(["kubectl", "--kubeconfig", KUBECONFIG[0], "-n", NAMESPACE, "--request-timeout", str(REQUEST_S), *words],
                            capture_output=True, text=True, timeout=2 * REQUEST_S, env={**os.environ, "HOME": home})
    if result.returncode != 0:
        raise AssertionError(f"kubectl {' '.join(words)}: {result.stderr}")
    return result.stdout


def work_by_kubectl():
    number = 0
    with tempfile.TemporaryDirectory() as home:
        try:
            while not stopping.is_set():
                name = f"kubectl-{number}"
                kubectl(home, "create", "configmap", name, "--from-literal=a=b")
                if name not in kubectl(home, "get", "configmaps", "-o", "name"):
                    raise AssertionError(f"kubectl get does not show {name}")
                kubectl(home, "delete", "configmap", name)
                number += 1
                say("kubectl", str(number))
        except Exception as error:
            say("error", type(error).__name__, str(error))


def main():
    threads = [threading.Thread(target=work)]
    if KUBECONFIG:
        threads.append(threading.Thread(target=work_by_kubectl))
    for thread in threads:
        thread.start()
    sys.stdin.read()
    stopping.set()
    for thread in threads:
        thread.join()
    ordered = sorted(latencies)
    at = lambda share: round(1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 1) if ordered else None
    say("done", json.dumps({"requests": len(ordered), "p50": at(0.5), "p99": at(0.99), "max": at(1)}))


if __name__ == "__main__":
    main()
