"""Holdfast: programs in; equations, forces, gains, step and a proven drift bound out.

A system is stated by its energies (`System`), what its motion must keep by functions that stay zero (`Program`), and
how deviations die away by a law (`SpringDamper` and others). Each verb takes a finished thing and returns the next:

    problem = hf.Problem(system, program, start={...})      or hf.load("problem.toml")
    equations = hf.derive(problem)                          mass matrix, forces, multipliers, control forces
    trajectory = hf.simulate(equations, hf.RK4, step=0.01, duration=10)

Names are loaded when they are first used, so that ``import holdfast`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "holdfast.errors": "HoldfastError BadStatement BadExpression BadFile ConstraintsDependent NoAuthority "
    "SingularSystem BadRequest InternalError Undecided",
    "holdfast.problem.quantities": "coordinates parameters states controls deviations time rate",
    "holdfast.problem.masses": "MovingMass Stream Inner Jump",
    "holdfast.problem.drag": "Drag constant_drag quadratic_drag exponential_atmosphere",
    "holdfast.problem.system": "System",
    "holdfast.problem.program": "Program",
    "holdfast.problem.laws": "SpringDamper Baumgarte critically_damped from_roots Quadratic ExcessEnergies GeneralLaw "
    "Unstabilised Tuned",
    "holdfast.problem.run": "Run",
    "holdfast.problem.problem": "Problem",
    "holdfast.problem.file": "load loads located dump dumps",
    "holdfast.problem.limits": "limits",
    "holdfast.problem.domains": "DOMAINS",
    "holdfast.problem.elements": "Inertia Compliance Resistance Source Transformer Gyrator "
    "flow momentum displacement effort",
    "holdfast.problem.legendre": "legendre",
    "holdfast.problem.network": "assemble Assembly",
    "holdfast.equations.derive": "derive",
    "holdfast.equations.equations": "Equations",
    "holdfast.equations.family": "family Family",
    "holdfast.equations.canonical": "canonical Canonical",
    "holdfast.equations.added": "added_forces AddedForces",
    "holdfast.structure.helmholtz": "helmholtz",
    "holdfast.structure.lagrangian": "lagrangian LagrangeForm",
    "holdfast.structure.design": "design",
    "holdfast.structure.multiplier_search": "multiplier_search",
    "holdfast.schemes.runge_kutta": "RungeKutta",
    "holdfast.schemes.two_stage": "two_stage",
    "holdfast.schemes.by_name": "ALL_SCHEMES",
    "holdfast.results.simulate": "simulate",
    "holdfast.results.request": "run_as_stated",
    "holdfast.results.ensemble": "ensemble",
    "holdfast.results.cases": "grid",
    "holdfast.results.trajectory": "Trajectory",
    "holdfast.results.collection": "Ensemble",
    "holdfast.results.outcome": "Outcome",
    "holdfast.results.finding": "Finding",
    "holdfast.results.check": "checked_start CheckedStart",
    "holdfast.results.state_error": "StateError",
    "holdfast.results.event": "Event",
    "holdfast.results.noise": "sample_paths NoisyRuns",
    "holdfast.stability.covariance": "stationary_covariance deviation_covariance mean_square_abscissa",
    "holdfast.results.exhaust": "exhaust Exhaust",
    "holdfast.results.canonical_run": "simulate_canonical",
    "holdfast.stability.certify": "certify",
    "holdfast.stability.certificate": "Certificate Label",
    "holdfast.stability.verify": "verify",
    "holdfast.stability.tune": "tune",
    "holdfast.stability.tuned": "tuned",
    "holdfast.stability.tuning": "Tuning",
    "holdfast.stability.dialects": "dialects",
    "holdfast.stability.spectrum": "spectrum",
    "holdfast.stability.transient": "transient",
    "holdfast.stability.step_limit": "spectral_limit norm_limit",
    "holdfast.stability.by_block": "step_limits transients",
    "holdfast.stability.lyapunov": "LyapunovFunction Norm",
    "holdfast.page.report": "report Report",
    "holdfast.page.study": "study Study",
}

_SCHEMES = {
    "Euler": "euler.EULER",
    "SymplecticEuler": "symplectic_euler.SYMPLECTIC_EULER",
    "Midpoint": "two_stage.MIDPOINT",
    "Heun": "two_stage.HEUN",
    "Ralston": "two_stage.RALSTON",
    "Kutta3": "kutta.KUTTA3",
    "RK4": "kutta.RK4",
    "ThreeEighths": "kutta.THREE_EIGHTHS",
    "DOPRI5": "dopri5.DOPRI5",
    "DOP853": "dop853.DOP853",
    "ImplicitMidpoint": "implicit_midpoint.IMPLICIT_MIDPOINT",
    "Radau5": "radau.RADAU5",
    "Radau": "radau.RADAU",
}

_HOME_OF = {name: (home, name) for home, names in _HOMES.items() for name in names.split()}
for _name, _place in _SCHEMES.items():
    _file, _, _constant = _place.partition(".")
    _HOME_OF[_name] = (f"holdfast.schemes.{_file}", _constant)

__all__ = ["__version__", *sorted(_HOME_OF)]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        home, attribute = _HOME_OF[name]
        value = getattr(import_module(home), attribute)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'holdfast' has no attribute {name!r}" + _did_you_mean(name))


def _did_you_mean(name: str) -> str:
    """The nearest public name, for ``hf.rk4`` and ``hf.SprngDamper``."""
    from difflib import get_close_matches

    if name.startswith("_"):
        return ""
    known = {public.lower(): public for public in __all__}
    near = get_close_matches(name.lower(), known, n=1)
    return f"; did you mean {known[near[0]]!r}?" if near else ""


def __dir__() -> list[str]:
    return __all__


if TYPE_CHECKING:
    from holdfast.equations.derive import derive as derive
    from holdfast.equations.equations import Equations as Equations
    from holdfast.problem.laws import SpringDamper as SpringDamper
    from holdfast.problem.problem import Problem as Problem
    from holdfast.problem.program import Program as Program
    from holdfast.problem.system import System as System
    from holdfast.results.collection import Ensemble as Ensemble
    from holdfast.results.ensemble import ensemble as ensemble
    from holdfast.results.outcome import Outcome as Outcome
    from holdfast.results.simulate import simulate as simulate
    from holdfast.results.trajectory import Trajectory as Trajectory
    from holdfast.stability.certificate import Label as Label
    from holdfast.stability.certify import certify as certify
    from holdfast.stability.tune import tune as tune
    from holdfast.stability.tuned import tuned as tuned
    from holdfast.stability.tuning import Tuning as Tuning
    from holdfast.stability.verify import verify as verify
