"""What callers may give: names, numbers, expressions, states and matrices, each in the ways they are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import sympy as sp

Key: TypeAlias = str | sp.Symbol  # a quantity, or its name
Expression: TypeAlias = sp.Expr | float
ByName: TypeAlias = Mapping[Any, Expression]  # by quantity or name (Any: the keys of a mapping are invariant)
StateLike: TypeAlias = ByName | Sequence[float]  # some components by name, or all in order
Columns: TypeAlias = Mapping[Any, Iterable[float]]
MatrixLike: TypeAlias = np.ndarray | sp.MatrixBase | Sequence[Sequence[float]]
