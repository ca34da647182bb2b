"""examples/rpc with the callee that is a Python program: a MIP through plain HTTP, from a C++ program."""

import os
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from conftest import REPOSITORY


@pytest.fixture(scope="module")
def callee():
    command = [sys.executable, str(REPOSITORY / "examples/rpc/callee.py"), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    word, address = process.stdout.readline().split()
    assert word == "listening"
    yield f"http://{address}"
    process.terminate()
    assert process.wait() == 0, "the callee did not end well"
    process.stdout.close()


@pytest.fixture
def caller(url, callee):
    folder = Path(os.environ.get("IW_TEST_EXAMPLES") or REPOSITORY / "build/release/examples")

    def run(*words, status=0):
        command = [str(folder / "rpc/rpc-caller"), "--url", url, "--callee", callee, *map(str, words)]
        ended = subprocess.run(command, capture_output=True, text=True)
        assert ended.returncode == status, ended.stderr
        return (ended.stderr if status else ended.stdout).splitlines()
    return run


def test_the_callee_changes_the_callers_parts_in_place(caller, segment):
    caller("plant", 6)
    assert caller("restock", 11, 20) == ["6 parts visited, 6 ordered for 540.00"]
    assert [line.split()[1] for line in caller("show")] == ["20"] * 6
    with segment.read(fresh=True):
        assert segment["root"].lower.in_stock == 20


def test_a_new_part_is_linked_into_the_callers_tree(caller):
    caller("plant", 5)
    caller("introduce", 42, 9.5, "sprocket")
    assert caller("show")[4] == "42 0 9.50 sprocket"
    assert "42 is there already ('sprocket')" in caller("introduce", 42, 1, "again", status=1)[0]
    assert caller("restock", 1, 2) == ["6 parts visited, 1 ordered for 19.00"]


def test_what_cannot_be_done_is_said_and_changes_nothing(caller, callee, segment, url):
    caller("plant", 6)
    assert "NO_SEGMENT" in caller("restock", 1, 2, "--root", f"{url}/nothing#1", status=1)[0]
    assert "NO_BLOCK" in caller("restock", 1, 2, "--root", f"{url}#999", status=1)[0]
    assert "leads to no part" in caller("restock", 1, 2, "--root", f"{url}#root#1", status=1)[0]
    with segment.write():
        segment["root"].lower.lower = segment["root"]
    assert "no tree" in caller("restock", 11, 20, status=1)[0]
    with segment.read(fresh=True):
        assert segment["root"].in_stock == 10 and segment["root"].lower.in_stock == 10


@pytest.mark.parametrize("path, form", [
    ("/nothing", {"root": "x"}), ("/restock", {"root": "x"}), ("/restock", {}),
    ("/restock", {"root": "x", "below": "many", "up_to": "1"}), ("/restock", {"root": "x" * 9000})])
def test_a_form_that_makes_no_sense_is_refused(callee, path, form):
    with pytest.raises(HTTPError) as refused:
        urlopen(callee + path, data=urlencode(form).encode(), timeout=30)
    assert refused.value.code in (400, 409, 413)
    assert refused.value.read() != b""
    refused.value.close()
