"""The options ca, cert, key and token of an opening [CRED-1], with a real server."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Iterator

import pytest
from conftest import Server, program

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


def test_another_identity_is_refused_while_a_segment_is_open(url: str, papers: Path) -> None:
    with interweave.open(url, ca=papers / "ca.pem", cert=papers / "alice.pem",
                         key=papers / "alice.key"):
        with pytest.raises(interweave.BadArgument, match="option cert"):
            interweave.open(url + "2", ca=papers / "ca.pem", cert=papers / "bob.pem",
                            key=papers / "bob.key")
        with pytest.raises(interweave.BadArgument, match="option token"):
            interweave.open(url + "2", token="iw_another")
