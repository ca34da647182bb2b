"""Types of .x files, as the compiler describes them."""

import pytest

import interweave
from conftest import REPOSITORY, program

EVERYTHING = """
const WIDTH = 3;
enum colour { RED = 1, GREEN = -2147483648 };
typedef unsigned hyper serial;
typedef double row[WIDTH];
union extra switch (colour kind) {
    case RED: string words<>;
    case GREEN: int numbers[WIDTH];
};
union choice switch (unsigned int which) {
  case 4294967295: float f; case 0: void; default: row r;
};
struct node {
    serial number;
    bool flag;
    string name<15>;
    string title<5000>;
    opaque key[4];
    opaque blob<8>;
    row grid[2];
    colour c;
    extra e;
    choice ch;
    node kids<>;
    node *next;
    void *any;
    quadruple q;
};
"""


@pytest.fixture(autouse=True)
def compiler(monkeypatch):
    monkeypatch.setenv("IW_PROGRAM", program("IW_TEST_SERVER", "target/release/interweave"))


def test_every_kind_of_type_is_taken_over(tmp_path, segment):
    file = tmp_path / "every.x"
    file.write_text(EVERYTHING)
    types = interweave.load_types(file)
    assert types.colour.GREEN == -2**31
    with segment.write():
        node = segment.new(types.node, name="node")
        node.number, node.flag = 2**64 - 1, True
        node.name, node.title = "fifteen letters", "x" * 5000
        node.key[:] = [1, 2, 3, 255]
        node.blob = b"8 bytes!"
        node.grid[1, 2] = 4
        node.c = types.colour.GREEN
        node.e.case = "GREEN"
        node.e.numbers[:] = [7, 8, 9]
        node.ch.case = 2**32 - 1
        node.ch.f = 0.5
        node.kids = [{
            "number": 1, "kids": [{"number": 2, "c": "RED", "e": {"words": "w"}}], "c": "RED",
            "e": {"case": "RED"}
        }]
        node.next = node.any = node
        assert node.q.shape == (16,) and node.grid.shape == (2, 3)
        with pytest.raises(interweave.BadValue):
            node.name = "sixteen letters!"
        row = segment.new(types.row, count=2)
        assert row.shape == (2, 3)
        assert segment.new(types.serial).dtype == "u8"
    with segment.read():
        again = segment["node"]
        assert type(again) is types.node and again.next == again.any == again
        assert bytes(again.blob) == b"8 bytes!" and again.e.value.tolist() == [7, 8, 9]
        assert (again.ch.case, again.ch.f) == (2**32 - 1, 0.5)
        assert again.kids[0].kids[0].e.words == "w" and again.kids[0].next is None


def test_a_file_may_be_taken_over_twice(segment):
    file = REPOSITORY / "examples/astroflow/astroflow.x"
    first, second = interweave.load_types(file), interweave.load_types(file)
    with segment.write():
        header = segment.new(first.flow_header, name="header")
        header.problem = first.flow_problem.FLOW_SOD
        header.want_problem = header.problem
        assert segment.new(second.field, name="density").shape == (256, 256)
        segment.new(second.flow_header, value={"problem": "FLOW_LAX", "want_problem": "FLOW_LAX"})


def test_mistakes_are_the_compilers_words(tmp_path):
    file = tmp_path / "wrong.x"
    file.write_text("struct s { in x; };")
    with pytest.raises(ValueError, match=r"wrong.x:1:\d+: error"):
        interweave.load_types(file)
