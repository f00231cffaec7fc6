"""The verb: equations as files for other tools.

hf.export(equations, to="c", path="out/")             cart_rod.h, cart_rod.c
hf.export(equations, to="c", part="controller")       the control forces alone, for a microcontroller
hf.export(equations, to="numpy", path="cart.py")      a module of its own, of arrays
hf.export(equations, to="casadi").load().rhs          a casadi.Function
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from holdfast.common.files import named, write
from holdfast.common.frozen import Frozen
from holdfast.common.nearest import did_you_mean
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.exchange.model import Model, model_of, require_equations
from holdfast.exchange.names import model_name

Part = Literal["model", "controller"]
Files = dict[str, str | bytes]


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
        """All texts, one after another."""
        return "\n".join(content for content in self.files.values() if isinstance(content, str))

    def load(self) -> ModuleType:
        """The exported Python module, ready to be called; its library (numpy, jax, casadi) must be there."""
        if self.target not in PYTHON:
            raise BadRequest(
                f"{self.target} is no Python module", where="load()", fix=f"exports that are: {', '.join(PYTHON)}"
            )
        module = ModuleType(self.name, self.target)
        (text,) = self.files.values()
        try:
            exec(compile(text, f"<{self.name}.py>", "exec", dont_inherit=True), vars(module))
        except ImportError as error:
            raise BadRequest(f"{error}", where="load()", fix=f"install {self.target}, or use `text`") from error
        return module

    def save(self, path: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write the files: into a folder, or, of one file, under this name."""
        target = named(path)
        if len(self.files) == 1 and not target.is_dir():
            return (write(target, next(iter(self.files.values()))),)
        if not target.is_dir():
            raise BadRequest(
                f"there is no folder {target}, and {self.target} makes {len(self.files)} files",
                where="path",
                fix="make it first, or choose another",
            )
        return tuple(write(target / name, content) for name, content in self.files.items())


@dataclass(frozen=True, eq=False)
class Wanted:
    """What is asked for."""

    equations: Equations
    name: str | None
    scheme: Any
    step: float | None
    inputs: tuple[Any, ...]
    part: str
    precision: str
    fmi: int

    @cached_property
    def model(self) -> Model:
        alone = self.part == "controller"
        return model_of(
            self.equations, name=self.name, scheme=self.scheme, step=self.step, inputs=self.inputs, controller=alone
        )

    @property
    def version(self) -> str:
        try:
            return version("holdfast")
        except PackageNotFoundError:  # run from its source
            return "from its source"


def _c(wanted: Wanted) -> Files:
    from holdfast.engine.emit.c_real import precision_named
    from holdfast.exchange.c.header import header
    from holdfast.exchange.c.source import source

    model, controller = wanted.model, wanted.part == "controller"
    precision = precision_named(wanted.precision)
    if controller:
        model.require_controller()
    return {
        f"{model.name}.h": header(model, precision, controller=controller, version=wanted.version),
        f"{model.name}.c": source(model, precision, controller=controller),
    }


def _python(to: str) -> Callable[[Wanted], Files]:
    def files(wanted: Wanted) -> Files:
        from holdfast.exchange.text.python import python_text

        return {f"{wanted.model.name}.py": python_text(wanted.model, to, wanted.version)}

    return files


def _modelica(wanted: Wanted) -> Files:
    from holdfast.exchange.text.modelica import modelica_text

    return {f"{wanted.model.name}.mo": modelica_text(wanted.model, wanted.version)}


def _javascript(wanted: Wanted) -> Files:
    from holdfast.exchange.text.javascript import javascript_text

    return {f"{wanted.model.name}.mjs": javascript_text(wanted.model, wanted.version)}


def _latex(wanted: Wanted) -> Files:
    from holdfast.exchange.text.latex import latex_text

    name = model_name(wanted.name, wanted.equations.problem.title)
    return {f"{name}.tex": latex_text(wanted.equations, wanted.version)}


def _fmu(wanted: Wanted) -> Files:
    from holdfast.exchange.fmu.archive import fmu

    return {f"{wanted.model.name}.fmu": fmu(wanted.model, wanted.fmi, f"Holdfast {wanted.version}")}


PYTHON = ("numpy", "jax", "casadi")  # targets that are Python modules
TARGETS: dict[str, Callable[[Wanted], Files]] = {
    "c": _c,
    "fmu": _fmu,
    **{to: _python(to) for to in PYTHON},
    "js": _javascript,
    "modelica": _modelica,
    "latex": _latex,
}


def _listed(inputs: Any) -> tuple[Any, ...]:
    """Inputs by name or symbol; one alone need not be a list."""
    return (inputs,) if isinstance(inputs, str) or not isinstance(inputs, Iterable) else tuple(inputs)


def _notes(wanted: Wanted, to: str, files: Files) -> tuple[str, ...]:
    """What the files leave out."""
    if to == "latex":
        return ()
    if to != "fmu":
        return wanted.model.notes
    from holdfast.exchange.fmu.archive import binaries

    (content,) = files.values()
    assert isinstance(content, bytes)
    found = ", ".join(binaries(content))
    has = f"its binary is for {found}; its sources are for others" if found else "it has sources, and no binary"
    return (*wanted.model.notes, has, "its bends and jumps (limits, abs, data) are no events to a solver")


def export(
    equations: Equations,
    to: str,
    path: str | os.PathLike[str] | None = None,
    *,
    name: str | None = None,
    scheme: Any = None,
    step: float | None = None,
    inputs: Iterable[Any] = (),
    part: Part = "model",
    precision: str = "double",
    fmi: int = 2,
) -> Export:
    """The equations for another tool, as files by name; written at once where a `path` is given.

    - "c": C99 in `precision` "double" or "float", bit for bit what the kernels compute where products are not fused;
      with ``part="controller"`` the control forces alone, from the measured state.
    - "fmu": a Functional Mock-up Unit of `fmi` 2 or 3 for model exchange and co-simulation, with sources, and a binary
      for this kind of machine: on x86-64 Linux made by LLVM alone, elsewhere by the system's C compiler where one is.
    - "numpy", "jax", "casadi": a Python module of its own, also by `Export.load`.
    - "js": a module of JavaScript, for pages and node; "modelica": a model; "latex": a document.

    `name` is what files and functions are called. `scheme` and `step` say how the exported step is made: an explicit
    scheme of fixed step, the problem's own unless given. `inputs` names what others put in: parameters; or all
    controls, and then it is the plant that leaves, reactions holding on. They stand in p, and are inputs of an FMU.

        >>> made = hf.export(equations, to="c", name="cart")
        >>> list(made.files)
        ['cart.h', 'cart.c']
    """
    if not isinstance(to, str) or to not in TARGETS:
        fix = did_you_mean(str(to), TARGETS, "targets: " + ", ".join(TARGETS))
        raise BadRequest(f"nothing is exported to {to!r}", where="to", fix=fix)
    if part not in ("model", "controller"):
        raise BadRequest(f"there is no part {part!r}", where="part", fix='"model" or "controller"')
    if part != "model" and to != "c":
        raise BadRequest(f"{to} takes the whole model", where="part", fix='to="c" can be the controller alone')
    if precision != "double" and to != "c":
        raise BadRequest(f"{to} has one precision", where="precision", fix='to="c" can be had in float')
    require_equations(equations, "export")
    wanted = Wanted(equations, name, scheme, step, _listed(inputs), part, precision, fmi)
    files = TARGETS[to](wanted)
    called = next(iter(files)).rpartition(".")[0]
    made = Export(to, called, Frozen(files), _notes(wanted, to, files))
    if path is not None:
        made.save(path)
    return made
