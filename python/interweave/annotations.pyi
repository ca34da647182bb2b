# What the names of types mean to a type checker: `key: interweave.Int` is an int. At run time they are
# descriptions of types (declare.py). Lengths are Literals: Array[Double, Literal[4]].
from typing import Any, Generic, Iterator, Optional, TypeVar, overload

import numpy as np
import numpy.typing as npt

Char = int
UChar = int
Short = int
UShort = int
Int = int
UInt = int
Hyper = int
UHyper = int
Float = float
Double = float
Bool = bool
Text = str

T = TypeVar("T")
N = TypeVar("N")

class _Row(Generic[T]):
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: Any) -> Any: ...
    def __setitem__(self, index: Any, value: Any) -> None: ...
    def __iter__(self) -> Iterator[T]: ...
    def __array__(self, dtype: Any = ..., copy: Any = ...) -> npt.NDArray[Any]: ...

Row = _Row  # in the stubs of `interweave compile --lang python`

class Array(_Row[T], Generic[T, N]): ...
class Sequence(_Row[T]): ...

Pointer = Optional[T]

class String(str, Generic[N]): ...
