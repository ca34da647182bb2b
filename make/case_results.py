"""The results of single cases that the test runners leave in a stage's folder, each
in its own form.

  ctest*.xml  JUnit of ctest; what a program of GoogleTest printed tells its single cases
  *.xml       JUnit of pytest
  *.tap       the Test Anything Protocol, of node
  *.cargo     what cargo test printed, each case with its time
"""

import dataclasses
import re
import xml.etree.ElementTree


@dataclasses.dataclass
class Case:
    stage: str
    name: str
    seconds: float
    outcome: str  # passed, failed, skipped
    text: str = ""  # of a failed one, what it printed


def read(folder):
    cases = []
    for path in sorted(folder.glob("*.xml")):
        cases += read_junit(folder.name, path)
    for path in sorted(folder.glob("*.tap")):
        cases += read_tap(folder.name, path)
    for path in sorted(folder.glob("*.cargo")):
        cases += read_cargo(folder.name, path)
    return cases


GOOGLETEST_LINE = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] (\S+?)(?:, where .*)?"
                             r" \(([0-9]+) ms\)$", re.M)
GOOGLETEST_OUTCOME = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}


def read_junit(stage, path):
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        name, group = case.get("name"), case.get("classname")
        if group and group != name:
            name = f"{group}.{name}"
        outcome = junit_outcome(case)
        seconds = float(case.get("time", 0))
        own = [Case(stage, f"{name}: {own}", int(ms) / 1000, GOOGLETEST_OUTCOME[word])
               for word, own, ms in GOOGLETEST_LINE.findall(case.findtext("system-out") or "")]
        if len(own) > 1:
            yield from own
        # A program may crash, or run out of time, whatever its cases said: that
        # is one failure more.
        text = case.findtext("system-out") or case.findtext("failure") or ""
        if len(own) < 2 or outcome == "failed":
            yield Case(stage, name, seconds, outcome, text if outcome == "failed" else "")


def junit_outcome(case):
    status = case.get("status")
    if case.find("failure") is not None or case.find("error") is not None or status == "fail":
        return "failed"
    if case.find("skipped") is not None or status in {"notrun", "disabled"}:
        return "skipped"
    return "passed"


TAP_LINE = re.compile(r"^(?P<indent> *)(?P<no>not )?ok \d+ - (?P<name>.*?)(?P<skip> # SKIP.*)?$")
TAP_TIME = re.compile(r"^ *duration_ms: ([0-9.]+)$")
TAP_KIND = re.compile(r"^ *type: '?(suite|test)'?$")


def read_tap(stage, path):
    cases = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if found := TAP_LINE.match(line):
            outcome = "failed" if found["no"] else "skipped" if found["skip"] else "passed"
            cases.append(Case(stage, found["name"], 0.0, outcome))
        elif cases and (found := TAP_TIME.match(line)) and not cases[-1].seconds:
            cases[-1].seconds = float(found[1]) / 1000
        elif cases and (found := TAP_KIND.match(line)) and found[1] == "suite":
            cases.pop()
    return cases


CARGO_LINE = re.compile(r"^test (?P<name>\S+)(?: - should panic)? \.\.\. "
                        r"(?P<outcome>ok|FAILED|ignored)"
                        r"(?: <(?P<seconds>[0-9.]+)s>)?")


CARGO_OUTPUT = re.compile(r"^---- (\S+) stdout ----\n(.*?)(?=^----|^failures:)", re.M | re.S)


def read_cargo(stage, path):
    text = path.read_text(encoding="utf-8", errors="replace")
    printed = dict(CARGO_OUTPUT.findall(text))
    for line in text.splitlines():
        if found := CARGO_LINE.match(line):
            outcome = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}[found["outcome"]]
            yield Case(stage, found["name"], float(found["seconds"] or 0), outcome,
                       printed.get(found["name"], ""))
