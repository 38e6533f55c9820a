#!/usr/bin/env python3
"""A front proxy names the users, and nobody else does. front_proxy.py PROGRAM [FLAG...]"""

import shutil
import ssl
import sys
import tempfile

from certificates import Authority
from fixture import Server, Skip, await_it, main, test

PROGRAM = sys.argv[1]
FLAGS = sys.argv[2:]
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW = {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}
PODS = "/api/v1/pods"
AS_ROOT = {"X-Remote-User": "root", "X-Remote-Group": "system:masters"}


class Behind:
    """A server with a CA of clients and one of proxies, both in a folder of its own."""

    def __init__(self, *flags):
        if not shutil.which("openssl"):
            raise Skip("openssl is not there")
        self.folder = tempfile.TemporaryDirectory()
        self.clients, self.proxies = Authority(self.folder.name, "clients"), Authority(self.folder.name, "proxies")
        self.server = Server(PROGRAM, "--client-ca-file", self.clients.crt, "--requestheader-client-ca-file", self.proxies.crt,
                             *flags, *FLAGS)

    def __enter__(self):
        self.server.__enter__()
        return self

    def __exit__(self, *why):
        self.server.__exit__(*why)
        self.folder.cleanup()

    def get(self, cert, token=None, **headers):
        return self.server.get(PODS, token=token, cert=cert, **headers).status

    def who(self, cert, **headers):
        return self.server.request("POST", WHO, REVIEW, token=None, cert=cert, **headers).expect(201).json()["status"]["userInfo"]


@test
def a_proxy_says_who_sends_a_request(server):
    """Contract access 2.3.1, 2.3.2."""
    with Behind("--requestheader-allowed-names", "proxy", "--requestheader-uid-headers", "X-Remote-Uid") as behind:
        proxy = behind.proxies.client("/CN=proxy")
        assert behind.get(proxy, **AS_ROOT) == 200
        assert behind.get(proxy, **{"X-Remote-User": "ann"}) == 403
        assert behind.who(proxy, **{"X-Remote-User": "ann", "X-Remote-Uid": "7", "X-Remote-Group": "dev",
                                    "X-Remote-Extra-Acme.com%2FTeam": "blue"}) == {
            "username": "ann", "uid": "7", "groups": ["dev", "system:authenticated"], "extra": {"acme.com/team": ["blue"]}}
        # Another common name, and no headers at all.
        assert behind.get(behind.proxies.client("/CN=other"), **AS_ROOT) == 401
        assert behind.get(proxy) == 401
        # A proxy's user impersonates as others do.
        assert behind.who(proxy, **AS_ROOT, **{"Impersonate-User": "bob"}) == {"username": "bob", "groups": ["system:authenticated"]}
        status = behind.server.get(PODS, token=None, cert=proxy, **{"X-Remote-User": "ann", "Impersonate-User": "bob"}).expect(403)
        assert 'User "ann" cannot impersonate resource "users"' in status.json()["message"], status.body


@test
def nobody_else_is_believed(server):
    """Contract access 2.3: every spelling of the headers, from everybody but a proxy."""
    with Behind() as behind:
        root, ann = behind.clients.client("/O=system:masters/CN=root"), behind.clients.client("/CN=ann")
        stranger = Authority(behind.folder.name, "strangers").client("/CN=proxy")
        assert behind.get(root) == 200 and behind.get(ann) == 403 and behind.get(None) == 401 and behind.get(stranger) == 401
        spellings = ["X-Remote-User", "x-remote-user", "X-REMOTE-USER", "X_Remote_User", "x-remote_user", "X-Remote-User ",
                     "HTTP_X_REMOTE_USER", "X-Forwarded-User", "Remote-User", "X--Remote-User"]
        for name in spellings:
            group = name.replace("User", "Group").replace("user", "group").replace("USER", "GROUP")
            lines = [f"{name}: root", f"{group}: system:masters"]
            for cert, expected in ((None, (401, 400)), (ann, (403, 400)), (stranger, (401, 400))):
                for form in (lines, lines * 2, [lines[0] + "\r\n ", lines[1]], [f"{name}:\r\n root", lines[1]],
                             ["Connection: keep-alive, " + name.strip(), *lines], ["X-A: b\r\n\t" + lines[0], lines[1]]):
                    code = raw(behind.server, cert, form)
                    assert code in expected, (name, cert, form, code)
        # Nor together with a token, whose user it stays.
        assert behind.get(None, token="admin", **{"X-Remote-User": "ann"}) == 200
        assert behind.get(ann, token="wrong", **AS_ROOT) == 403


def raw(server, cert, lines):
    """The code of the answer to a GET with these lines of headers, sent as they are."""
    context = ssl.create_default_context(cafile=server.data / "pki/ca.crt")
    if cert:
        context.load_cert_chain(*cert)
    connection = server.connect(cert)
    connection.connect()
    try:
        head = "\r\n".join([f"GET {PODS} HTTP/1.1", f"Host: {server.host}", *lines]) + "\r\n\r\n"
        connection.sock.sendall(head.encode())
        return int(connection.sock.recv(4096).split()[1])
    finally:
        connection.close()


@test
def authorities_are_replaced_while_connections_are_open(server):
    """Contract access 2.2.1: files are reloaded, and certificates are judged per request."""
    with Behind() as behind:
        proxy, root = behind.proxies.client("/CN=proxy"), behind.clients.client("/O=system:masters/CN=root")
        kept = behind.server.connect(proxy)
        ask = lambda: behind.server.get(PODS, token=None, connection=kept, **AS_ROOT).status
        assert ask() == 200
        old = behind.proxies.crt.read_bytes()
        behind.proxies.crt.write_text("nothing")
        await_it(lambda: "cannot be used" in behind.server.output(), "a line of the log")
        assert ask() == 200
        behind.proxies.crt.write_bytes(behind.clients.crt.read_bytes())
        await_it(lambda: ask() == 401, "another CA")
        # A client's certificate passes for a proxy's now; names are not limited here.
        assert behind.get(root, **{"X-Remote-User": "ann"}) == 403
        behind.proxies.crt.write_bytes(old)
        await_it(lambda: ask() == 200, "the first CA")
        kept.close()


@test
def flags_that_cannot_be_meant_are_refused(server):
    import subprocess
    with tempfile.TemporaryDirectory() as folder:
        def refuse(*flags):
            done = subprocess.run([PROGRAM, "serve", "--data", folder, "--port", "0", *flags], capture_output=True, text=True)
            assert done.returncode != 0, flags
            return done.stderr
        assert "--requestheader-client-ca-file /no: " in refuse("--requestheader-client-ca-file", "/no")
        assert "there is no certificate" in refuse("--requestheader-client-ca-file", "/dev/null")
        assert 'empty value in "requestheader-group-headers"' in refuse("--requestheader-group-headers", "a,,b")
        assert "standard X-Remote-Uid" in refuse("--requestheader-uid-headers", "uid")


main()
