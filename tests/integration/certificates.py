"""Authorities and client certificates for tests, made by the openssl program."""

import pathlib
import subprocess

CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


class Authority:
    """A CA in a folder: `crt` is its certificate."""

    def __init__(self, folder, name):
        self.folder = pathlib.Path(folder)
        self.name = name
        self.crt, self.key = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        openssl("req", "-x509", *CURVE, "-keyout", self.key, "-out", self.crt, "-subj", f"/CN={name}", "-days", "2")

    def server(self, name, days=2):
        """The files of a server's certificate and key, for this name and the loopback address. It has expired with less than 0 days."""
        return self.sign(f"/CN={name}", f"extendedKeyUsage=serverAuth\nsubjectAltName=DNS:{name},IP:127.0.0.1\n", days)

    def client(self, subject):
        """The files of a client's certificate and key; `subject` as "/O=group/CN=name"."""
        return self.sign(subject, "extendedKeyUsage=clientAuth\n")

    def sign(self, subject, extensions_text, days=2):
        base = self.folder / (self.name + subject.replace("/", "_").replace(":", "_") + (f"_{days}" if days != 2 else ""))
        crt, key, csr = (base.with_name(base.name + end) for end in (".crt", ".key", ".csr"))
        extensions = base.with_name(base.name + ".ext")
        extensions.write_text(extensions_text)
        openssl("req", *CURVE, "-keyout", key, "-out", csr, "-subj", subject)
        openssl("x509", "-req", "-in", csr, "-CA", self.crt, "-CAkey", self.key, "-CAcreateserial", "-out", crt, "-days", days,
                "-extfile", extensions)
        return crt, key
