#!/usr/bin/env python3
"""A watch over WebSocket by a real browser: browser.py PROGRAM [FLAG...], with the browser's command in $COR_CLIENT; prints TAP.

A page opens `new WebSocket(...)` with the token among its subprotocols, as a page must, and reports each event to the server
that the page comes from."""

import base64
import http.server
import json
import os
import pathlib
import queue
import shlex
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "integration"))

from fixture import config_map, main, test  # noqa: E402

COMMAND = shlex.split(os.environ["COR_CLIENT"])
WAIT_S = 120
PAGE = """<!doctype html><script>
const report = (what, more) => fetch("/report", {method: "POST", body: JSON.stringify({what, ...more})});
const socket = new WebSocket(%(url)s, %(protocols)s);
socket.onopen = () => report("open", {protocol: socket.protocol});
socket.onmessage = message => {
    const event = JSON.parse(message.data);
    report(event.type, {name: event.object.metadata.name});
};
socket.onclose = end => report("close", {code: end.code, clean: end.wasClean});
</script>"""


class Page:
    """A server of one page, and a browser that shows it."""

    def __init__(self, server, token):
        self.reports = queue.Queue()
        encoded = base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")
        url = f"wss://{server.host}:{server.port}{server.maps}?watch=1"
        protocols = ["base64url.bearer.authorization.k8s.io." + encoded, "v1"]
        page = (PAGE % {"url": json.dumps(url), "protocols": json.dumps(protocols)}).encode()
        reports = self.reports

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200 if self.path == "/" else 404)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(page if self.path == "/" else b"")

            def do_POST(self):
                reports.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_words):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self):
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.profile = tempfile.TemporaryDirectory()
        self.errors = tempfile.TemporaryFile("w+")
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--ignore-certificate-errors",
                 "--no-first-run", f"--user-data-dir={self.profile.name}", "--remote-debugging-port=0"]
        self.browser = subprocess.Popen([*COMMAND, *flags, f"http://127.0.0.1:{self.http.server_port}/"],
                                        stdout=self.errors, stderr=self.errors)
        return self

    def __exit__(self, kind, value, trace):
        self.browser.kill()
        self.browser.wait()
        self.http.shutdown()
        self.http.server_close()
        self.errors.seek(0)
        if kind:
            print("".join(f"# {line}" for line in self.errors.readlines()[-20:]))
        # Its processes may still write there.
        self.profile._finalizer.detach()
        subprocess.run(["rm", "-rf", self.profile.name], check=False)

    def expect(self, **report):
        got = self.reports.get(timeout=WAIT_S)
        assert got == report, f"{got} instead of {report}"


@test
def a_page_watches(server):
    with Page(server, server.token) as page:
        page.expect(what="open", protocol="v1")
        server.create(server.maps, config_map("a"))
        page.expect(what="ADDED", name="a")
        server.request("DELETE", f"{server.maps}/a").expect(200)
        page.expect(what="DELETED", name="a")
        server.restart(keep_port=True)
        page.expect(what="close", code=1000, clean=True)


@test
def a_page_with_a_wrong_token_gets_nothing(server):
    with Page(server, "wrong") as page:
        page.expect(what="close", code=1006, clean=False)


if __name__ == "__main__":
    main()
