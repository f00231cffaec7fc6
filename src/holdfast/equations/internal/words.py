"""Internal dynamics in words: what stays free, what becomes of it at rest, and what it did along a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.equations.internal.roots import Fate

if TYPE_CHECKING:
    from holdfast.equations.internal.dynamics import InternalDynamics, Rest

FEW = 6  # names that a sentence lists


def sentence(found: InternalDynamics) -> str:
    """One sentence: what stays free, and the worst that is known of it."""
    if not found.dimension:
        return "nothing stays free: the program determines the motion"
    said = [free_words(found)]
    if found.along is not None and found.along.grows:
        said.append(along_words(found))
    elif found.rest is not None:
        said.append(rest_words(found.rest, found.controlled))
    return "; ".join(said)


def warning(found: InternalDynamics) -> str | None:
    """What to know before a run or after it, where controls hold the program and what they leave free runs away."""
    if not (found.controlled and found.dimension and found.grows):
        return None
    said = [free_words(found)]
    if found.along is not None and found.along.grows:
        said.append(along_words(found))
    if found.rest is not None and not found.rest.fate.bounded:
        said.append(rest_words(found.rest, found.controlled))
    return "; ".join(said)


def summary(found: InternalDynamics) -> str:
    """All that is known, a line each."""
    if not found.dimension:
        return "Nothing stays free: the program determines the motion.\n"
    lines = [free_words(found)]
    if found.rest is None:
        lines.append(f"at rest: not known, {found.reason}")
    else:
        lines.append(
            f"{rest_words(found.rest, found.controlled)}, at {state_words(found.rest, found.equations.coordinates)}"
        )
    if found.along is not None:
        lines.append(along_words(found) if found.along.grows else "along this run it stays bounded (estimated)")
    return "\n".join(line[0].upper() + line[1:] + "." for line in lines) + "\n"


def free_words(found: InternalDynamics) -> str:
    """1 direction stays free (th)."""
    count = found.directions
    verb = "direction stays" if count == 1 else "directions stay"
    names = listed(found.carriers)
    rates = found.dimension - count
    fewer = "" if rates == count else f", {rates} of their rates" if rates else ", without a rate"
    own = found.equations.problem.system.states
    if any(name in own for name in found.carriers):
        fewer = ""
    return f"{count} {verb} free ({names}{fewer})" if names else f"{count} {verb} free"


def rest_words(rest: Rest, controlled: bool = False) -> str:
    """What becomes of a push at rest; a zero of what controls do is called by its name."""
    fate, worst = rest.fate, rest.found.worst
    if worst is None:
        return "at rest nothing moves"
    who, root = listed(rest.carriers) or "it", written(worst)
    if fate is Fate.runs_away:
        verb = "run" if len(rest.carriers) > 1 else "runs"
        size = f"e times in {1 / worst.real:.3g}"
        phase = " (non-minimum phase)" if controlled else ""
        return f"at rest {who} {verb} away: the root {root} has Re > 0{phase}, {size}"
    if fate is Fate.leaves:
        what = f"a repeated root {root}"
        return f"at rest nothing brings {who} back ({what}): any push makes {_it(rest.carriers)} leave for ever"
    if fate is Fate.returns:
        return f"at rest it returns after a push (slowest root {root})"
    if fate is Fate.swings:
        return f"at rest it swings, neither growing nor dying to first order (root {root})"
    return f"at rest {who} stays where it is pushed (root 0)"


def _it(names: tuple[str, ...]) -> str:
    return "it" if len(names) < 2 else "them"


def along_words(found: InternalDynamics) -> str:
    """What was seen along the run."""
    along = found.along
    assert along is not None
    it = "it goes on leaving" if found.directions == 1 else "they go on leaving"
    if along.leaving:
        units = found.equations.problem.units
        paces = [f"{name}, {_pace(name, value, units)}" for name, value in list(along.leaving.items())[:FEW]]
        return f"along this run {it} ({'; '.join(paces)})"
    size = f"{along.growth:.2g} times" if np.isfinite(along.growth) else "beyond all numbers"
    return f"along this run small changes of {'it' if found.directions == 1 else 'them'} grow {size} (estimated)"


def _pace(name: str, value: float, units: Mapping[str, Any]) -> str:
    unit = str(units.get(f"{name}_dot", "") or (f"{units[name]}/s" if units.get(name) else ""))
    return f"{value:+.3g} {unit}" if unit else f"{value:+.3g} per unit of time"


def state_words(rest: Rest, coordinates: Sequence[str]) -> str:
    """A state of rest, without its rates, which are 0."""
    rates = {f"{name}_dot" for name in coordinates}
    shown = [f"{name} = {_rounded(value)}" for name, value in rest.state.items() if name not in rates]
    return ", ".join(shown[:FEW]) + (", ..." if len(shown) > FEW else "")


def _rounded(value: float) -> str:
    return f"{0.0 if abs(value) < 1e-12 else value:.6g}"


def written(root: complex) -> str:
    """A root in five digits: +4.4294, -1 ± 2i, ± 3.132i."""
    real, imaginary = root.real, abs(root.imag)
    size = abs(root)
    if imaginary <= 1e-9 * size:
        return f"{real:+.5g}" if size else "0"
    if abs(real) <= 1e-6 * size:
        return f"± {imaginary:.5g}i"
    return f"{real:+.5g} ± {imaginary:.5g}i"


def listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:FEW]) + (f" and {len(names) - FEW} more" if len(names) > FEW else "")
