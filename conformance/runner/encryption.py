"""Connections that are encrypted [NET-5]: an authority of this run's own, whose certificates
servers and agents show."""

import os
import subprocess
import tempfile

NAME = "conformance"


def certificates(program):
    """Makes them, and gives them to all agents by the environment. Returns the folder's object,
    with which the files go, and the options of a server that takes nobody else."""
    folder = tempfile.TemporaryDirectory()
    for words in (["authority"], ["server"], ["client", NAME]):
        subprocess.run([program, "cert", words[0], folder.name, *words[1:]], check=True,
                       capture_output=True)

    def file(name):
        return os.path.join(folder.name, name)

    os.environ.update(IW_CA=file("ca.pem"), IW_CERT=file(f"{NAME}.pem"),
                      IW_KEY=file(f"{NAME}.key"))
    return folder, ["--tls-cert", file("server.pem"), "--tls-key", file("server.key"),
                    "--tls", "required", "--client-ca", file("ca.pem")]
