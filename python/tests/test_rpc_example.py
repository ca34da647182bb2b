"""examples/rpc: a MIP through plain HTTP to a Python program, and through Sun RPC
to a C++ program."""

import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from conftest import REPOSITORY


EXAMPLES = Path(os.environ.get("IW_TEST_EXAMPLES") or REPOSITORY / "build/release/examples")


def running(*command):
    process = subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True)
    word, address = process.stdout.readline().split()
    assert word == "listening"
    return process, address


def end(process):
    process.terminate()
    assert process.wait(timeout=30) == 0, "the callee did not end well"
    process.stdout.close()


@pytest.fixture(scope="module")
def web_server():
    process, address = running(sys.executable, "-B", str(REPOSITORY / "examples/rpc/callee.py"))
    yield f"http://{address}"
    end(process)


@pytest.fixture(scope="module")
def sun_rpc_server():
    process, address = running(str(EXAMPLES / "rpc/rpc-callee"))
    yield address
    end(process)


@pytest.fixture(params=["web_server", "sun_rpc_server"])
def caller(url, request):
    callee = request.getfixturevalue(request.param)

    def run(*words, status=0):
        command = [
            str(EXAMPLES / "rpc/rpc-caller"), "--url", url, "--callee", callee, *map(str, words)
        ]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert ended.returncode == status, ended.stderr
        return (ended.stderr if status else ended.stdout).splitlines()
    return run


def test_the_callee_changes_the_callers_parts_in_place(caller, segment):
    caller("plant", 6)
    assert caller("restock", 11, 20) == ["6 parts visited, 6 ordered for 540.00"]
    assert [line.split()[1] for line in caller("show")] == ["20"] * 6
    with segment.read(fresh=True):
        assert segment["root"].lower.in_stock == 20


def test_a_proxy_of_the_environment_is_not_asked(caller, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    caller("plant", 6)
    assert caller("restock", 11, 20) == ["6 parts visited, 6 ordered for 540.00"]


def test_a_new_part_is_linked_into_the_callers_tree(caller):
    caller("plant", 5)
    caller("introduce", 42, 9.5, "sprocket")
    assert caller("show")[4] == "42 0 9.50 sprocket"
    assert "42 is there already ('sprocket')" in caller("introduce", 42, 1, "again", status=1)[0]
    assert caller("restock", 1, 2) == ["6 parts visited, 1 ordered for 19.00"]


def test_a_call_by_copy_ends_with_the_same_parts(caller, url):
    ended = []
    for way in ([], ["--copy"]):
        at = ["--url", url + "".join(way)]
        caller(*at, "plant", 300)
        ended.append((caller(*at, "restock", 11, 25, *way), caller(*at, "show")))
    assert ended[0] == ended[1]
    assert ended[0][0] == ["300 parts visited, 300 ordered for 213750.00"]


def test_what_each_call_moves_is_counted(caller):
    """By copy every part there and back; by reference, what a call is and what changed."""
    caller("plant", 2000)
    assert caller("restock", 5, 6) == ["2000 parts visited, 0 ordered for 0.00"]
    head, _, *calls = caller("compare", 3)
    assert head == "2000 parts" and len(calls) == 3
    for line in calls[1:]:
        reference, _, copy, _ = map(int, line.split()[1:])
        assert 500 < reference < copy / 20 and copy > 2000 * 2 * 36


def test_what_cannot_be_done_is_said_and_changes_nothing(caller, segment, url):
    caller("plant", 6)
    assert "NO_SEGMENT" in caller("restock", 1, 2, "--root", f"{url}/nothing#1", status=1)[0]
    assert "NO_BLOCK" in caller("restock", 1, 2, "--root", f"{url}#999", status=1)[0]
    assert "leads to no part" in caller("restock", 1, 2, "--root", f"{url}#root#1", status=1)[0]
    with segment.write():
        segment["root"].lower.lower = segment["root"]
    assert "not a tree" in caller("restock", 11, 20, status=1)[0]
    assert "not a tree" in caller("introduce", 5, 1, "first", status=1)[0]
    with segment.read(fresh=True):
        assert segment["root"].in_stock == 10 and segment["root"].lower.in_stock == 10


def test_a_tree_with_a_freed_part_does_not_end_the_callee(caller, segment, url):
    caller("plant", 6)
    with segment.write():
        segment.free(segment["root"].lower)  # the root still points there
    caller("restock", 11, 20, status=1)
    with segment.write():
        assert segment["root"].in_stock == 10
        segment["root"].lower = None
    assert caller("restock", 11, 20) == ["3 parts visited, 3 ordered for 382.50"]
    with segment.write():  # as many blocks as before
        root = segment["root"]
        gone, root.higher = root.higher, segment.new(segment.block(root).layout)
        segment.free(gone)
    assert caller("restock", 21, 22) == ["2 parts visited, 2 ordered for 20.50"]


def copied_tree(depth):
    """In XDR, as service.x has it."""
    if depth == 0:
        return struct.pack(">I", 0)
    below = copied_tree(depth - 1)
    return struct.pack(">IiidI", 1, 1, 1, 1.5, 0) + below + below


@pytest.mark.parametrize("caller", ["sun_rpc_server"], indirect=True)
def test_a_caller_that_leaves_before_its_answer_does_not_end_the_callee(caller, sun_rpc_server):
    call = struct.pack(">10I", 1, 0, 2, 0x20000777, 1, 2, 0, 0, 0, 0)
    call += copied_tree(18) + struct.pack(">ii", 5, 20)  # 7 MB: more than waits in sockets
    host, port = sun_rpc_server.split(":")
    with socket.create_connection((host, int(port))) as leaving:
        leaving.sendall(struct.pack(">I", 1 << 31 | len(call)) + call)
        leaving.shutdown(socket.SHUT_WR)
        assert leaving.recv(4) != b""  # the answer has begun
    caller("plant", 6)
    assert caller("restock", 11, 20) == ["6 parts visited, 6 ordered for 540.00"]


PART = {"number": 1, "in_stock": 1, "price": 1.5, "name": "x", "lower": None, "higher": None}


@pytest.mark.parametrize("text", [
    "", "{", "[]", "{}", '{"below": 1, "up_to": 2}', '{"below": 1, "up_to": 2, "parts": 7}',
    json.dumps({"below": "many", "up_to": 2, "parts": PART}),
    json.dumps({"below": 1, "up_to": 2, "parts": {}}),
    '{"below": 1, "up_to": 2, "parts": ' + '{"lower":' * 100_000
])
def test_json_that_is_no_stock_is_refused(web_server, text):
    with pytest.raises(HTTPError) as refused:
        urlopen(web_server + "/restock_copy", data=text.encode(), timeout=30)
    assert refused.value.code == 400 and refused.value.read() != b""
    refused.value.close()
    good = json.dumps({"below": 2, "up_to": 4, "parts": PART}).encode()
    with urlopen(web_server + "/restock_copy", data=good, timeout=30) as answer:
        assert json.load(answer) == {
            "visited": 1, "ordered": 1, "cost": 4.5, "parts": {**PART, "in_stock": 4}
        }


@pytest.mark.parametrize("path, form", [
    ("/nothing", {"root": "x"}), ("/restock", {"root": "x"}), ("/restock", {}),
    ("/restock", {"root": "x", "below": "many", "up_to": "1"}), ("/restock", {"root": "x" * 9000})])
def test_a_form_that_makes_no_sense_is_refused(web_server, path, form):
    with pytest.raises(HTTPError) as refused:
        urlopen(web_server + path, data=urlencode(form).encode(), timeout=30)
    assert refused.value.code in (400, 409, 413)
    assert refused.value.read() != b""
    refused.value.close()
