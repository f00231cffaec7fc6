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
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "holdfast.errors": "HoldfastError BadStatement BadExpression BadFile ConstraintsDependent NoAuthority "
    "SingularSystem BadRequest InternalError Undecided",
    "holdfast.problem.quantities": "coordinates parameters states controls deviations multipliers time rate",
    "holdfast.problem.functions": "functions function",
    "holdfast.problem.data": "data Data",
    "holdfast.problem.letters": "OpenLetters",
    "holdfast.problem.masses.moving_mass": "MovingMass Stream Inner Jump",
    "holdfast.problem.masses.drag": "Drag constant_drag quadratic_drag exponential_atmosphere",
    "holdfast.problem.system": "System",
    "holdfast.problem.bodies.body": "Body",
    "holdfast.problem.bodies.joints": "Revolute Prismatic Cylindrical Universal Spherical Planar Weld Free",
    "holdfast.problem.bodies.held_joints": "Distance Gear RackAndPinion PointOnCurve PointOnSurface RollingOnPlane",
    "holdfast.problem.bodies.orientation": "turned",
    "holdfast.problem.program": "Program",
    "holdfast.problem.keep": "keep",
    "holdfast.problem.laws.linear": "SpringDamper Baumgarte critically_damped from_roots LinearLaw Quadratic "
    "ExcessEnergies GeneralLaw Unstabilised Tuned",
    "holdfast.problem.run": "Run",
    "holdfast.problem.problem": "Problem",
    "holdfast.problem.file.load_dump": "load loads located dump dumps",
    "holdfast.common.limits": "limits",
    "holdfast.problem.network.domains": "DOMAINS",
    "holdfast.problem.network.elements": "Inertia Compliance Resistance Source Transformer Gyrator "
    "flow momentum displacement effort",
    "holdfast.problem.network.legendre": "legendre",
    "holdfast.problem.network.assemble": "assemble Assembly",
    "holdfast.equations.derive": "derive",
    "holdfast.equations.equations": "Equations",
    "holdfast.equations.forms.family": "family Family",
    "holdfast.equations.forms.state_family": "StateFamily",
    "holdfast.equations.forms.criterion": "Nearest LeastEffort",
    "holdfast.equations.forms.canonical": "canonical Canonical",
    "holdfast.equations.quasi.quasi": "quasi Quasi",
    "holdfast.equations.quasi.maggi": "maggi Maggi",
    "holdfast.equations.quasi.appell": "appell Appell",
    "holdfast.equations.forms.routh": "routh Routh",
    "holdfast.equations.forms.linearised": "Linearisation",
    "holdfast.equations.linear.along_run": "LinearisationAlongRun",
    "holdfast.results.step_function": "step_function StepFunction right_hand_side",
    "holdfast.equations.forms.coefficients": "coefficients RateCoefficients",
    "holdfast.equations.forms.multiplier_parts": "multiplier_parts MultiplierParts",
    "holdfast.equations.forms.exhaust_formulas": "exhaust_formulas ExhaustFormulas",
    "holdfast.equations.forms.added_forces": "added_forces AddedForces",
    "holdfast.equations.internal.dynamics": "internal InternalDynamics",
    "holdfast.structure.conditions.helmholtz": "helmholtz",
    "holdfast.structure.lagrangian": "lagrangian LagrangeForm",
    "holdfast.structure.design": "design",
    "holdfast.structure.multiplier_search": "multiplier_search",
    "holdfast.schemes.kinds.runge_kutta": "RungeKutta",
    "holdfast.schemes.tableaus.two_stage": "two_stage",
    "holdfast.schemes.by_name": "ALL_SCHEMES",
    "holdfast.results.runs.simulate": "simulate simulate_canonical",
    "holdfast.results.runs.request": "run_as_stated",
    "holdfast.results.ensembles.run": "ensemble",
    "holdfast.results.ensembles.cases": "grid",
    "holdfast.results.trajectory": "Trajectory",
    "holdfast.results.ensembles.ensemble": "Ensemble",
    "holdfast.results.judgement.outcome": "Outcome",
    "holdfast.results.judgement.finding": "Finding",
    "holdfast.results.start.assemble": "assemble_start AssembledStart",
    "holdfast.results.judgement.check": "checked_start CheckedStart",
    "holdfast.results.runs.accuracy.state_error": "StateError",
    "holdfast.problem.controller": "Sampling",
    "holdfast.stability.tuning.tracking": "TrackingTuning",
    "holdfast.problem.phases": "Event Phase",
    "holdfast.results.runs.joined": "Impact JoinedRun",
    "holdfast.results.runs.phased": "phase_equations",
    "holdfast.results.sensitivity.linearise": "linearise",
    "holdfast.results.sensitivity.sensitivities": "sensitivities Sensitivities",
    "holdfast.results.fitting.fit": "fit",
    "holdfast.results.fitting.fitted": "Fit",
    "holdfast.results.runs.noise": "sample_paths NoisyRuns",
    "holdfast.stability.linear.covariance": "stationary_covariance mean_square_abscissa",
    "holdfast.stability.linear.mean_square": "mean_square MeanSquare deviation_covariance",
    "holdfast.results.exhaust": "exhaust Exhaust",
    "holdfast.stability.promise.certify": "certify",
    "holdfast.stability.own_steps": "own_step_bounds OwnStepBounds",
    "holdfast.stability.parts.phases": "certify_phases",
    "holdfast.stability.parts.stretches": "certify_stretches proved_stretches",
    "holdfast.stability.promise.safe_starts": "safe_starts SafeStarts in_phase",
    "holdfast.stability.certificate.certificate": "Certificate Label",
    "holdfast.stability.certificate.verify": "verify",
    "holdfast.stability.tuning.tune": "tune",
    "holdfast.stability.tuning.tuned": "tuned",
    "holdfast.stability.tuning.tuning": "Tuning",
    "holdfast.stability.tuning.dialects": "dialects",
    "holdfast.stability.linear.spectrum": "spectrum",
    "holdfast.stability.linear.transient": "transient",
    "holdfast.stability.linear.step_limit": "spectral_limit norm_limit",
    "holdfast.stability.linear.equilibria": "equilibria Equilibrium",
    "holdfast.stability.rests.continuation": "equilibrium_branches",
    "holdfast.stability.rests.branches": "EquilibriumBranches EquilibriumBranch SpecialRest",
    "holdfast.stability.linear.by_block": "step_limits transients",
    "holdfast.stability.deep_check": "deep_check DeepCheck",
    "holdfast.stability.letters.conditions": "conditions Conditions",
    "holdfast.stability.theory.lyapunov": "LyapunovFunction Norm",
    "holdfast.stability.theory.lyapunov_study": "lyapunov",
    "holdfast.stability.theory.run_theorems": "theorems",
    "holdfast.stability.theory.inverse_design": "gains_from",
    "holdfast.stability.theory.step_rules": "step_rule",
    "holdfast.stability.theory.motion_step": "step_condition",
    "holdfast.page.report": "report Report",
    "holdfast.page.study": "study Study",
    "holdfast.exchange.export": "export Export",
    "holdfast.exchange.mechanics.sympy_mechanics": "from_sympy_mechanics",
    "holdfast.exchange.robots.assembled": "ImportedRobot NotRead import_robot read_mjcf read_urdf",
}

_SCHEMES = {
    "Euler": "tableaus.euler.EULER",
    "SymplecticEuler": "kinds.symplectic_euler.SYMPLECTIC_EULER",
    "Midpoint": "tableaus.two_stage.MIDPOINT",
    "Heun": "tableaus.two_stage.HEUN",
    "Ralston": "tableaus.two_stage.RALSTON",
    "Kutta3": "tableaus.kutta.KUTTA3",
    "RK4": "tableaus.kutta.RK4",
    "ThreeEighths": "tableaus.kutta.THREE_EIGHTHS",
    "DOPRI5": "tableaus.dopri5.DOPRI5",
    "DOP853": "tableaus.dop853.DOP853",
    "ImplicitMidpoint": "tableaus.implicit_midpoint.IMPLICIT_MIDPOINT",
    "Radau5": "tableaus.radau.RADAU5",
    "Radau": "tableaus.radau.RADAU",
}

_HOME_OF = {name: (home, name) for home, names in _HOMES.items() for name in names.split()}
for _name, _place in _SCHEMES.items():
    _file, _, _constant = _place.rpartition(".")
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
