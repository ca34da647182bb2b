"""examples/mining: the lattice that a C++ builder keeps, queried from Python as from C++."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import interweave
from conftest import REPOSITORY

PROGRAMS = Path(os.environ.get("IW_TEST_EXAMPLES") or REPOSITORY / "build/release/examples") / "mining"
QUERY = [sys.executable, "-B", str(REPOSITORY / "examples/mining/query.py")]


def build(url, *options):
    data = str(REPOSITORY / "examples/mining/data/online_retail_seq.txt")
    subprocess.run([str(PROGRAMS / "mining-builder"), "--url", url, "--data", data, "--minimum", "4", "--quiet",
                    *options], check=True)


def output(command, url, *words):
    return subprocess.run([*command, "--url", url, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


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
        follower = subprocess.Popen([*QUERY, "--url", url, "--follow", "1"], stdout=subprocess.PIPE, text=True)
        assert follower.stdout.readline().startswith("version 2: ")
        with segment.write():
            segment["lattice"].finished = True
        rest, _ = follower.communicate()
    assert follower.returncode == 0
    assert rest.count("version ") == 1 and "version 3: " in rest


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
    refused = subprocess.run([*QUERY, "--url", url, "1"], stderr=subprocess.PIPE, text=True)
    assert refused.returncode == 1 and url in refused.stderr
