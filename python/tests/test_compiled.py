"""Modules and stubs that `interweave compile --lang python` makes."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import program

import interweave

COMPILER = program("IW_TEST_SERVER", "target/release/interweave")

X_FILE = """
const JOINTS = 3;
enum mode { STOPPED = 0, MOVING = 1 };
typedef double angles[JOINTS];
typedef string label<20>;
struct joint { double angle; int errors; };
union message switch (mode kind) {
case STOPPED: string reason<40>;
case MOVING: double speed;
default: void;
};
namespace lab { enum place { HERE = 1 }; struct spot { place place; }; };
struct robot {
  hyper time_ns; bool enabled; label name; string notes<>; angles at; joint joints[JOINTS];
  double torques<>; double grid[2][4]; message last; robot *next; lab::spot spot; mode modes[2];
  int class;
};
"""


def compiled(folder: Path, text: str, *options: str) -> None:
    (folder / "robots.x").write_text(text)
    subprocess.run([COMPILER, "compile", "robots.x", "--lang", "python", *options],
                   cwd=folder, check=True)


@pytest.fixture
def robots(tmp_path, monkeypatch):
    compiled(tmp_path, X_FILE)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("robots", None)
    yield importlib.import_module("robots")
    sys.modules.pop("robots", None)


def test_the_types_are_those_of_other_languages(robots, url, tmp_path):
    with interweave.open(url) as segment:
        with segment.write():
            one = segment.new(robots.robot, name="one")
            one.name, one.notes, one.torques = "Robbie", "none", [0.5, 1.5]
            one.at[:] = [1, 2, 3]
            one.joints[1].errors = 7
            one.last.speed = 2.5
            one.next = one
            one["class"] = 5
            one.modes[:] = [1, 0]
            one.spot.place = robots.lab_place.HERE
            segment.new(robots.angles, name="angles")
            assert isinstance(one, robots.robot)
        loaded = interweave.load_types(tmp_path / "robots.x", program=COMPILER)
        with segment.write():
            # The same types from the .x file: TYPE_CONFLICT if one name or hash differs.
            two = segment.new(loaded.robot, name="two", value={"name": "Two"})
            segment.new(loaded.angles, name="more angles")
            segment.new(loaded.label, name="label")
            segment.new(robots.label, name="label2")
            assert two.name == "Two"
        with segment.read():
            assert one.joints[1].errors == 7 and one.next.name == "Robbie"
            assert one.last.case == robots.mode.MOVING and one["class"] == 5
            assert one.grid.shape == (2, 4) and list(one.modes) == [1, 0]
            assert one.spot.place == robots.lab_place.HERE and robots.JOINTS == 3


def mypy(folder: Path, text: str) -> str:
    (folder / "program.py").write_text(text)
    environment = {**os.environ, "MYPYPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder / "cache"),
         "program.py", "robots.pyi"], cwd=folder, env=environment, capture_output=True, text=True)
    return done.stdout


def test_a_checker_knows_the_values(tmp_path):
    compiled(tmp_path, X_FILE)
    said = mypy(tmp_path, """
from typing import Optional
import numpy as np
import numpy.typing as npt
import interweave
import robots

with interweave.open("x") as segment, segment.write():
    one = segment.new(robots.robot, name="one")
    one.name = "Robbie"
    one.at = [1.0, 2.0, 3.0]
    torques: npt.NDArray[np.float64] = one.torques * 2
    angle: float = one.joints[0].angle
    follower: Optional[robots.robot] = one.next
    kind: robots.mode = robots.mode.MOVING
    place: robots.lab_place = one.spot.place
    speed: float = one.last.speed
    arm: Optional[str] = one.last.arm
    count: int = robots.JOINTS
    one.name = 5            # wrong
    one.mass                # wrong
    one.next.name           # wrong: may be None
    one.joints[0].angle = ""  # wrong
    one.time_ns = "now"     # wrong
""")
    lines = sorted({int(line) for line in re.findall(r"program.py:(\d+): error", said)})
    assert lines == [20, 21, 22, 23, 24] and "robots.pyi" not in said, said


def test_modules_of_a_package_find_each_other(tmp_path, monkeypatch):
    (tmp_path / "base.x").write_text("struct wheel { int n; };\n")
    (tmp_path / "cars.x").write_text("#include \"base.x\"\nstruct car { wheel w; };\n")
    subprocess.run([COMPILER, "compile", "base.x", "cars.x", "--lang", "python", "--out",
                    "types_of_lab", "--package", "types_of_lab"], cwd=tmp_path, check=True)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("types_of_lab.cars")
    assert module.wheel is importlib.import_module("types_of_lab.base").wheel
