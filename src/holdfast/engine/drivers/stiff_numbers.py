"""What `stiff` and `newton` must be given for a scheme and a size: their upper-case names."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import accumulate

from holdfast.engine.drivers import newton, stiff
from holdfast.schemes.kinds.collocation import Collocation

KEPT = 10  # numbers in front of the work space
OWN = ("QUICK", "SAME", "NEARLY", "RECOVERY", "LARGEST_GOAL", "ENOUGH", "HOPELESS", "ROUNDING", "CORRECTIONS")


def stiff_constants(scheme: Collocation, size: int, width: int) -> dict[str, int | float]:
    """The scheme's numbers, the limits of the drivers, and where in the work space everything lies."""
    poles = scheme.poles
    numbers: dict[str, int | float] = {"MU": poles.real, "ALPHA": poles.pair.real, "BETA": poles.pair.imag}
    for i, row in enumerate(scheme.inverse, start=1):
        numbers |= _named(f"A{i}", row)
    for i, row in enumerate(scheme.dense[1:], start=2):
        numbers |= _named(f"D{i}", row)
    numbers |= _named("E", scheme.error) | _named("C", scheme.main.nodes)
    numbers |= _named("L", poles.real_left) | _named("R", poles.real_right)
    numbers |= _named("LR", (z.real for z in poles.pair_left)) | _named("LI", (z.imag for z in poles.pair_left))
    numbers |= _named("RR", (2 * z.real for z in poles.pair_right))  # ΔZ = r w of the real pole + 2 Re(r w) of the pair
    numbers |= _named("RI", (-2 * z.imag for z in poles.pair_right))
    numbers["WORST"] = scheme.between
    control = {"EXPONENT": scheme.exponent, "SAFETY": scheme.safety, "SHRINK": scheme.shrink, "GROWTH": scheme.growth}
    numbers |= {name: float(value) for name, value in control.items()}
    numbers |= {name: value for name, value in (vars(stiff) | vars(newton)).items() if name in OWN}
    return numbers | dict(zip(PLACES, _places(size, width), strict=False))


def stiff_work(size: int, width: int) -> int:
    """The Reals that an attempt needs, without the scratch of the bodies."""
    return _places(size, width)[-1]


PLACES = "AT_Z AT_Q AT_NEW_Q AT_STEP AT_SCALE AT_Y AT_ERROR AT_ORDER AT_STAGES AT_PARTIALS AT_REAL AT_PAIR".split()


def _places(size: int, width: int) -> list[int]:
    square = size * size
    sizes = [3 * size, 3 * size, 3 * size, 3 * size, size, size, size, 2 * size, 3 * width, square, square, 2 * square]
    return list(accumulate(sizes, initial=KEPT))


def _named(letters: str, values: Iterable[Fraction | float]) -> dict[str, float]:
    return {f"{letters}{k}": float(value) for k, value in enumerate(values, start=1)}
