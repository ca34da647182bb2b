"""Whether the runner notices: an agent that lies, a gap that passes, a case that cites no rule."""

import pathlib
import sys

from runner import cases, identities, matrix, owners, random_test, restarts

HERE = pathlib.Path(__file__).resolve().parent.parent
NUMBERS = {
    "name": "one number", "rules": ["WIRE-1"], "steps": [
        "W wl s", "W make s n 1 \"int\"", "W put s n 41", "W wl_release s", "R rl s",
        ["R get s n", "ok 41"], "R rl_release s"
    ]
}
SAME = {
    "name": "equal dumps", "rules": ["WIRE-1"],
    "steps": ["W wl s", "W make s n 1 \"int\"", "W wl_release s", "same s"]
}


def run(programs, build, kind):
    """The names of the checks that the runner fails. `programs`: `interweave`, the database's."""
    program, cluster = programs
    liar = {
        "name": "liar",
        "command": [sys.executable, str(HERE / "agents/lying.py"), *kind["command"]]
    }

    def failures(kinds, gaps):
        report = matrix.run(matrix.pairs_of(kinds, True), [NUMBERS, SAME], gaps, program, build, 1,
                            say=lambda _: None)
        return len(report.failures)

    def gap(agent, role):
        return [{"agent": agent, "role": role, "case": "one number", "reason": "a test"}]

    def cells(name, gaps):
        """How many cells pass, fail and are known to fail."""
        only = f"{name} idle synced cut"
        report = restarts.run([kind, liar], gaps, program, build, only, False, 1,
                              say=lambda _: None)
        return report.passed, report.failed, report.known

    def moved():
        """How many clients outlive a move, and how many do not."""
        report = owners.run([kind, liar], [], programs, build, "idle memory move", False, 1,
                            say=lambda _: None)
        return report.passed, report.failed

    def cell_gap(client):
        return [{"client": client, "state": "idle", "reason": "a test"}]

    def refused():
        try:
            cases.check(pathlib.Path("none"), {**NUMBERS, "rules": ["WIRE-999"]},
                        cases.rules_of(HERE.parent / "spec"))
        except ValueError:
            return True
        return False

    def pair_count(is_long):
        content = [{"name": name, "beside": [kind["name"]]} for name in ("one", "other")]
        return len(matrix.pairs_of([kind, *content], is_long))

    def faults(refusal, *answers):
        """How many of the answers are not what a client must be told."""
        return sum(identities.fault(refusal, answer, {"alice": "iw_a"}) is not None
                   for answer in answers)

    honest = kind["name"]
    checks = {
        "an honest pair passes": failures([kind], []) == 0,
        # As a reader it fails the numbers twice; beside an honest one the dumps, twice.
        "a liar is found as a reader, and by its dumps": failures([kind, liar], []) == 4,
        "a known gap is not a failure": failures([kind, liar], gap("liar", "R")) == 2,
        "a gap that passes is one": failures([kind], gap(honest, "R")) == 1,
        "a liar is found among random edits": random_test.run([kind, liar], program, build, 1, 200,
                                                              None, lambda *_: None)[2] is not None,
        "two that are content with a third meet in long runs only":
            (pair_count(False), pair_count(True)) == (7, 9),
        "a rule that does not exist is refused": refused(),
        "a refusal of another code or other words is found": faults(
            ("DENIED", "IW_TOKEN"), "error DENIED set IW_TOKEN", "error DENIED no",
            "error TIMED_OUT set IW_TOKEN", "ok") == 3,
        "a refusal of a client that is to be let in is found": faults(None, "ok 3", "error X") == 1,
        "an answer that shows a token is found": faults(None, "ok iw_a") == 1,
        "a client that outlives a lost connection passes": cells(honest, []) == (1, 0, 0),
        "a liar is found after a lost connection": cells("liar", []) == (0, 1, 0),
        "a known gap of a cell is not a failure": cells("liar", cell_gap("liar")) == (0, 0, 1),
        "a client that outlives a move passes, and a liar is found":
            cluster == "none" or moved() == (1, 1),
        "a gap of a cell that passes is one": cells(honest, cell_gap(honest)) == (0, 1, 0),
    }
    return [name for name, holds in checks.items() if not holds]
