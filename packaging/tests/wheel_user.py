"""What a user does first with an installed wheel, in an environment that is not on the path."""

import pathlib
import tempfile

import numpy as np

import interweave

with tempfile.TemporaryDirectory() as folder:
    with interweave.serve(folder + "/store") as server:
        with interweave.open(server.url("/first")) as segment:
            segment.put("frame", np.arange(6.0).reshape(2, 3))
            assert segment.get("frame").sum() == 15
    with interweave.serve(folder + "/store") as server:
        with interweave.open(server.url("/first"), create=False) as segment:
            assert segment.get("frame").shape == (2, 3), "the store of the first server is kept"
    source = pathlib.Path(folder, "point.x")
    source.write_text("struct point { double x; double y; };\n", encoding="utf-8")
    point = interweave.load_types(source).point
    with interweave.serve() as server:
        with interweave.open(server.url("/second")) as segment:
            with segment.write():
                segment.new(point, name="origin").x = 4.5
            with segment.read():
                assert segment["origin"].x == 4.5
