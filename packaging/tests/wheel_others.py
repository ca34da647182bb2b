"""Programs of several Pythons share a list, each with the wheel of its own.

  wheel_others.py serve               prints the address of a server, which lives until standard
                                      input ends
  wheel_others.py append ADDRESS      puts this Python's version in front, and prints the list
"""

import sys

import interweave


@interweave.struct
class Node:
    python: interweave.Text
    next: interweave.Pointer["Node"]


def append(address):
    with interweave.open(address + "/pythons") as segment:
        with segment.write():
            if "head" not in segment:
                segment.new(Node, name="head")
            head = segment["head"]
            node = segment.new(Node, value={"python": "%d.%d" % sys.version_info[:2]})
            node.next = head.next
            head.next = node
        with segment.read():
            node = segment["head"].next
            while node is not None:
                print(node.python, end=" ")
                node = node.next
    print()


if sys.argv[1] == "serve":
    with interweave.serve() as server:
        print(server.address, flush=True)
        sys.stdin.read()
else:
    append(sys.argv[2])
