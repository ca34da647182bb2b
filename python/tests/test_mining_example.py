"""examples/mining: the lattice that a C++ builder keeps, queried from Python as from C++."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import interweave
from conftest import REPOSITORY

PROGRAMS = Path(os.environ.get("IW_TEST_EXAMPLES")
                or REPOSITORY / "build/release/examples") / "mining"
QUERY = [sys.executable, "-B", str(REPOSITORY / "examples/mining/query.py")]


def build(url, *options):
    data = str(REPOSITORY / "examples/mining/data/online_retail_seq.txt")
    subprocess.run([
        str(PROGRAMS / "mining-builder"), "--url", url, "--data", data, "--minimum", "4", "--quiet",
        *options
    ], check=True)


def output(command, url, *words):
    return subprocess.run([*command, "--url", url, *words], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


@pytest.mark.parametrize("purchases", [[], ["1"], ["59,1"], ["1", "1"], ["1", "2", "3,4"]])
def test_the_answers_are_those_of_the_query_in_cpp(url, purchases):
    build(url, "--steps", "1")
    wanted = output([str(PROGRAMS / "mining-query")], url, *purchases)
    assert wanted.startswith("version 2: ") and wanted.count("\n") >= 2
    assert output(QUERY, url, *purchases) == wanted


def test_a_query_follows_until_the_lattice_is_finished(url):
    build(url, "--steps", "0")
    with interweave.open(url) as segment:
        with segment.write():
            segment["lattice"].finished = False
        follower = subprocess.Popen([*QUERY, "--url", url, "--follow", "1"], stdout=subprocess.PIPE,
                                    text=True)
        assert follower.stdout.readline().startswith("version 2: ")
        with segment.write():
            segment["lattice"].finished = True
        rest, _ = follower.communicate()
    assert follower.returncode == 0
    assert rest.count("version ") == 1 and "version 3: " in rest


@pytest.mark.parametrize("coherence", ["full", "strict", "delta:3", "temporal:0.05", "diff:1"])
@pytest.mark.parametrize("query", [[str(PROGRAMS / "mining-query")], QUERY], ids=["cpp", "python"])
def test_a_query_follows_under_each_model(url, query, coherence):
    """What it last answers is the finished lattice, which every model
    demands after enough changes."""
    build(url, "--steps", "0")
    with interweave.open(url) as segment:
        with segment.write():
            segment["lattice"].finished = False
        follower = subprocess.Popen(
            [*query, "--url", url, "--follow", "--coherence", coherence, "1"],
            stdout=subprocess.PIPE, text=True)
        assert follower.stdout.readline().startswith("version 2: ")
        for step in range(1, 5):
            with segment.write():
                lattice = segment["lattice"]
                lattice.step, lattice.finished = step, True
                lattice.support_gain[:] += 1
        rest, _ = follower.communicate(timeout=60)
    assert follower.returncode == 0
    answered = [
        int(line.split()[1].rstrip(":"))
        for line in rest.splitlines()
        if line.startswith("version ")
    ]
    assert answered == sorted(set(answered)) and 3 <= answered[0] <= answered[-1] <= 6


@pytest.mark.parametrize(
    "words",
    [["--top", "0"], ["--top", "x"], ["--coherence", "delta"], ["--coherence", "delta:2.5"],
     ["--coherence", "diff:x"], ["--coherence", "null"], ["1,,2"], ["x"], [","]])
def test_words_that_make_no_sense_are_refused(words):
    for query in ([str(PROGRAMS / "mining-query")], QUERY):
        refused = subprocess.run([*query, *words], stderr=subprocess.PIPE, text=True)
        assert refused.returncode == 2
        assert f"'{words[-1]}' is not " in refused.stderr and "invalid" not in refused.stderr


def test_sequences_lead_to_those_that_they_extend_and_back(url):
    build(url, "--steps", "3")
    with interweave.open(url) as segment, segment.read():
        lattice = segment["lattice"]
        base, gain = lattice.support_base, lattice.support_gain

        def walk(sequence, having):
            count, at = 0, sequence.extended_by
            while at is not None:
                assert at.extends == sequence and at.text.startswith(sequence.text)
                assert at.text.endswith(str(at.item if at.item >= 0 else -1 - at.item))
                support = int(base[at.row]) + int(gain[at.row])
                assert 0 < support <= having
                count += (support >= lattice.minimum) + walk(at, support)
                at = at.next
            return count

        assert walk(lattice.root, lattice.customers) == lattice.sequences > 100


def test_a_segment_without_a_lattice_is_refused(url):
    @interweave.struct
    class other:
        x: interweave.Int

    with interweave.open(url) as segment, segment.write():
        segment.new(other, name="lattice")
    refused = subprocess.run([*QUERY, "--url", url, "1"], stderr=subprocess.PIPE, text=True)
    assert refused.returncode == 1 and url in refused.stderr


def test_a_query_makes_no_segment(url):
    for query in ([str(PROGRAMS / "mining-query")], QUERY):
        refused = subprocess.run([*query, "--url", url, "1"], stderr=subprocess.PIPE, text=True)
        assert refused.returncode == 1 and "NO_SEGMENT" in refused.stderr
        with pytest.raises(interweave.Error):
            interweave.open(url, create=False)
