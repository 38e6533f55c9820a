"""A kube-apiserver as a peer, which COR_KUBE_APISERVER names."""

import http.client
import json
import os
import ssl
import subprocess

from certificates import openssl
from etcd_cluster import die_with_parent, held_port, wait_for
from fixture import Skip

WAIT_S = 60


class KubeApiserver:
    """The real one, with JSON in the store, as $COR_KUBE_APISERVER names it."""

    def __init__(self, etcd, folder, *flags):
        program_name = os.environ.get("COR_KUBE_APISERVER")
        if not program_name:
            raise Skip("name a kube-apiserver in COR_KUBE_APISERVER")
        self.holder, self.folder = held_port(), folder
        self.port = self.holder.getsockname()[1]
        (folder / "tokens.csv").write_text('kube-token,kube,kube,"system:masters"\n')
        openssl("genrsa", "-out", folder / "sa.key", "2048")
        self.command = [program_name, f"--etcd-servers={etcd.urls}", "--storage-media-type=application/json",
                        f"--token-auth-file={folder}/tokens.csv", f"--cert-dir={folder}/certs", f"--secure-port={self.port}",
                        f"--service-account-key-file={folder}/sa.key", f"--service-account-signing-key-file={folder}/sa.key",
                        "--service-account-issuer=https://test", "--service-cluster-ip-range=10.0.0.0/24",
                        "--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount", "--bind-address=127.0.0.1", *flags]

    def __enter__(self):
        log = open(self.folder / "log", "w")
        self.process = subprocess.Popen(self.command, stdout=log, stderr=log, preexec_fn=die_with_parent)
        wait_for("kube-apiserver", 120, self.is_ready)
        return self

    def __exit__(self, kind, value, trace):
        self.process.kill()
        self.process.wait()

    def is_ready(self):
        try:
            return self.request("GET", "/readyz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def connect(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=ssl._create_unverified_context(), timeout=WAIT_S)

    def request(self, method, path, body=None, Content_Type="application/json"):
        connection = self.connect()
        headers = {"Authorization": "Bearer kube-token", "Content-Type": Content_Type}
        connection.request(method, path, json.dumps(body) if body else None, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, json.loads(content) if content[:1] == b"{" else content
