"""A Python process and a C++ process edit one segment in turn, at random; both must
always see the same.

Each looks at what is newest for certain: by a fresh reader lock here, under the writer lock there.
(A copy that is subscribed to may be a notification's way behind.)
"""

import random
from typing import Annotated

import interweave


@interweave.struct(name="test_kid")
class Kid:
    name: interweave.Text
    kids: interweave.Sequence["Kid"]


@interweave.union(interweave.Int, name="test_extra")
class Extra:
    text: Annotated[interweave.Text, interweave.Case(1)]
    number: Annotated[interweave.Int, interweave.Case(2)]


@interweave.struct(name="test_pad")
class Pad:
    title: interweave.Text
    marks: interweave.Sequence[interweave.Int, 4]
    extra: Extra
    kids: interweave.Sequence[Kid]


def test_arrays_edited_by_both(segment, agent):
    chance = random.Random(20030519)
    known = {}

    def edit_here():
        with segment.write():
            for _ in range(chance.randrange(1, 5)):
                action, name = chance.random(), f"n{chance.randrange(6)}"
                if name not in known:
                    count = chance.choice([1, 3, 1000, 70_000])
                    segment.new(interweave.Int, name=name, count=count)
                    known[name] = {"count": count}
                elif action < 0.15:
                    del segment[name], known[name]
                else:
                    index = chance.randrange(known[name]["count"])
                    value = chance.randrange(1, 2**31)
                    segment[name][index] = value
                    known[name][index] = value

    def edit_there():
        agent.do("wl")
        for _ in range(chance.randrange(1, 5)):
            name = f"n{chance.randrange(6)}"
            if name not in known:
                agent.do(f"make {name} 500")
                known[name] = {"count": 500}
            elif chance.random() < 0.15:
                agent.do(f"free {name}")
                del known[name]
            else:
                index, value = chance.randrange(known[name]["count"]), chance.randrange(1, 2**31)
                agent.do(f"put {name} {index} {value}")
                known[name][index] = value
        agent.do("release")

    for _ in range(150):
        (edit_here if chance.random() < 0.5 else edit_there)()
        with segment.read(fresh=True):
            assert {block.name for block in segment} == set(known)
            for name, values in known.items():
                array = segment[name]
                stored = {index: value for index, value in values.items() if index != "count"}
                assert len(array) == values["count"] and (array != 0).sum() == len(stored)
                assert all(array[index] == value for index, value in stored.items())
        agent.do("wl")
        for name, values in known.items():
            for index, value in list(values.items())[1:6]:
                assert agent.tell(f"get {name} {index}") == str(value)
        agent.do("abort")


def words(kids):
    """As pads.h puts a value into words."""
    return "{" + "".join(kid.name + words(kid.kids) for kid in kids) + "}"


def test_owned_fields_edited_here_and_read_there(segment, agent):
    chance = random.Random(7)

    def text():
        return "".join(chance.choice("abc") for _ in range(chance.choice([0, 1, 20, 3000])))

    def kids(depth):
        if depth == 0:
            return []
        return [{"name": text(), "kids": kids(depth - 1)} for _ in range(chance.randrange(3))]

    with segment.write():
        segment.new(Pad, name="pad", value={"extra": {"case": 2}})
    for _ in range(120):
        with segment.write():
            pad = segment["pad"]
            action = chance.randrange(6)
            if action == 0:
                pad.title = text()
            elif action == 1:
                pad.marks = [chance.randrange(100) for _ in range(chance.randrange(5))]
            elif action == 2:
                pad.extra.text = text()
            elif action == 3:
                pad.extra.number = chance.randrange(1000)
            elif action == 4:
                pad.kids = kids(3)
            elif len(pad.kids):
                pad.kids[0].name = text()
                pad.kids[-1].kids = kids(1)
            marks = "".join(f",{mark}" for mark in pad.marks)
            seen = pad.title + marks + "/" + str(pad.extra.value)
            seen += words(pad.kids)
        agent.do("wl")
        assert agent.tell("pad pad") == seen
        agent.do("abort")
    with segment.read():
        total = len(segment)
    assert total == 1
