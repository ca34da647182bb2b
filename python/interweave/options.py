"""The options of an opening, checked before C sees them, which would cut a text at a NUL byte.

A value of another type is a TypeError that names the option and the type, as everywhere in Python;
a value that no server could be shown is BadArgument [CRED-3]. No text shows a token.
"""

from __future__ import annotations

import os
from operator import index
from typing import Any, Optional

from .errors import BadArgument, BadUrl

_MOST_QUOTA = (1 << 64) - 1


def _wrong_type(option: str, wanted: str, value: Any) -> TypeError:
    return TypeError(f"the option {option} takes {wanted}, not {type(value).__name__}")


def url_text(url: Any) -> str:
    if not isinstance(url, str):
        raise TypeError(f"the URL of a segment is a str, not {type(url).__name__}")
    if "\0" in url:
        raise BadUrl("the URL has a NUL character")
    return str(url)


def flag(option: str, value: Any) -> bool:
    # numpy's bool is not Python's.
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    raise _wrong_type(option, "a bool", value)


def seconds(option: str, value: Any) -> float:
    if isinstance(value, (str, bytes)):
        raise _wrong_type(option, "a number of seconds", value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise _wrong_type(option, "a number of seconds", value) from None
    if not number > 0:
        raise ValueError(f"the option {option} takes more than 0 seconds")
    return number


def count_of_bytes(option: str, value: Any) -> int:
    try:
        number = index(value)
    except TypeError:
        raise _wrong_type(option, "a whole number of bytes", value) from None
    if not 0 <= number <= _MOST_QUOTA:
        raise ValueError(f"the option {option} takes 0 to 2^64 - 1 bytes")
    return number


def secret(option: str, value: Any) -> Optional[str]:
    if value is None:
        return None
    if not isinstance(value, str):
        raise _wrong_type(option, "a str, or None", value)
    return _passed_on(option, value)


def file_name(option: str, value: Any) -> Optional[str]:
    if value is None:
        return None
    try:
        name = os.fspath(value)
    except TypeError:
        raise _wrong_type(option, "a str, an os.PathLike of str, or None", value) from None
    if not isinstance(name, str):
        raise _wrong_type(option, "a str, an os.PathLike of str, or None", name)
    return _passed_on(option, name)


def _passed_on(option: str, text: str) -> str:
    if "\0" in text:
        raise BadArgument(f"the option {option} has a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadArgument(f"the option {option} has a character that UTF-8 does not have") from None
    return str(text)
