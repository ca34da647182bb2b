"""Arrays and objects that outlive their lock, their block, their segment: an error or something
old, never a crash. Each in a process of its own."""

import pytest

from conftest import Script

BEGIN = """
    import gc, sys, threading
    import numpy as np
    import interweave
    LARGE = 1 << 20  # of doubles: such a block has memory of its own, which goes with it

    @interweave.struct
    class Record:
        x: interweave.Double
        words: interweave.Sequence[interweave.Double]

    segment = interweave.open(sys.argv[1])
    with segment.write():
        large = segment.new(float, name="large", count=LARGE)
        large[:] = 1
        small = segment.new(float, name="small", count=4)
        record = segment.new(Record, name="record", value={"x": 3, "words": np.full(LARGE, 2.0)})
        words = record.words
        part = large[::2]

    def use():
        for array in (large, small, words, part):
            array.sum()
            array.copy()
            assert not np.isnan(array).any()
        large.tobytes()
        bytes(memoryview(small))

    def refused(look):
        try:
            look()
        except interweave.Error as failure:
            return type(failure).__name__
        return "allowed"
"""


@pytest.mark.parametrize("title, middle, answer", [
    ("released", "", "NoLock"),
    ("freed here", """
        with segment.write():
            del segment["large"], segment["small"], segment["record"]
            use()
        """, "NoLock"),
    ("freed, and looked at in the same section", """
        with segment.write():
            del segment["record"]
            assert refused(lambda: record.x) == "NoBlock"
        """, "NoLock"),
    ("replaced", """
        with segment.write():
            record.words = []
            use()
        """, "NoLock"),
    ("aborted", """
        try:
            with segment.write():
                more = segment.new(float, name="more", count=LARGE)
                kept = more[:]
                raise KeyError
        except KeyError:
            kept.sum()
        """, "NoLock"),
    ("freed by another", """
        other = interweave.open(sys.argv[1])
        import subprocess
        subprocess.run([sys.executable, "-c", '''if True:
            import sys, interweave
            with interweave.open(sys.argv[1]) as segment, segment.write():
                for block in list(segment):
                    segment.free(block)
        ''', sys.argv[1]], check=True)
        with segment.read():
            use()
            assert len(segment) == 0
            assert refused(lambda: record.x) == "NoBlock"
        """, "NoLock"),
    ("closed", "segment.close()", "NotOpen"),
    ("closed and opened again", """
        segment.close()
        use()
        segment = interweave.open(sys.argv[1])
        with segment.read():
            use()
            assert segment["large"].sum() == LARGE
        """, "NoLock"),
    ("forgotten", """
        del segment, record
        gc.collect()
        record = type("Gone", (), {"x": property(lambda self: interweave.at("x"))})()
        """, "BadUrl"),
    ("used by another thread while others change them", """
        end = threading.Event()

        def look():
            while not end.is_set():
                use()

        thread = threading.Thread(target=look)
        thread.start()
        for round in range(30):
            with segment.write():
                del segment["large"]
                segment.new(float, name="large", count=LARGE)[:] = round
                record.words = np.full(LARGE, 2.0)
        end.set()
        thread.join()
        """, "NoLock"),
])
def test_what_is_used_too_late_is_no_crash(url, title, middle, answer):
    import textwrap
    script = Script(textwrap.dedent(BEGIN) + textwrap.dedent(middle) + textwrap.dedent("""
        use()
        print(refused(lambda: record.x))
    """), url)
    assert script.end().strip() == answer


def test_a_store_after_the_section_is_undone_and_reported(url):
    script = Script(BEGIN + """
    part = small[1:]          # derived from a view under the writer lock: it keeps its flag
    with segment.write():
        late = segment["small"][1:]
    late[0] = 99
    with segment.read():
        print(segment["small"][1], segment.stats.stray_writes > 0)
    """, url)
    assert script.end().split() == ["0.0", "True"]


def test_views_survive_the_end_of_the_interpreter(url):
    script = Script(BEGIN + """
    import builtins
    builtins.kept = (segment, large, record, words)
    segment.on_change(lambda version: None)
    thread = threading.Thread(target=lambda: segment.read().__enter__(), daemon=True)
    thread.start()
    thread.join()
    print("ends")
    """, url)
    assert script.end().strip() == "ends"
