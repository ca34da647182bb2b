"""InterWeave: shared typed memory. A program opens segments by URL, and reads and writes them as
Python objects and numpy arrays.

    import interweave

    segment = interweave.open("127.0.0.1/astroflow")
    with segment.read(coherence=interweave.Temporal(0.2)):
        print(segment["header"].time, segment["density"].mean())
    with segment.write():
        segment["header"].want_pause = True

Threads, locks and coherence work as in the C interface (interweave.h). docs/python.md is the guide.
"""

from typing import TYPE_CHECKING

from . import api, errors
from .api import *
from .errors import *

__version__ = "0.1.0"

# Type checkers follow the stars, but do not add lists.
if not TYPE_CHECKING:
    __all__ = [*api.__all__, *errors.__all__]
