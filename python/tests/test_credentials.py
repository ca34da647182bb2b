"""The options ca, cert, key and token of an opening [CRED-1], with a real server."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, Iterator

import pytest
from conftest import Script, Server, program

import interweave


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """A folder with an authority, a server's certificate, and those of alice and bob."""
    for words in (["authority"], ["server"], ["client", "alice"], ["client", "bob"]):
        subprocess.run([program("IW_TEST_SERVER", "target/release/interweave"), "cert", words[0],
                        str(tmp_path), *words[1:]], check=True, capture_output=True)
    return tmp_path


@pytest.fixture
def url(papers: Path) -> Iterator[str]:
    """A server that takes clients by their certificates alone."""
    server = Server("--tls-cert", str(papers / "server.pem"), "--tls-key",
                    str(papers / "server.key"), "--tls", "required", "--client-ca",
                    str(papers / "ca.pem"))
    yield f"iws://{server.address}/s"
    server.kill()


def test_options_go_before_the_environment(
        url: str, papers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("IW_CA", "IW_CERT", "IW_KEY"):
        monkeypatch.setenv(name, "/nowhere.pem")
    with interweave.open(url, ca=papers / "ca.pem", cert=papers / "alice.pem",
                         key=str(papers / "alice.key")) as segment:
        with segment.write():
            pass


def test_a_file_that_cannot_be_used_is_named(url: str, papers: Path) -> None:
    with pytest.raises(interweave.Denied, match=r"nowhere\.pem.*option ca"):
        interweave.open(url, ca="/nowhere.pem")
    with pytest.raises(interweave.Denied, match=r"bob\.key.*option key"):
        interweave.open(url, ca=papers / "ca.pem", cert=papers / "alice.pem",
                        key=papers / "bob.key")
    with pytest.raises(interweave.Denied, match="options cert and key"):
        interweave.open(url, ca=papers / "ca.pem", cert=papers / "alice.pem")


@pytest.mark.parametrize("option", ["token", "ca", "cert", "key"])
def test_a_text_with_a_nul_byte_is_not_cut(option: str) -> None:
    given: Any = {option: "secret\0more"}
    with pytest.raises(interweave.BadArgument, match=f"the option {option} has a NUL") as failure:
        interweave.open("127.0.0.1:1/s", **given)
    assert "secret" not in str(failure.value)
    with pytest.raises(interweave.BadUrl, match="NUL"):
        interweave.open("127.0.0.1:1/s\0more")


@pytest.mark.parametrize("option, value, wanted", [
    ("token", b"iw_x", "a str"), ("token", 5, "a str"), ("ca", 5, "a str, an os.PathLike"),
    ("cert", b"/x.pem", "a str, an os.PathLike"), ("quota", "1G", "a whole number of bytes"),
    ("quota", 1.5, "a whole number of bytes"), ("timeout", "30", "a number of seconds"),
    ("timeout", None, "a number of seconds"), ("create", "yes", "a bool"),
    ("read_only", 1, "a bool")])
def test_an_option_of_another_type_is_named(option: str, value: Any, wanted: str) -> None:
    given: Any = {option: value}
    with pytest.raises(TypeError, match=f"the option {option} takes {wanted}.*, not "):
        interweave.open("127.0.0.1:1/s", **given)


def test_a_file_without_a_certificate_is_named(url: str, papers: Path, tmp_path: Path) -> None:
    revoked = tmp_path / "list.pem"
    revoked.write_text("-----BEGIN X509 CRL-----\nMAA=\n-----END X509 CRL-----\n")
    for ca in (revoked, papers / "alice.key"):
        with pytest.raises(interweave.Denied, match=rf"{ca} .*option ca.*holds no certificate"):
            interweave.open(url, ca=ca)


def test_a_token_that_another_server_has_left(
        papers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[OWN-6]"""
    rules = tmp_path / "rules"
    rules.write_text("allow anyone all /open/**\nend\n")
    server = Server("--tls-cert", str(papers / "server.pem"), "--tls-key",
                    str(papers / "server.key"), "--rules", str(rules))
    folder = tmp_path / "runtime" / "interweave"
    folder.mkdir(0o700, parents=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder.parent))
    port = server.address.split(":")[-1]
    left = folder / f"{port}.token"
    stale = "iw_" + 12 * "0" + "_" + 64 * "1"
    left.touch(0o600)
    left.write_text(stale + "\n")
    with interweave.open(f"iws://localhost:{port}/open/s", ca=papers / "ca.pem"):
        pass
    rules.write_text("allow alice all /**\nend\n")
    server.kill()
    server = Server("--tls-cert", str(papers / "server.pem"), "--tls-key",
                    str(papers / "server.key"), "--rules", str(rules), instead_of=server)
    left.touch(0o600)  # a server that begins removes what an older one of its port has left
    left.write_text(stale + "\n")
    named = f"the token of {left},.*remove the file"
    with pytest.raises(interweave.Denied, match=named) as failure:
        interweave.open(f"iws://localhost:{port}/s", ca=papers / "ca.pem")
    assert stale not in str(failure.value)
    server.kill()


def test_another_identity_is_refused_while_a_segment_is_open(url: str, papers: Path) -> None:
    with interweave.open(url, ca=papers / "ca.pem", cert=papers / "alice.pem",
                         key=papers / "alice.key"):
        with pytest.raises(interweave.BadArgument, match="option cert"):
            interweave.open(url + "2", ca=papers / "ca.pem", cert=papers / "bob.pem",
                            key=papers / "bob.key")
        with pytest.raises(interweave.BadArgument, match="option token"):
            interweave.open(url + "2", token="iw_another")


def test_a_revoked_token_is_told_at_once_in_the_main_thread(tmp_path: Path) -> None:
    """[CRED-2] Signals are looked for meanwhile, and that ends no attempt to log in."""
    tokens = tmp_path / "tokens"
    made = subprocess.run([program("IW_TEST_SERVER", "target/release/interweave"), "token", "new",
                           "alice", "--tokens", str(tokens)], check=True, capture_output=True,
                          text=True)
    server = Server("--tokens", str(tokens))
    with interweave.open(f"{server.address}/s", token=made.stdout.strip(), timeout=600) as segment:
        server.kill()
        tokens.write_text("end\n")
        server = Server("--tokens", str(tokens), instead_of=server)
        with pytest.raises(interweave.Denied, match="token"):
            with segment.write():
                pass
    server.kill()


SILENT = """
    import os, signal, socket, sys, threading, interweave
    # A shell that starts this with & ignores the signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    silent = socket.create_server(("127.0.0.1", 0))

    def interrupt():
        peer, _ = silent.accept()
        assert peer.recv(1) != b""
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait()  # the connection stays

    threading.Thread(target=interrupt, daemon=True).start()
    try:
        interweave.open(f"{sys.argv[1]}://127.0.0.1:{silent.getsockname()[1]}/s", timeout=600)
    except KeyboardInterrupt:
        print("interrupted")
"""


@pytest.mark.parametrize("scheme", ["iw", "iws"])
def test_an_opening_is_interrupted(scheme: str) -> None:
    """While the server answers neither HELLO nor the handshake of TLS."""
    assert Script(SILENT, scheme).end().strip() == "interrupted"
