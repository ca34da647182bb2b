"""Pointers from one segment into another, MIPs, and what leads nowhere."""

import numpy as np
import pytest

import interweave
from conftest import Script, Server


@interweave.struct
class Knot:
    number: interweave.Int
    next: interweave.Pointer["Knot"]
    values: interweave.Pointer[interweave.Double]
    anything: interweave.AnyPointer


def test_pointers_lead_into_other_segments(server, url):
    first, second = interweave.open(url + "/a"), interweave.open(url + "/b")
    with first.write(), second.write():
        end = second.new(Knot, name="end", value={"number": 2})
        end.values = second.new(float, count=4, value=range(4))[1:]
        begin = first.new(Knot, name="begin", value={"number": 1, "next": end, "anything": end})
        begin.values = end.values
        end.next = begin
    script = Script(
        """
        import sys, interweave
        first = interweave.open(sys.argv[1] + "/a", create=False)
        with first.read():
            begin = first["begin"]
            end = begin.next
            try:
                end.number
            except interweave.NoLock:
                print("not locked")
            second = interweave.segment_of(end)
            with second.read():
                print(end.number, end.values.tolist(), end.next == begin, end.next.number,
                      begin.values.tolist())
                print(begin.anything == end, second == first, second.url.endswith("/b"))
    """, url)
    assert script.end().split("\n")[:3] == [
        "not locked", "2 [1.0, 2.0, 3.0] True 1 [1.0, 2.0, 3.0]", "True False True"]


def test_a_mip_names_a_value_wherever_it_is(segment):
    with segment.write():
        knot = segment.new(Knot, name="knot", count=3)
        knot[2].number = 7
        numbers = segment.new(interweave.Array[interweave.Double, 3], count=2)
        numbers[1, 2] = 5
        row = numbers[1]
    with segment.read():
        third, fifth = interweave.mip(knot[2]), interweave.mip(row[2:])
        assert third.endswith("#1#8") and fifth.endswith("#2#5")
        assert interweave.at(third).number == 7 and interweave.at(third) == knot[2]
        assert interweave.at(fifth) == 5 and interweave.at(fifth).shape == ()
        assert interweave.at(f"{segment.url}#knot") == knot
        assert interweave.mip(segment.block("knot")) == interweave.mip(knot)
        assert segment.block(knot[1]).name == "knot" and segment.block(row).serial == 2
    far = interweave.at(third)
    with interweave.segment_of(far).read():
        assert far.number == 7
    with pytest.raises(interweave.NoBlock):
        interweave.at(f"{segment.url}#nothing")
    with pytest.raises(interweave.BadPointer):
        interweave.mip(np.zeros(3))


def test_what_leads_to_a_server_that_is_gone_says_where(server, url):
    other = Server()
    gone = interweave.open(f"{other.address}/gone")
    near = interweave.open(url)
    with gone.write(), near.write():
        near.new(Knot, name="begin", value={"next": gone.new(Knot)})
    address = other.address
    gone.close()
    other.kill()
    script = Script("""
        import sys, interweave
        segment = interweave.open(sys.argv[1], create=False, timeout=5)
        with segment.read():
            begin = segment["begin"]
            print(interweave.snapshot(begin)["next"])
            try:
                begin.next
            except interweave.Error as failure:
                print(failure)
        with segment.write():
            begin.number = 5      # what cannot be followed travels on unchanged
        with segment.read():
            print(interweave.snapshot(begin)["next"])
    """, url)
    before, why, after = script.end().strip().split("\n")
    assert before == after == f"iw://{address}/gone#1"
    assert before in why and "cannot be followed" in why


def test_a_list_of_the_papers_first_figure(segment):
    """Searched and changed as a list is in C."""
    with segment.write():
        head = segment.new(Knot, name="head")
        for number in (3, 1, 2):
            knot = segment.new(Knot, value={"number": number, "next": head.next})
            head.next = knot
    with segment.read():
        found, at = [], segment["head"].next
        while at is not None:
            found.append(at.number)
            at = at.next
    assert found == [2, 1, 3]


def test_a_mip_is_stored_as_what_it_leads_to_would_be(segment):
    with segment.write():
        end = segment.new(Knot, name="end")
        begin = segment.new(Knot, name="begin", value={"number": 1, "next": interweave.mip(end)})
        again = segment.new(Knot, value=interweave.snapshot(begin))
        begin.anything = f"{segment.url}#end"
        assert begin.next == end and again.next == end and begin.anything == end
        with pytest.raises(interweave.NoBlock):
            begin.next = f"{segment.url}#nobody"
        assert begin.next == end
    with segment.read():
        with pytest.raises(interweave.NoLock):
            begin.next = interweave.mip(end)


def test_a_mip_without_a_block_leads_to_the_first(segment):
    with pytest.raises(interweave.NoBlock):
        interweave.at(segment.url)
    with segment.write():
        first = segment.new(Knot)
        segment.new(Knot)
    assert interweave.at(segment.url) == first
