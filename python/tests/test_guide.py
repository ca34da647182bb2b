"""Every piece of code in docs/python.md runs, in order, in one program."""

import asyncio
import re

from conftest import REPOSITORY, program


def test_the_guides_code_runs(server, agent, monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    monkeypatch.setenv("IW_PROGRAM", program("IW_TEST_SERVER", "target/release/interweave"))
    text = (REPOSITORY / "docs/python.md").read_text()
    pieces = [(text.count("\n", 0, match.start()) + 2, match.group(1))
              for match in re.finditer(r"^```python\n(.*?)^```", text, re.S | re.M)]
    assert len(pieces) == 14
    names = {"__name__": "guide"}
    for line, piece in pieces:
        there = piece.replace('"127.0.0.1/', f'"{server.address}/')
        exec(compile("\n" * (line - 1) + there, "docs/python.md", "exec"), names)
    follow, segment = names["follow"], names["segment"]

    async def with_another_writer():
        task = asyncio.create_task(follow())
        await asyncio.sleep(0)
        agent.do(f"open {segment.url} 10")
        agent.do("wl")
        agent.do("make more 1")
        agent.do("release")
        await asyncio.wait_for(task, 60)

    asyncio.run(with_another_writer())
    names["far"].close()
    segment.close()
