"""The lines that a Python programmer writes first: put, get, ensure, shapes, pictures, servers."""

import asyncio
import contextlib
import dataclasses
import re
import subprocess
import sys
import threading
import urllib.request
from typing import List

import numpy as np
import pytest

import interweave
from conftest import program

ROUND = [
    3, -7, 2.5, True, "Grüße", b"\x00\xffbytes", 1 + 2j,
    np.float64(0.5), np.int16(-3), np.array(7, "u1"),
    np.arange(10.0), np.arange(12, dtype="i4").reshape(3, 4),
    np.arange(24.0, dtype="f4").reshape(2, 3, 4),
    np.array([1.5]), np.zeros((1, 1)), np.arange(4, dtype=">i2"),
    np.array([True, False, True]), np.array([1 + 2j, 3 - 1j]), np.ones((2, 3), "c8"),
    np.array([b"ab", b"c"]), ["one", "zwei", ""], [1, 2, 3], (1.5, 2.5),
    np.array([(1, 2.5, [1, 2, 3])], [("id", "i8"), ("x", "f4"), ("v", "i2", 3)]),
    np.zeros(4, [("at", [("x", "f8"), ("y", "f8")]), ("name", "S7")]),
]


@pytest.mark.parametrize("value", ROUND, ids=lambda value: repr(value)[:40])
def test_what_is_put_is_got_again(segment, value):
    segment.put("it", value)
    got = segment.get("it")
    if isinstance(value, (list, tuple)) and isinstance(value[0], str):
        assert got == list(value)
        return
    if isinstance(value, bytes):
        assert got.tobytes() == value
        return
    expected = np.asarray(value)
    assert np.asarray(got).shape == expected.shape
    if expected.dtype.names:
        for name in expected.dtype.names:
            assert (got[name] == expected[name]).all()
    else:
        assert (np.asarray(got) == expected).all()


@pytest.mark.parametrize("value", [
    {"a": 1}, None, object(), np.array([None]), np.float16(1), np.array(["2026"], "M8[Y]"),
    np.zeros(0), np.zeros((0, 3)), [], [[1], [2, 3]], {1, 2}])
def test_what_has_no_type_is_refused_before_anything_happens(segment, value):
    with pytest.raises(interweave.BadValue):
        segment.put("it", value)
    assert segment.keys() == []
    assert not segment.is_locked


def test_a_second_put_overwrites_in_place(segment):
    segment.put("frame", np.zeros((4, 5)))
    with segment.read():
        serial = segment.block("frame").serial
    segment.put("frame", np.ones((4, 5)))
    with segment.read():
        assert segment.block("frame").serial == serial
        assert segment["frame"].sum() == 20


@pytest.mark.parametrize("other", [
    np.zeros((5, 4)), np.zeros((4, 5), "f4"), 3.0, "text", np.zeros(20)])
def test_another_shape_or_type_is_refused_unless_replaced(segment, other):
    segment.put("frame", np.ones((4, 5)))
    with pytest.raises(interweave.TypeConflict, match="replace=True"):
        segment.put("frame", other)
    assert segment.get("frame").sum() == 20
    segment.put("frame", other, replace=True)
    assert np.asarray(segment.get("frame")).shape == np.asarray(other).shape


def test_a_put_takes_part_in_the_writer_section_around_it(segment):
    with pytest.raises(KeyboardInterrupt), segment.write():
        segment.put("a", 1)
        assert segment.get("a") == 1
        raise KeyboardInterrupt
    assert segment.get("a", None) is None
    with pytest.raises(interweave.NoBlock):
        segment.get("a")


def test_get_under_a_reader_lock_reads_that_version(segment):
    segment.put("a", 1)
    with segment.read():
        assert segment.get("a") == 1
        assert segment.is_locked
    assert not segment.is_locked


def test_a_new_name_is_assigned_to(segment):
    with segment.write():
        segment["frame"] = np.eye(3)
        segment["count"] = 0
        segment["frame"] = np.ones((3, 3))
        with pytest.raises(interweave.NoBlock):
            segment[17] = 3
    with segment.read():
        assert segment["frame"].shape == (3, 3) and segment["frame"].sum() == 9
        assert segment.keys() == ["frame", "count"]


def test_a_new_name_needs_the_writer_lock(segment):
    with pytest.raises(interweave.NoLock):
        segment["frame"] = np.eye(3)


def test_new_takes_arrays_shapes_and_dtype_names(segment):
    with segment.write():
        like = segment.new(np.arange(6.0).reshape(2, 3), name="like")
        assert like.shape == (2, 3) and like[1, 2] == 5
        assert segment.new("f8", shape=(480, 640)).shape == (480, 640)
        assert segment.new("int32", shape=5).shape == (5,)
        assert segment.new(interweave.Double, shape=(2, 2), value=[[1, 2], [3, 4]]).sum() == 10
        with pytest.raises(interweave.BadArgument, match=re.escape("shape=(480, 640)")):
            segment.new("f8", count=(480, 640))
        with pytest.raises(interweave.BadArgument):
            segment.new("f8", count=3, shape=(2, 2))
        with pytest.raises(interweave.UnknownType):
            segment.new("float")  # numpy's float is XDR's double
        with pytest.raises(interweave.UnknownType):
            segment.new("U8")


def test_ensure_finds_or_makes_and_refuses_another_type(segment, url):
    @interweave.struct
    class Settings:
        gain: interweave.Double
        name: interweave.Text

    with segment.write():
        one = segment.ensure("settings", Settings)
        one.gain = 2
        assert segment.ensure("settings", Settings).gain == 2
        assert segment.ensure("grid", interweave.Int, shape=(3, 4)).shape == (3, 4)
        assert segment.ensure("grid", "i4", shape=(3, 4)).shape == (3, 4)
        for type, shape in ((interweave.Int, (4, 3)), (interweave.UInt, (3, 4)), (Settings, None)):
            with pytest.raises(interweave.TypeConflict, match="grid"):
                segment.ensure("grid", type, shape=shape)


ELSEWHERE = """
import sys, interweave, numpy as np
{declaration}
with interweave.open(sys.argv[1]) as segment, segment.write():
    segment.ensure("one", Pair).next = None
    segment.put("rows", np.zeros(3, [("a", "i4"), ("b", "f8")]))
    assert segment.get("z")[1] == 2j
print("done")
"""
DECLARATION = """
@interweave.struct
class Pair:
    left: interweave.Int
    next: interweave.Pointer["Pair"]
"""


def test_another_process_declares_the_same_types(segment, url):
    names = {"interweave": interweave}
    exec(DECLARATION, names)
    with segment.write():
        segment.ensure("one", names["Pair"]).left = 4
    segment.put("rows", np.ones(3, [("a", "i4"), ("b", "f8")]))
    segment.put("z", np.array([1, 2j]))
    text = ELSEWHERE.format(declaration=DECLARATION)
    done = subprocess.run([sys.executable, "-c", text, url], capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr
    assert segment.get("rows")["b"].sum() == 0
    assert segment.get("one") == {"left": 4, "next": None}


@dataclasses.dataclass
class Spot:
    x: float
    y: float


@dataclasses.dataclass
class Walk:
    name: str
    tries: int
    is_open: bool
    start: Spot
    weights: np.ndarray
    path: List[Spot]
    small: interweave.UShort = 5


def test_dataclasses_become_structs(segment):
    track = Walk("first", 3, True, Spot(1, 2), np.arange(4.0), [Spot(0, 1), Spot(2, 3)])
    segment.put("track", track)
    track.tries = 4
    segment.put("track", track)
    got = segment.get("track")
    assert (got["name"], got["tries"], got["start"]) == ("first", 4, {"x": 1.0, "y": 2.0})
    assert got["path"][1] == {"x": 2.0, "y": 3.0} and got["weights"][3] == 3 and got["small"] == 5
    segment.put("points", [Spot(1, 2), Spot(3, 4)])
    assert segment.get("points")["y"].tolist() == [2, 4]
    with segment.write():
        segment["track"].start.x = 9
    assert segment.get("track")["start"]["x"] == 9


def test_dataclasses_that_cannot_be_structs_name_the_field(segment):
    @dataclasses.dataclass
    class Odd:
        fine: int
        table: dict

    @dataclasses.dataclass
    class Other:
        x: float

    with pytest.raises(interweave.BadValue, match="field 'table'"):
        segment.put("odd", Odd(1, {}))
    with pytest.raises(interweave.BadValue, match="one class"):
        segment.put("mixed", [Spot(1, 2), Other(1)])


def test_keys_and_completions_need_no_lock(segment):
    segment.put("a", 1)
    with segment.write():
        segment.new(interweave.Int)
    assert segment.keys() == segment._ipython_key_completions_() == ["a"]


# ---- pictures ----

def test_a_notebook_shows_a_segment_as_a_table(segment, url):
    segment.put("<b>", np.arange(100.0))
    segment.put("text", "a < b")
    segment.put("track", Spot(1, 2))
    picture = segment._repr_html_()
    assert url in picture and "version 3" in picture
    assert "&lt;b&gt;" in picture and "<b>'" not in picture and "0 to 99" in picture
    assert "2 fields" in picture and "x: 1.0" in picture and "a &lt; b" in picture
    assert not segment.is_locked


def test_a_first_picture_waits_for_the_server(url):
    with interweave.open(url) as segment:
        segment.put("large", np.arange(1e6))
    with interweave.open(url, create=False) as segment:  # has nothing yet, and no older picture
        assert "version 1" in segment._repr_html_()


def test_a_picture_does_not_wait_for_a_writer_and_gives_its_age(segment, url):
    segment.put("a", 1)
    assert "version 1" in segment._repr_html_()
    begun, ends = threading.Event(), threading.Event()

    def write():
        with segment.write():
            begun.set()
            ends.wait()

    writer = threading.Thread(target=write)
    writer.start()
    begun.wait()
    picture = segment._repr_html_()
    ends.set()
    writer.join()
    assert "version 1" in picture and " s old: a writer is at work" in picture


def test_a_picture_of_a_closed_segment_and_of_many_blocks(url):
    with interweave.open(url) as segment:
        with segment.write():
            for number in range(60):
                segment.new(interweave.Int, name=f"n{number}")
        assert "and 10 blocks more" in segment._repr_html_()
    assert "(closed)" in segment._repr_html_()


# ---- waiting ----

def test_changed_gives_the_next_version(segment, agent):
    async def wait():
        with segment.read():
            pass
        waiting = asyncio.ensure_future(segment.changed(timeout=30))
        await asyncio.sleep(0)
        for command in ("wl", "make n 1", "release"):
            await asyncio.to_thread(agent.do, command)
        return await waiting

    assert asyncio.run(wait()) == 1


def test_changed_gives_up(segment):
    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(segment.changed(timeout=0.01))


# ---- servers ----

SERVER = program("IW_TEST_SERVER", "target/release/interweave")


def test_a_server_for_a_notebook(tmp_path):
    with interweave.serve(tmp_path / "store", program=SERVER) as server:
        with interweave.open(server.url("/a/b")) as segment:
            segment.put("x", 5)
        assert server.address in repr(server)
        page, _, token = server.viewer.partition("#")
        assert page == f"http://{server.http}/login" and token not in repr(server)
        asked = urllib.request.Request(f"http://{server.http}/status",
                                       headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(asked) as answer:
            assert b"/a/b" in answer.read()
    with interweave.serve(tmp_path / "store", program=SERVER) as server:
        with interweave.open(server.url("a/b"), create=False) as segment:
            assert segment.get("x") == 5
    server.stop()


def test_a_server_without_a_token_has_a_viewer_too():
    with interweave.serve(program=SERVER, options=["--insecure"]) as server:
        with urllib.request.urlopen(server.viewer) as answer:
            assert answer.status == 200


def test_a_server_that_cannot_start_says_why(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(interweave.Unreachable, match="file"):
        interweave.serve(tmp_path / "file", program=SERVER)
    with pytest.raises(interweave.Unreachable, match="--no-such"):
        interweave.serve(program=SERVER, options=["--no-such"])


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "sys.exit(0)", "raise SystemError"])
def test_a_server_ends_with_its_process(end):
    text = f"""
import interweave, os, sys
server = interweave.serve(program={SERVER!r})
print(server.address, flush=True)
{end}
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    address = done.stdout.strip()
    with pytest.raises(interweave.Unreachable):
        while True:  # until the server, which saves nothing, has ended
            with contextlib.suppress(interweave.Stopping):
                interweave.open(f"{address}/x", timeout=5).close()
