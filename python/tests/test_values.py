"""What is in a segment, as Python sees it: every kind of type, read and written."""

import copy
import enum
import pickle
from typing import Annotated

import numpy as np
import pytest

import interweave
from interweave import Case, Default


class Colour(enum.IntEnum):
    RED = 0
    GREEN = 5


@interweave.union(interweave.Int)
class Extra:
    text: Annotated[interweave.Text, Case(1)]
    number: Annotated[interweave.Int, Case(2, 3)]
    nothing: Annotated[None, Case(0)]
    rest: Annotated[interweave.Double, Default]


@interweave.struct
class Point:
    x: interweave.Double
    y: interweave.Float


@interweave.struct
class Everything:
    tag: interweave.Char
    small: interweave.UShort
    key: interweave.Int
    large: interweave.UHyper
    is_on: interweave.Bool
    colour: Colour
    name: interweave.String[7]
    title: interweave.Text
    place: Point
    grid: interweave.Array[interweave.Double, 2, 3]
    path: interweave.Array[Point, 3]
    marks: interweave.Sequence[interweave.Int]
    points: interweave.Sequence[Point, 4]
    extra: Extra
    next: interweave.Pointer["Everything"]
    numbers: interweave.Pointer[interweave.Int]
    anything: interweave.AnyPointer

    def doubled(self) -> int:
        return 2 * self.key


@pytest.fixture
def one(segment):
    with segment.write():
        yield segment.new(Everything, name="one")


def test_numbers_are_pythons_and_keep_to_their_type(one):
    one.tag, one.small, one.key, one.large, one.is_on = -3, 65535, -2**31, 2**64 - 1, True
    assert (one.tag, one.small, one.key, one.large, one.is_on) == (-3, 65535, -2**31, 2**64 - 1,
                                                                   True)
    for field, value in [("tag", 128), ("small", -1), ("key", 2**31), ("large", 2**64),
                         ("large", -1)]:
        with pytest.raises(OverflowError):
            one[field] = value
    with pytest.raises(TypeError):
        one.key = 1.5
    with pytest.raises(TypeError):
        one.place.x = "far"
    assert one.key == -2**31


def test_a_declared_class_keeps_its_methods_and_refuses_other_names(one):
    one.key = 21
    assert isinstance(one, Everything) and one.doubled() == 42
    with pytest.raises(AttributeError):
        one.kee = 3
    with pytest.raises(KeyError, match="no field 'kee'"):
        one["kee"]
    assert list(one)[:3] == ["tag", "small", "key"]


def test_enums_are_those_of_the_program(one):
    assert one.colour is Colour.RED
    one.colour = Colour.GREEN
    assert one.colour is Colour.GREEN
    one.colour = "RED"
    assert one.colour == 0
    with pytest.raises(interweave.BadValue, match="RED, GREEN"):
        one.colour = 1


def test_strings_fit_or_are_refused(one):
    one.name = "sevenÜ"
    assert one.name == "sevenÜ"
    for bad in ("eightfold", "nu\0l"):
        with pytest.raises(interweave.BadValue):
            one.name = bad
    one.name = ""
    assert one.name == ""
    one.title = "any length " * 1000
    assert one.title == "any length " * 1000
    one.title = ""
    assert one.title == ""


def test_nested_structs_and_arrays_are_places_not_copies(one):
    place = one.place
    place.x = 1.5
    assert one.place.x == 1.5
    one.place = {"y": 0.25}
    assert (place.x, place.y) == (1.5, 0.25)
    one.path[1] = place
    assert [point.x for point in one.path] == [0, 1.5, 0]
    assert one.path[-2] == one.path[1] and len(one.path) == 3
    with pytest.raises(IndexError):
        one.path[3]
    with pytest.raises(TypeError):
        one.place = one


def test_arrays_of_numbers_are_numpy_views_of_the_right_shape(one):
    grid = one.grid
    assert isinstance(grid, np.ndarray) and grid.shape == (2, 3) and grid.dtype == np.float64
    grid[1, 2] = 7
    assert one.grid[1, 2] == 7 and not grid.flags.owndata
    one.grid = np.arange(6).reshape(2, 3)
    assert grid.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError):
        one.grid = [1, 2]


def test_a_field_of_many_records_is_one_strided_view(segment):
    with segment.write():
        points = segment.new(Point, count=100)
        points["x"] = np.arange(100)
        points["y"][::2] = 1
        assert points["x"].strides == (16,) and points[40].x == 40 and points[41].y == 0
        table = points.numpy()
        assert table.dtype.names == ("x", "y") and table["y"].sum() == 50
        table["x"][3] = -1
        assert points[3].x == -1
        assert np.asarray(points)["x"][3] == -1


def test_sequences_are_assigned_whole_and_changed_in_place(one):
    assert one.marks.shape == (0,) and len(one.points) == 0
    one.marks = [3, 1, 2]
    marks = one.marks
    marks.sort()
    assert one.marks.tolist() == [1, 2, 3]
    one.marks = range(5)
    assert one.marks.tolist() == [0, 1, 2, 3, 4]
    one.points = [{"x": 1}, {"x": 2, "y": 3}]
    assert [(point.x, point.y) for point in one.points] == [(1, 0), (2, 3)]
    one.points = [one.points[1], one.points[0]]
    assert [point.x for point in one.points] == [2, 1]
    with pytest.raises(interweave.Error):
        one.points = [{}] * 5
    one.marks = []
    assert one.marks.size == 0


def test_unions_know_their_case(one):
    extra = one.extra
    assert extra.case == 0 and extra.arm is None and extra.value is None
    extra.text = "words"
    assert (extra.case, extra.arm, extra.value) == (1, "text", "words")
    with pytest.raises(interweave.BadValue, match="chooses text, not number"):
        extra.number
    extra.case = 3
    assert extra.number == 0
    extra.number = 9
    assert (extra.case, extra.value) == (3, 9)
    with pytest.raises(interweave.BadValue, match="set the case first"):
        extra.rest = 1.0
    extra.case = 77
    extra.rest = 1.0
    assert extra.arm == "rest" and extra.rest == 1.0
    one.extra = {"number": 4}
    assert one.extra.case == 2
    with pytest.raises(AttributeError):
        extra.numbr = 3


def test_pointers_are_attributes(one, segment):
    assert one.next is None
    other = segment.new(Everything, value={"key": 7, "next": one})
    one.next = other
    assert one.next.next == one and one.next.key == 7
    numbers = segment.new(interweave.Int, count=5, value=range(5))
    one.numbers = numbers[2:]
    assert one.numbers.tolist() == [2, 3, 4]
    one.numbers[0] = 20
    assert numbers[2] == 20
    one.anything = other.place
    assert one.anything == other.place
    with pytest.raises(TypeError):
        one.next = other.place
    with pytest.raises(interweave.BadPointer):
        one.numbers = np.zeros(3)
    one.next = None
    assert one.next is None


def test_a_snapshot_needs_no_segment(one, segment):
    one.key, one.title, one.marks, one.next = 3, "t", [1], one
    one.extra.number = 8
    copied = interweave.snapshot(one)
    assert copied["key"] == 3 and copied["title"] == "t" and copied["marks"].tolist() == [1]
    assert copied["place"] == {"x": 0, "y": 0} and copied["extra"] == {"case": 2, "number": 8}
    assert copied["next"] == interweave.mip(one) and copied["numbers"] is None


def test_blocks_are_found_listed_renamed_never_and_deleted(segment):
    with segment.write():
        segment.new(float, name="a", count=3)
        serial = segment.block(segment.new(Point, name="b")).serial
        segment.new(np.int16)
        assert [(block.name, block.type, block.count) for block in segment] == [
            ("a", "double", 3), ("b", "Point", 1), (None, "short", 1)]
        assert len(segment) == 3 and "a" in segment and "c" not in segment and serial in segment
        assert segment[serial] == segment["b"]
        segment["a"] = [1, 2, 3]
        assert segment["a"].tolist() == [1, 2, 3]
        del segment["a"]
        assert "a" not in segment
        segment.free(segment["b"])
        assert len(segment) == 1
        with pytest.raises(KeyError):
            segment["a"]
        with pytest.raises(interweave.BadName):
            segment.new(float, name="1st")
        with pytest.raises(interweave.BadName):
            segment["b#1"]


def test_what_another_program_declared_needs_no_declaration_here(segment, url):
    with segment.write():
        segment.new(Everything, name="one",
                    value={"key": 4, "colour": 5, "title": "t", "extra": {"text": "e"}})
    from conftest import Script
    script = Script(
        """
        import sys, interweave
        with interweave.open(sys.argv[1], create=False) as segment, segment.read():
            one = segment["one"]
            print(type(one).__name__, one.key, one.colour.name, one.title, one.extra.text,
                  one.grid.shape)
    """, url)
    assert script.end().split() == ["Everything", "4", "GREEN", "t", "e", "(2,", "3)"]


def test_types_that_name_each_other_and_local_ones(segment):
    @interweave.struct
    class Employee:
        boss: interweave.Pointer["Department"]

    @interweave.struct
    class Department:
        head: interweave.Pointer[Employee]
        size: int

    with segment.write():
        department = segment.new(Department, value={"size": 2**40})
        department.head = segment.new(Employee, value={"boss": department})
        assert department.head.boss == department and department.size == 2**40


def test_the_same_name_with_another_structure_is_refused(segment, url):
    @interweave.struct(name="Twice")
    class First:
        x: interweave.Int

    with segment.write():
        segment.new(First, name="first")
    with pytest.raises(interweave.TypeConflict):
        @interweave.struct(name="Twice")
        class Second:
            x: interweave.Double

        with segment.write():
            segment.new(Second)


@interweave.struct
class Painted:
    shade: "Shade"
    next: interweave.Pointer["Painted"]


class Shade(enum.IntEnum):
    DARK = 1
    DIM = 1
    LIGHT = 2


def test_names_of_an_enum_that_share_a_value_are_all_declared(segment):
    members = interweave._core.parts_of(interweave.declare.table_of(Shade))["members"]
    assert members == [("DARK", 1), ("DIM", 1), ("LIGHT", 2)]


def test_an_enum_may_come_later_than_its_name(segment):
    with segment.write():
        assert segment.new(Painted, value={"shade": "DIM"}).shade is Shade.DARK


def test_types_that_lead_to_each_other_wait_for_the_last_of_them(segment):
    @interweave.struct
    class Town:
        roads: interweave.Sequence[interweave.Pointer["Road"]]
        mayor: interweave.Pointer["Person"]

    @interweave.struct
    class Road:
        ends: interweave.Array[interweave.Pointer["Town"], 2]

    with segment.write(), pytest.raises(interweave.UnknownType, match="Person"):
        segment.new(Road)

    @interweave.struct
    class Person:
        lives_in: Town

    with segment.write():
        person, road = segment.new(Person), segment.new(Road)
        person.lives_in = {"roads": [road], "mayor": person}
        road.ends[1] = person.lives_in
        assert person.lives_in.roads[0].ends[1].mayor == person


def test_a_float_keeps_every_bit_on_its_way_through_python(segment):
    bits = [0x7f800001, 0xff812345, 0x7fc00001, 0x7f800000, 0x80000000, 0x00000001]
    with segment.write():
        given, taken = (segment.new(Point, count=len(bits)) for _ in range(2))
        given["y"][:] = np.array(bits, "u4").view("f4")
        for one, other in zip(given, taken):
            other.y = one.y
        assert taken["y"].copy().view("u4").tolist() == bits
        # A NaN by bits that a float does not have.
        taken[0].y = np.array(0x7ff0000000000001, "u8").view("f8")[()]
        assert np.isnan(taken[0].y)


def test_bytes_are_stored_in_lists_of_byte_arrays_too(segment):
    keys = interweave.Array[interweave.UChar, 2]
    with segment.write():
        rows = segment.new(keys, count=2, value=[b"ab", b"\xff\x00"])
        lists = segment.new(interweave.Sequence[keys], count=2,
                            value=[[b"ab", bytearray(b"cd"), [1, 2]], []])
        assert rows.tolist() == [[97, 98], [255, 0]]
        assert lists[0].tolist() == [[97, 98], [99, 100], [1, 2]] and len(lists[1]) == 0


@pytest.mark.parametrize("field, value, failure", [
    ("marks", [1.5], TypeError), ("marks", np.array([1.0]), TypeError),
    ("marks", ["1"], TypeError), ("marks", [None], TypeError), ("marks", [2**31], OverflowError),
    ("marks", [2**70], OverflowError), ("marks", [2**63, -1], OverflowError),
    ("marks", np.array([2**40]), OverflowError), ("marks", 5, TypeError), ("grid", 5, TypeError),
    ("grid", [[1, 2, 3]], ValueError), ("grid", [["1", 2, 3], [4, 5, 6]], TypeError),
    ("is_on", "x", TypeError), ("is_on", None, TypeError), ("is_on", 0.5, TypeError),
    ("key", None, TypeError), ("place", {"x": None}, TypeError)])
def test_what_a_field_cannot_hold_is_refused_and_changes_nothing(one, field, value, failure):
    one.marks, one.grid, one.is_on, one.key = [7], np.ones((2, 3)), True, 3
    with pytest.raises(failure) as refused:
        one[field] = value
    assert "incompatible function arguments" not in str(refused.value)
    assert one.marks.tolist() == [7] and one.grid.sum() == 6 and one.is_on is True and one.key == 3


def test_numbers_of_other_types_are_stored_if_they_fit(one, segment):
    one.marks = np.array([1, 2], np.uint64)
    assert one.marks.tolist() == [1, 2]
    one.marks = [True, np.int8(-3)]
    assert one.marks.tolist() == [1, -3]
    one.grid = [[1, 2, 3], [2**70, np.float32(0.5), True]]
    assert one.grid[1].tolist() == [2.0**70, 0.5, 1]
    one.is_on = np.bool_(False)
    assert one.is_on is False
    assert segment.new(interweave.UHyper, count=2, value=[2**64 - 1, 0]).tolist() == [2**64 - 1, 0]
    assert segment.new(interweave.Int, value=9).tolist() == [9]
    points = segment.new(Everything, count=2)
    points["key"] = 4
    assert [point.key for point in points] == [4, 4]
    with pytest.raises(TypeError):
        points["key"] = [1.5, 2]


def test_the_name_of_a_type_is_that_of_a_block_here_and_no_code_of_numpys(segment):
    @interweave.struct
    class B:
        x: interweave.Int

    with segment.write():
        with pytest.raises(interweave.UnknownType, match="no block of .* has the type 'B'"):
            segment.new("B")
        segment.new(B)
        assert segment.new("B", value={"x": 3}).x == 3
        assert segment.new(np.float32, count=2).dtype == segment.new(np.dtype("f4"),
                                                                     count=2).dtype == np.float32
        with pytest.raises(interweave.UnknownType):
            segment.new(np.dtype("M8[s]"))


def test_mistakes_are_named(one, segment):
    for count in (-1, 2**64):
        with pytest.raises(interweave.BadArgument, match="their number"):
            segment.new(interweave.Int, count=count)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        for value in (one, one.extra, one.path):
            with pytest.raises(TypeError, match="interweave.snapshot"):
                copied(value)


def test_a_closed_segment_says_that_it_is_closed(url):
    segment = interweave.open(url)
    segment.close()
    for look in (lambda: segment["x"], lambda: segment.new(interweave.Int), lambda: list(segment),
                 lambda: segment.on_change(print), segment.abort):
        with pytest.raises(interweave.NotOpen):
            look()
