"""Reads a published case from `data/` into a Holdfast problem.

The files state T, V, D, Q and the constraints as texts of ours, and multipliers with the other sign:
M a = F − Gᵀ lam, so that lambda = −lam here.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sympy as sp

import holdfast as hf

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Case:
    """A published case: the problem, its reference states, and the rest of the file."""

    problem: hf.Problem
    rates: tuple[str, ...]  # the file's names of the rates
    data: dict[str, Any]

    def state(self, time: str) -> list[float]:
        """The reference state (q, v) at a time of the file."""
        row = self.data["states"][time]
        return [float(row["q"][c]) for c in self.data["coordinates"]] + [float(row["v"][u]) for u in self.rates]

    def multipliers(self, time: str) -> list[float]:
        """λ in Holdfast's sign."""
        return [-float(value) for value in self.data["states"][time]["lam"]]


def load(name: str, law: Any = None) -> Case:
    """The case of one file, without stabilisation unless a law is given."""
    data = json.loads((DATA / f"{name}.json").read_text("utf-8"))
    q = [hf.coordinates(n) for n in data["coordinates"]]
    words: dict[str, Any] = {c.name: c for c in q}
    words |= {name: c.rate for name, c in zip(data["velocities"], q, strict=True)}
    words |= {name: hf.parameters(name) for name in data["parameters"]}
    words |= {
        "t": hf.time,
        "ddt": hf.rate,
        "dot": lambda a, b: (a.T * b)[0],
        "Matrix": sp.Matrix,
        "Rx": lambda a: sp.rot_axis1(-a),
        "Rz": lambda a: sp.rot_axis3(-a),
    }

    def read(text: str) -> Any:
        return sp.sympify(text, locals=words, rational=True)

    parameters = {words[name]: read(text) for name, text in data["parameters"].items()}
    for name, text in data.get("definitions", []):
        words[name] = read(text)
    system = hf.System(
        coordinates=tuple(q),
        kinetic=read(data["T"]),
        potential=read(data.get("V") or "0"),
        dissipation=read(data.get("D") or "0"),
        forces={name: read(text) for name, text in data.get("Q", {}).items()},
        parameters=parameters,
    )
    program = hf.Program(
        holonomic={f"h{k}": read(text) for k, text in enumerate(data.get("holonomic", []))},
        nonholonomic={f"n{k}": read(text) for k, text in enumerate(data.get("nonholonomic", []))},
        law=law or hf.Unstabilised(),
    )
    return Case(hf.Problem(system, program, title=data["title"]), tuple(data["velocities"]), data)
