"""What the library told this program of one segment: commands `listen` and `told` of the agent."""

from __future__ import annotations

import asyncio
import threading
from typing import Optional

import interweave


class Listening:
    """Hears of versions by `async for`, in a thread with a loop of its own, and of the connection
    by a callback."""

    def __init__(self, segment: interweave.Segment) -> None:
        self.segment = segment
        self.heard = threading.Condition()
        self.newest = 0
        self.connection = ""
        self.loss: Optional[interweave.Error] = None
        begun = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._follow(begun)), daemon=True).start()
        begun.wait()
        segment.on_connection(self._connection_is)

    async def _follow(self, begun: threading.Event) -> None:
        changes = self.segment.changes()
        begun.set()
        try:
            async for version in changes:
                with self.heard:
                    self.newest = version
                    self.heard.notify_all()
        except interweave.SegmentLost as loss:
            with self.heard:
                self.loss = loss
                self.heard.notify_all()

    def _connection_is(self, state: str) -> None:
        with self.heard:
            self.connection = state
            self.heard.notify_all()

    def told(self, what: str, seconds: float) -> Optional[int]:
        """Waits for a version that is at least `what`, or for the connection to be in the state
        `what`."""
        is_version = what.isdigit()

        def is_told() -> bool:
            return self.newest >= int(what) if is_version else self.connection == what
        with self.heard:
            self.heard.wait_for(lambda: self.loss is not None or is_told(), seconds)
            if self.loss is not None:
                raise self.loss
            if not is_told():
                raise interweave.TimedOut("not told")
            return self.newest if is_version else None
