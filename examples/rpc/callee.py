#!/usr/bin/env python3
"""callee.py: orders parts that are short, for rpc-caller: the callee of plain
HTTP, in another language.

A form is posted to /restock (root, below, up_to) or /introduce (root, number, price, name). `root`
is the MIP of the caller's tree of parts: its segment is opened and the parts are changed where they
are. No type is declared here, since segments describe themselves. By copy, JSON is posted to
/restock_copy (below, up_to, parts), and the parts travel back.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from collections import OrderedDict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, Tuple
from urllib.parse import parse_qsl, urlencode

import interweave

OPEN_MAX = 16  # segments: a caller can name any number of them
FORM_BYTES_MAX = 8192
COPY_BYTES_MAX = 64 << 20
FORM = "application/x-www-form-urlencoded"
JSON, LINE = "application/json", "text/plain; charset=utf-8"
NO_TREE = "these parts are not a tree: one comes twice"

EXAMPLES = """\
examples:
  callee.py                                                        one terminal; Ctrl-C ends it
  rpc-caller plant 1000                                            another
  rpc-caller --callee http://127.0.0.1:7791 restock 15 20
  curl -d root=127.0.0.1/stock -d below=15 -d up_to=20 http://127.0.0.1:7791/restock
"""


class Refused(Exception):
    """What the caller asked cannot be done; the text says why."""


class Stocks:
    """Segments stay open between calls: the copy is what makes the next call on
    the same structure cheap."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, interweave.Segment] = OrderedDict()

    def segment_of(self, mip: str) -> interweave.Segment:
        url = mip.partition("#")[0]
        if url not in self._open:
            self._open[url] = interweave.open(url, create=False)
            if len(self._open) > OPEN_MAX:
                self._open.popitem(last=False)[1].close()
        self._open.move_to_end(url)
        return self._open[url]

    def restock(self, root: str, below: str, up_to: str) -> Dict[str, Any]:
        segment = self.segment_of(root)
        lowest, highest = int(below), int(up_to)
        visited = ordered = 0
        cost = 0.0
        with segment.write():
            parts_max = segment.stats.blocks
            left = [part_at(segment, root)]
            while left:
                part = left.pop()
                visited += 1
                if visited > parts_max:
                    raise Refused(NO_TREE)
                if part.in_stock < lowest:
                    cost += (highest - part.in_stock) * part.price
                    part.in_stock = highest
                    ordered += 1
                left += [one for one in (part.lower, part.higher) if one is not None]
        return {"visited": visited, "ordered": ordered, "cost": cost, "traffic": traffic(segment)}

    def introduce(self, root: str, number: str, price: str, name: str) -> Dict[str, Any]:
        segment = self.segment_of(root)
        wanted = int(number)
        with segment.write():
            below = part_at(segment, root)
            for _ in range(segment.stats.blocks):
                above = below
                if above.number == wanted:
                    raise Refused(f"part {wanted} is there already ('{above.name}'); take another "
                                  "number")
                side = "lower" if wanted < above.number else "higher"
                below = getattr(above, side)
                if below is None:
                    break
            else:
                raise Refused(NO_TREE)
            made = segment.new(segment.block(above).layout)
            made.number, made.price, made.name = wanted, float(price), name
            setattr(above, side, made)
        return {"visited": 0, "ordered": 0, "cost": 0, "traffic": traffic(segment)}


def restock_copy(stock: Dict[str, Any]) -> Dict[str, Any]:
    """The same order, in parts that came with the call. They go back changed."""
    lowest, highest = stock["below"], stock["up_to"]
    visited = ordered = 0
    cost = 0.0
    left = [stock["parts"]]
    while left:
        part = left.pop()
        if part is None:
            continue
        visited += 1
        if part["in_stock"] < lowest:
            cost += (highest - part["in_stock"]) * part["price"]
            part["in_stock"] = highest
            ordered += 1
        left += [part["lower"], part["higher"]]
    return {"visited": visited, "ordered": ordered, "cost": cost, "parts": stock["parts"]}


def part_at(segment: interweave.Segment, mip: str) -> Any:
    """The MIP came from outside: it must lead to a part."""
    place = interweave.at(mip)
    if not isinstance(place, interweave.Struct) or segment.block(place).type != "part":
        raise Refused(f"{mip} leads to no part; give the MIP of a stock's root")
    return place


def traffic(segment: interweave.Segment) -> int:
    stats = segment.stats
    return stats.bytes_sent + stats.bytes_received


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept
    disable_nagle_algorithm = True
    server: "Server"

    def do_POST(self) -> None:
        size = self.headers.get("Content-Length", "")
        size_max = COPY_BYTES_MAX if self.path == "/restock_copy" else FORM_BYTES_MAX
        if not size.isdecimal() or int(size) > size_max:
            self.close_connection = True
            self.answer(413, LINE, f"a call has a Content-Length, of at most {size_max}")
            return
        body = self.rfile.read(int(size))
        try:
            kind, text = self.call(body.decode())
        except (Refused, interweave.Error) as failure:
            self.answer(409, LINE, str(failure))
        except (KeyError, RecursionError, TypeError, ValueError) as failure:
            self.answer(400, LINE, f"{type(failure).__name__}: {failure}")
        else:
            self.answer(200, kind, text)

    def call(self, body: str) -> Tuple[str, str]:
        """The kind of the answer, and the answer."""
        if self.path == "/restock_copy":
            return JSON, json.dumps(restock_copy(json.loads(body)), separators=(",", ":"))
        calls = {"/restock": self.server.stocks.restock, "/introduce": self.server.stocks.introduce}
        if self.path not in calls:
            raise Refused(f"'{self.path}' is not one of /restock_copy, {', '.join(calls)}")
        form = dict(parse_qsl(body, strict_parsing=True))
        with self.server.turn:
            return FORM, urlencode(calls[self.path](**form))

    def answer(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Calls are not logged."""


class Server(ThreadingHTTPServer):
    """A thread for each connection; calls take turns."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.stocks = Stocks()
        self.turn = threading.Lock()


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Orders parts that are short, for rpc-caller, asked by HTTP.", epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--port", type=int, default=7791,
        help="another port than 7791; 0: any, printed as `listening 127.0.0.1:PORT`")
    port = parser.parse_args().port
    try:
        server = Server(port)
    except (OSError, OverflowError) as failure:
        print(f"callee.py: port {port}: {failure}; choose another one with --port", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print(f"listening 127.0.0.1:{server.server_address[1]}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
