#!/usr/bin/env python3
"""Who gets in, what they may do, and the life of the process. access.py PROGRAM [FLAG...]"""

import os
import pathlib
import select
import subprocess
import sys
import tempfile

from certificates import openssl
from fixture import Server, UnixConnection, config_map, main, test, token_file

PROGRAM = sys.argv[1]
FLAGS = sys.argv[2:]


@test
def nobody_sees_only_health_and_version(server):
    for path in ("/healthz", "/livez", "/readyz", "/version"):
        server.get(path, token=None).expect(200)
    server.get("/readyz/etcd").expect(200)
    for path in ("/", "/readyz/etcd", "/api", "/apis", "/metrics", "/api/v1/pods", "/nothing"):
        status = server.get(path, token=None).expect(401).json()
        assert (status["reason"], status["message"]) == ("Unauthorized", "Unauthorized")
    server.get("/healthz", token="wrong").expect(401)
    answer = server.get("/api/v1/pods", token=None, Accept="application/vnd.kubernetes.protobuf").expect(401)
    assert answer.headers["Content-Type"] == "application/vnd.kubernetes.protobuf" and answer.body[:4] == b"k8s\0", answer.headers
    assert b"Unauthorized" in answer.body
    answer = server.get("/api/v1/pods", token=None, Accept="application/yaml").expect(401)
    assert answer.headers["Content-Type"] == "application/yaml" and b"reason: Unauthorized" in answer.body, answer.body


@test
def tokens_of_a_file_name_users(server):
    with tempfile.TemporaryDirectory() as folder:
        with Server(PROGRAM, "--token-auth-file", token_file(folder), *FLAGS) as other:
            other.get("/api/v1/pods", token="t-root").expect(200)
            status = other.get("/api/v1/namespaces/x/pods/y", token="t-ann").expect(403).json()
            assert status["message"] == ('pods "y" is forbidden: User "ann" cannot get resource "pods" in API group "" '
                                         'in the namespace "x"'), status
            assert status["details"] == {"name": "y", "kind": "pods"}
            status = other.get("/metrics", token="t-ann").expect(403).json()
            assert status["message"] == 'forbidden: User "ann" cannot get path "/metrics"'


@test
def always_allow_lets_users_in(server):
    with tempfile.TemporaryDirectory() as folder:
        flags = ["--token-auth-file", token_file(folder), "--authorization-mode", "AlwaysAllow", *FLAGS]
        with Server(PROGRAM, *flags) as other:
            other.get("/api/v1/pods", token="t-ann").expect(200)
            other.get("/api/v1/pods", token=None).expect(401)


WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
MAY = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def whoami(server, **headers):
    review = {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}
    return server.request("POST", WHO, review, **headers).expect(201).json()["status"]["userInfo"]


@test
def a_master_acts_as_somebody_else_with_that_ones_rights(server):
    """Contract access 2.9."""
    as_bob = {"Impersonate_User": "bob"}
    status = server.request("POST", server.maps, config_map("of-bob"), **as_bob).expect(403).json()
    assert status["message"] == ('configmaps is forbidden: User "bob" cannot create resource "configmaps" in API group "" '
                                 f'in the namespace "{server.ns}"'), status
    server.get(server.maps + "/of-bob").expect(404)
    server.get(server.maps + "?watch=1", **as_bob).expect(403)
    server.get("/metrics", **as_bob).expect(403)
    server.get("/healthz", **as_bob).expect(200)
    server.request("POST", server.maps, config_map("of-a-master"), Impersonate_User="bob",
                   Impersonate_Group="system:masters").expect(201)
    assert whoami(server, **as_bob) == {"username": "bob", "groups": ["system:authenticated"]}
    assert whoami(server, Impersonate_User="system:serviceaccount:ns:sa", Impersonate_Uid="7",
                  **{"Impersonate-Extra-Acme.com%2FTeam": "blue"}) == {
        "username": "system:serviceaccount:ns:sa", "uid": "7", "extra": {"acme.com/team": ["blue"]},
        "groups": ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"]}
    review = {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1",
              "spec": {"resourceAttributes": {"verb": "list", "resource": "pods"}}}
    assert server.create(MAY, review)["status"]["allowed"]
    assert not server.request("POST", MAY, review, **as_bob).expect(201).json()["status"]["allowed"]
    # Somebody who was made nobody is told so as upstream tells it, not asked for credentials.
    server.get("/api/v1/pods", Impersonate_User="system:anonymous").expect(403)


@test
def only_who_may_acts_as_somebody_else(server):
    with tempfile.TemporaryDirectory() as folder:
        with Server(PROGRAM, "--token-auth-file", token_file(folder), *FLAGS) as other:
            status = other.get("/healthz", token="t-ann", Impersonate_User="bob").expect(403).json()
            assert status["message"] == ('users "bob" is forbidden: User "ann" cannot impersonate resource "users" in API '
                                         'group "" at the cluster scope'), status
            assert status["details"] == {"name": "bob", "kind": "users"}, status
            other.get("/healthz", token=None, Impersonate_User="bob").expect(401)
            other.get("/api/v1/pods", token="t-root", Impersonate_User="ann").expect(403)


@test
def groups_of_nobody_are_refused(server):
    for headers, asked in (({"Impersonate_Group": "gg"}, "{Group  gg    }"),
                           ({"Impersonate_Uid": "u"}, "{UID  u  authentication.k8s.io/v1  }"),
                           ({"Impersonate_Extra_A": "v"}, "{UserExtra  v  authentication.k8s.io/v1  a}")):
        answer = server.get("/api/v1/pods", **headers).expect(500)
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8", answer.headers
        assert answer.body.decode() == (f'Internal Server Error: "/api/v1/pods": requested [{asked}] '
                                        'without impersonating a user\n'), answer.body


@test
def a_unix_socket_knows_its_peer(server):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "s.sock"
        with Server(PROGRAM, "--unix-socket", str(path), *FLAGS) as other:
            connection = UnixConnection(path)
            other.get("/api/v1/namespaces", token=None, connection=connection).expect(200)
            connection.close()


@test
def client_certificates_name_users(server):
    with tempfile.TemporaryDirectory() as folder:
        at = lambda name: os.path.join(folder, name)
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        openssl("req", "-x509", *curve, "-keyout", at("ca.key"), "-out", at("ca.crt"), "-subj", "/CN=ca", "-days", "2")
        for name, subject in (("ann", "/O=dev/CN=ann"), ("root", "/O=system:masters/CN=root")):
            openssl("req", *curve, "-keyout", at(name + ".key"), "-out", at(name + ".csr"), "-subj", subject)
            openssl("x509", "-req", "-in", at(name + ".csr"), "-CA", at("ca.crt"), "-CAkey", at("ca.key"),
                    "-CAcreateserial", "-out", at(name + ".crt"), "-days", "2")
        openssl("req", "-x509", *curve, "-keyout", at("eve.key"), "-out", at("eve.crt"), "-subj",
                "/O=system:masters/CN=eve", "-days", "2")
        with Server(PROGRAM, "--client-ca-file", at("ca.crt"), *FLAGS) as other:
            pair = lambda name: (at(name + ".crt"), at(name + ".key"))
            other.get("/api/v1/pods", token=None, cert=pair("root")).expect(200)
            status = other.get("/api/v1/pods", token=None, cert=pair("ann")).expect(403).json()
            assert 'User "ann" cannot list resource "pods"' in status["message"]
            other.get("/api/v1/pods", token=None, cert=pair("eve")).expect(401)


@test
def a_second_start_keeps_objects_and_credentials(server):
    with Server(PROGRAM, *FLAGS) as other:
        made = other.create("/api/v1/namespaces/default/configmaps", config_map("a"))
        token, ca = other.token, (other.data / "pki/ca.crt").read_bytes()
        assert (other.data / "admin.kubeconfig").stat().st_mode & 0o777 == 0o600
        other.restart()
        assert other.token == token and (other.data / "pki/ca.crt").read_bytes() == ca
        assert other.url in (other.data / "admin.kubeconfig").read_text()
        assert other.get("/api/v1/namespaces/default/configmaps/a").expect(200).json() == made


def refuse(*flags):
    result = subprocess.run([PROGRAM, "serve", *flags], capture_output=True, text=True, timeout=60)
    assert result.returncode != 0
    return result.stderr


@test
def what_is_wrong_is_said(server):
    with tempfile.TemporaryDirectory() as folder:
        held = f"held by process {server.process.pid}; stop it, or name another folder with --data"
        assert server.on_etcd or held in refuse("--data", str(server.data), "--port", "0")
        said = refuse("--data", folder, "--port", str(server.port))
        assert f"port {server.port} is in use" in said, said
        assert "did you mean --token-auth-file?" in refuse("--token-auth-fil", "x")
        assert "is not a numeric address" in refuse("--data", folder, "--bind-address", "localhost")
        assert "there is no such file" in refuse("--data", folder, "--tls-cert-file", "/no", "--tls-private-key-file", "/no")
        assert "belong together" in refuse("--data", folder, "--tls-cert-file", "/no")
        said = refuse("--data", folder, "--port", "0", "--controllers", "*,-nodes")
        assert '"nodes" is not in the list of known controllers' in said and "serviceaccount-controller" in said, said
        said = refuse("--data", folder, "--port", "0", "--token-auth-file", "/no/tokens")
        assert "token file '/no/tokens': No such file" in said, said


@test
def a_parent_that_ends_takes_the_server_with_it(server):
    with tempfile.TemporaryDirectory() as folder:
        read_end, write_end = os.pipe()
        script = ("import subprocess, sys; p = subprocess.Popen(sys.argv[1:], pass_fds=[int(sys.argv[-1])]); "
                  "print(p.pid, flush=True); sys.stdin.read()")
        parent = subprocess.Popen([sys.executable, "-c", script, PROGRAM, "serve", "--data", folder, "--port", "0",
                                   "--die-with-parent", "--ready-fd", str(write_end)],
                                  pass_fds=[write_end], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        child = int(parent.stdout.readline())
        os.close(write_end)
        with os.fdopen(read_end) as ready:
            assert ready.readline().startswith("https://")
        handle = os.pidfd_open(child)
        parent.kill()
        parent.wait()
        assert select.select([handle], [], [], 60)[0], "the server goes on alone"
        os.close(handle)
        parent.stdout.close()
        parent.stdin.close()


if __name__ == "__main__":
    main()
