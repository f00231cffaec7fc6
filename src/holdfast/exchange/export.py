"""The verb: equations as files for other tools.

hf.export(equations, to="c", path="out/")             cart_rod.h, cart_rod.c
hf.export(equations, to="c", part="controller")       the control forces alone, for a microcontroller
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from holdfast.common.files import write
from holdfast.common.frozen import Frozen
from holdfast.common.nearest import did_you_mean
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.exchange.model import Model, model_of

Part = Literal["model", "controller"]


@dataclass(frozen=True, eq=False)
class Export:
    """Files by name, as text or bytes; `notes` say what they leave out."""

    target: str
    name: str
    files: Mapping[str, str | bytes]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Export to {self.target}: {', '.join(self.files)}>"

    @property
    def text(self) -> str:
        """The one text of an export that has one file; of several, all after one another."""
        return "\n".join(content for content in self.files.values() if isinstance(content, str))

    def save(self, path: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write the files: into a folder, or, of one file, under this name."""
        target = Path(path)
        if len(self.files) == 1 and not target.is_dir():
            return (write(target, next(iter(self.files.values()))),)
        if not target.is_dir():
            raise BadRequest(
                f"there is no folder {target}, and {self.target} makes {len(self.files)} files",
                where="path",
                fix="make it first, or choose another",
            )
        return tuple(write(target / name, content) for name, content in self.files.items())


@dataclass(frozen=True, slots=True)
class Choices:
    """What may be asked of a target beside the equations."""

    part: str = "model"
    precision: str = "double"
    version: str = ""


def _c(model: Model, choices: Choices) -> dict[str, str | bytes]:
    from holdfast.exchange.c.header import header
    from holdfast.exchange.c.source import source
    from holdfast.exchange.c.writer import precision_named

    precision, controller = precision_named(choices.precision), choices.part == "controller"
    if controller:
        require_controller(model)
    return {
        f"{model.name}.h": header(model, precision, controller=controller, version=choices.version),
        f"{model.name}.c": source(model, precision, controller=controller),
    }


def require_controller(model: Model) -> None:
    """Refuse where no function of the state alone gives the controls."""
    if not model.controls:
        raise BadRequest("the program has no controls", where="part", fix="name some in Program(controls=...)")
    extended = model.equations.deviations.extensions
    if extended:
        name = extended[0].control
        raise BadRequest(
            f"the control {name!r} has a state of its own, so no function of the measured state gives it",
            where="part",
            fix="export the whole model, and step its states",
        )


def _version() -> str:
    try:
        return version("holdfast")
    except PackageNotFoundError:  # run from its source
        return "from its source"


TARGETS: dict[str, Callable[[Model, Choices], dict[str, str | bytes]]] = {"c": _c}
PRECISE = frozenset({"c"})  # targets that can be had in float
IN_PARTS = frozenset({"c"})  # targets that can be the controller alone


def export(
    equations: Equations,
    to: str,
    path: str | os.PathLike[str] | None = None,
    *,
    name: str | None = None,
    scheme: Any = None,
    step: float | None = None,
    part: Part = "model",
    precision: str = "double",
) -> Export:
    """The equations for another tool, as files by name; written at once where a `path` is given.

    ``to`` is "c": C99 in `precision` "double" or "float", bit for bit what the kernels compute where products are not
    fused; with ``part="controller"`` the control forces alone, from the measured state.

    `scheme` and `step` say how the exported step is made: an explicit scheme of fixed step, the problem's own unless
    given.

        >>> made = hf.export(equations, to="c", name="cart")
        >>> list(made.files)
        ['cart.h', 'cart.c']
    """
    if to not in TARGETS:
        fix = did_you_mean(str(to), TARGETS, "targets: " + ", ".join(TARGETS))
        raise BadRequest(f"nothing is exported to {to!r}", where="to", fix=fix)
    if part not in ("model", "controller"):
        raise BadRequest(f"there is no part {part!r}", where="part", fix='"model" or "controller"')
    if part != "model" and to not in IN_PARTS:
        raise BadRequest(f"{to} takes the whole model", where="part", fix='to="c" can be the controller alone')
    if precision != "double" and to not in PRECISE:
        raise BadRequest(f"{to} has one precision", where="precision", fix='to="c" can be had in float')
    model = model_of(equations, name=name, scheme=scheme, step=step)
    files = TARGETS[to](model, Choices(part, precision, _version()))
    made = Export(to, model.name, Frozen(files), model.notes)
    if path is not None:
        made.save(path)
    return made
