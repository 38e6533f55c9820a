"""Authorities and client certificates for tests, made by the openssl program."""

import pathlib
import shutil
import subprocess

from fixture import Skip

CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


# Without it a certificate is none of an authority to those who are strict, as Python 3.13's clients are.
SIGNS = ["-addext", "keyUsage=critical,digitalSignature,keyCertSign"]


def openssl(*words, folder=None):
    if not shutil.which("openssl"):
        raise Skip("openssl is not there")
    subprocess.run(["openssl", *map(str, words)], cwd=folder, check=True, capture_output=True)


class Authority:
    """A CA in a folder: `crt` is its certificate."""

    def __init__(self, folder, name):
        self.folder = pathlib.Path(folder)
        self.name = name
        self.crt, self.key = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        openssl("req", "-x509", *CURVE, "-keyout", self.key, "-out", self.crt, "-subj", f"/CN={name}", "-days", "2", *SIGNS)

    def server(self, name, is_expired=False):
        """The files of a server's certificate and key, for this name and the loopback address."""
        return self.sign(f"/CN={name}", f"extendedKeyUsage=serverAuth\nsubjectAltName=DNS:{name},IP:127.0.0.1\n", is_expired)

    def client(self, subject):
        """The files of a client's certificate and key; `subject` as "/O=group/CN=name"."""
        return self.sign(subject, "extendedKeyUsage=clientAuth\n")

    def sign(self, subject, extensions_text, is_expired=False):
        base = self.folder / (self.name + subject.replace("/", "_").replace(":", "_") + ("_expired" if is_expired else ""))
        crt, key, csr = (base.with_name(base.name + end) for end in (".crt", ".key", ".csr"))
        extensions = base.with_name(base.name + ".ext")
        extensions.write_text(extensions_text)
        openssl("req", *CURVE, "-keyout", key, "-out", csr, "-subj", subject)
        if is_expired:
            self.sign_for_the_past(csr, crt, extensions)
        else:
            openssl("x509", "-req", "-in", csr, "-CA", self.crt, "-CAkey", self.key, "-CAcreateserial", "-out", crt, "-days", 2,
                    "-extfile", extensions)
        return crt, key

    def sign_for_the_past(self, csr, crt, extensions):
        """`openssl x509` takes no days before today since 3.5, and dates only since 3.4; `openssl ca` has always taken dates."""
        config, database, serial = (self.folder / f"{self.name}.{end}" for end in ("cnf", "database", "number"))
        config.write_text(f"[ca]\ndefault_ca = it\n[it]\ndatabase = {database}\nserial = {serial}\nnew_certs_dir = {self.folder}\n"
                          "default_md = sha256\npolicy = names\n[names]\ncommonName = supplied\n")
        database.write_text("")
        serial.write_text("1000\n")
        openssl("ca", "-batch", "-config", config, "-cert", self.crt, "-keyfile", self.key, "-in", csr, "-out", crt, "-notext",
                "-startdate", "20200101000000Z", "-enddate", "20200201000000Z", "-extfile", extensions)
