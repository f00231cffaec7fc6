"""The public names, for type checkers; at run time each is loaded when it is first used."""

from holdfast.common.limits import limits as limits
from holdfast.equations.derive import derive as derive
from holdfast.equations.equations import Equations as Equations
from holdfast.equations.forms.added_forces import AddedForces as AddedForces
from holdfast.equations.forms.added_forces import added_forces as added_forces
from holdfast.equations.forms.canonical import Canonical as Canonical
from holdfast.equations.forms.canonical import canonical as canonical
from holdfast.equations.forms.coefficients import RateCoefficients as RateCoefficients
from holdfast.equations.forms.coefficients import coefficients as coefficients
from holdfast.equations.forms.criterion import LeastEffort as LeastEffort
from holdfast.equations.forms.criterion import Nearest as Nearest
from holdfast.equations.forms.exhaust_formulas import ExhaustFormulas as ExhaustFormulas
from holdfast.equations.forms.exhaust_formulas import exhaust_formulas as exhaust_formulas
from holdfast.equations.forms.family import Family as Family
from holdfast.equations.forms.family import family as family
from holdfast.equations.forms.linearised import Linearisation as Linearisation
from holdfast.equations.forms.multiplier_parts import MultiplierParts as MultiplierParts
from holdfast.equations.forms.multiplier_parts import multiplier_parts as multiplier_parts
from holdfast.equations.forms.routh import Routh as Routh
from holdfast.equations.forms.routh import routh as routh
from holdfast.equations.forms.state_family import StateFamily as StateFamily
from holdfast.equations.internal.dynamics import InternalDynamics as InternalDynamics
from holdfast.equations.internal.dynamics import internal as internal
from holdfast.equations.linear.along_run import LinearisationAlongRun as LinearisationAlongRun
from holdfast.equations.quasi.appell import Appell as Appell
from holdfast.equations.quasi.appell import appell as appell
from holdfast.equations.quasi.maggi import Maggi as Maggi
from holdfast.equations.quasi.maggi import maggi as maggi
from holdfast.equations.quasi.quasi import Quasi as Quasi
from holdfast.equations.quasi.quasi import quasi as quasi
from holdfast.errors import BadExpression as BadExpression
from holdfast.errors import BadFile as BadFile
from holdfast.errors import BadRequest as BadRequest
from holdfast.errors import BadStatement as BadStatement
from holdfast.errors import ConstraintsDependent as ConstraintsDependent
from holdfast.errors import HoldfastError as HoldfastError
from holdfast.errors import InternalError as InternalError
from holdfast.errors import NoAuthority as NoAuthority
from holdfast.errors import SingularSystem as SingularSystem
from holdfast.errors import Undecided as Undecided
from holdfast.exchange.export import Export as Export
from holdfast.exchange.export import export as export
from holdfast.exchange.mechanics.sympy_mechanics import from_sympy_mechanics as from_sympy_mechanics
from holdfast.exchange.robots.assembled import ImportedRobot as ImportedRobot
from holdfast.exchange.robots.assembled import NotRead as NotRead
from holdfast.exchange.robots.assembled import import_robot as import_robot
from holdfast.exchange.robots.assembled import read_mjcf as read_mjcf
from holdfast.exchange.robots.assembled import read_urdf as read_urdf
from holdfast.page.report import Report as Report
from holdfast.page.report import report as report
from holdfast.page.study import Study as Study
from holdfast.page.study import study as study
from holdfast.problem.bodies.body import Body as Body
from holdfast.problem.bodies.held_joints import Distance as Distance
from holdfast.problem.bodies.held_joints import Gear as Gear
from holdfast.problem.bodies.held_joints import PointOnCurve as PointOnCurve
from holdfast.problem.bodies.held_joints import PointOnSurface as PointOnSurface
from holdfast.problem.bodies.held_joints import RackAndPinion as RackAndPinion
from holdfast.problem.bodies.held_joints import RollingOnPlane as RollingOnPlane
from holdfast.problem.bodies.joints import Cylindrical as Cylindrical
from holdfast.problem.bodies.joints import Free as Free
from holdfast.problem.bodies.joints import Planar as Planar
from holdfast.problem.bodies.joints import Prismatic as Prismatic
from holdfast.problem.bodies.joints import Revolute as Revolute
from holdfast.problem.bodies.joints import Spherical as Spherical
from holdfast.problem.bodies.joints import Universal as Universal
from holdfast.problem.bodies.joints import Weld as Weld
from holdfast.problem.bodies.orientation import turned as turned
from holdfast.problem.controller import Sampling as Sampling
from holdfast.problem.data import Data as Data
from holdfast.problem.data import data as data
from holdfast.problem.file.load_dump import dump as dump
from holdfast.problem.file.load_dump import dumps as dumps
from holdfast.problem.file.load_dump import load as load
from holdfast.problem.file.load_dump import loads as loads
from holdfast.problem.file.load_dump import located as located
from holdfast.problem.functions import function as function
from holdfast.problem.functions import functions as functions
from holdfast.problem.keep import keep as keep
from holdfast.problem.laws.linear import Baumgarte as Baumgarte
from holdfast.problem.laws.linear import ExcessEnergies as ExcessEnergies
from holdfast.problem.laws.linear import GeneralLaw as GeneralLaw
from holdfast.problem.laws.linear import LinearLaw as LinearLaw
from holdfast.problem.laws.linear import Quadratic as Quadratic
from holdfast.problem.laws.linear import SpringDamper as SpringDamper
from holdfast.problem.laws.linear import Tuned as Tuned
from holdfast.problem.laws.linear import Unstabilised as Unstabilised
from holdfast.problem.laws.linear import critically_damped as critically_damped
from holdfast.problem.laws.linear import from_roots as from_roots
from holdfast.problem.letters import OpenLetters as OpenLetters
from holdfast.problem.masses.drag import Drag as Drag
from holdfast.problem.masses.drag import constant_drag as constant_drag
from holdfast.problem.masses.drag import exponential_atmosphere as exponential_atmosphere
from holdfast.problem.masses.drag import quadratic_drag as quadratic_drag
from holdfast.problem.masses.moving_mass import Inner as Inner
from holdfast.problem.masses.moving_mass import Jump as Jump
from holdfast.problem.masses.moving_mass import MovingMass as MovingMass
from holdfast.problem.masses.moving_mass import Stream as Stream
from holdfast.problem.network.assemble import Assembly as Assembly
from holdfast.problem.network.assemble import assemble as assemble
from holdfast.problem.network.domains import DOMAINS as DOMAINS
from holdfast.problem.network.elements import Compliance as Compliance
from holdfast.problem.network.elements import Gyrator as Gyrator
from holdfast.problem.network.elements import Inertia as Inertia
from holdfast.problem.network.elements import Resistance as Resistance
from holdfast.problem.network.elements import Source as Source
from holdfast.problem.network.elements import Transformer as Transformer
from holdfast.problem.network.elements import displacement as displacement
from holdfast.problem.network.elements import effort as effort
from holdfast.problem.network.elements import flow as flow
from holdfast.problem.network.elements import momentum as momentum
from holdfast.problem.network.legendre import legendre as legendre
from holdfast.problem.phases import Event as Event
from holdfast.problem.phases import Phase as Phase
from holdfast.problem.problem import Problem as Problem
from holdfast.problem.program import Program as Program
from holdfast.problem.quantities import controls as controls
from holdfast.problem.quantities import coordinates as coordinates
from holdfast.problem.quantities import deviations as deviations
from holdfast.problem.quantities import multipliers as multipliers
from holdfast.problem.quantities import parameters as parameters
from holdfast.problem.quantities import rate as rate
from holdfast.problem.quantities import states as states
from holdfast.problem.quantities import time as time
from holdfast.problem.run import Run as Run
from holdfast.problem.system import System as System
from holdfast.results.ensembles.cases import grid as grid
from holdfast.results.ensembles.ensemble import Ensemble as Ensemble
from holdfast.results.ensembles.run import ensemble as ensemble
from holdfast.results.exhaust import Exhaust as Exhaust
from holdfast.results.exhaust import exhaust as exhaust
from holdfast.results.fitting.fit import fit as fit
from holdfast.results.fitting.fitted import Fit as Fit
from holdfast.results.judgement.check import CheckedStart as CheckedStart
from holdfast.results.judgement.check import checked_start as checked_start
from holdfast.results.judgement.finding import Finding as Finding
from holdfast.results.judgement.outcome import Outcome as Outcome
from holdfast.results.runs.accuracy.state_error import StateError as StateError
from holdfast.results.runs.joined import Impact as Impact
from holdfast.results.runs.joined import JoinedRun as JoinedRun
from holdfast.results.runs.noise import NoisyRuns as NoisyRuns
from holdfast.results.runs.noise import sample_paths as sample_paths
from holdfast.results.runs.phased import phase_equations as phase_equations
from holdfast.results.runs.request import run_as_stated as run_as_stated
from holdfast.results.runs.simulate import simulate as simulate
from holdfast.results.runs.simulate import simulate_canonical as simulate_canonical
from holdfast.results.sensitivity.linearise import linearise as linearise
from holdfast.results.sensitivity.sensitivities import Sensitivities as Sensitivities
from holdfast.results.sensitivity.sensitivities import sensitivities as sensitivities
from holdfast.results.start.assemble import AssembledStart as AssembledStart
from holdfast.results.start.assemble import assemble_start as assemble_start
from holdfast.results.step_function import StepFunction as StepFunction
from holdfast.results.step_function import right_hand_side as right_hand_side
from holdfast.results.step_function import step_function as step_function
from holdfast.results.trajectory import Trajectory as Trajectory
from holdfast.schemes.by_name import ALL_SCHEMES as ALL_SCHEMES
from holdfast.schemes.kinds.collocation import Collocation as _Collocation
from holdfast.schemes.kinds.runge_kutta import RungeKutta as RungeKutta
from holdfast.schemes.kinds.symplectic_euler import SymplecticEuler as _SymplecticEuler
from holdfast.schemes.tableaus.dop853 import DOP853 as DOP853
from holdfast.schemes.tableaus.dopri5 import DOPRI5 as DOPRI5
from holdfast.schemes.tableaus.kutta import RK4 as RK4
from holdfast.schemes.tableaus.two_stage import two_stage as two_stage
from holdfast.stability.certificate.certificate import Certificate as Certificate
from holdfast.stability.certificate.certificate import Label as Label
from holdfast.stability.certificate.verify import verify as verify
from holdfast.stability.deep_check import DeepCheck as DeepCheck
from holdfast.stability.deep_check import deep_check as deep_check
from holdfast.stability.letters.conditions import Conditions as Conditions
from holdfast.stability.letters.conditions import conditions as conditions
from holdfast.stability.linear.by_block import step_limits as step_limits
from holdfast.stability.linear.by_block import transients as transients
from holdfast.stability.linear.covariance import mean_square_abscissa as mean_square_abscissa
from holdfast.stability.linear.covariance import stationary_covariance as stationary_covariance
from holdfast.stability.linear.equilibria import Equilibrium as Equilibrium
from holdfast.stability.linear.equilibria import equilibria as equilibria
from holdfast.stability.linear.mean_square import MeanSquare as MeanSquare
from holdfast.stability.linear.mean_square import deviation_covariance as deviation_covariance
from holdfast.stability.linear.mean_square import mean_square as mean_square
from holdfast.stability.linear.spectrum import spectrum as spectrum
from holdfast.stability.linear.step_limit import norm_limit as norm_limit
from holdfast.stability.linear.step_limit import spectral_limit as spectral_limit
from holdfast.stability.linear.transient import transient as transient
from holdfast.stability.own_steps import OwnStepBounds as OwnStepBounds
from holdfast.stability.own_steps import own_step_bounds as own_step_bounds
from holdfast.stability.parts.phases import certify_phases as certify_phases
from holdfast.stability.parts.stretches import certify_stretches as certify_stretches
from holdfast.stability.parts.stretches import proved_stretches as proved_stretches
from holdfast.stability.promise.certify import certify as certify
from holdfast.stability.promise.safe_starts import SafeStarts as SafeStarts
from holdfast.stability.promise.safe_starts import in_phase as in_phase
from holdfast.stability.promise.safe_starts import safe_starts as safe_starts
from holdfast.stability.rests.branches import (
    EquilibriumBranch as EquilibriumBranch,
)
from holdfast.stability.rests.branches import (
    EquilibriumBranches as EquilibriumBranches,
)
from holdfast.stability.rests.branches import (
    SpecialRest as SpecialRest,
)
from holdfast.stability.rests.continuation import equilibrium_branches as equilibrium_branches
from holdfast.stability.theory.inverse_design import gains_from as gains_from
from holdfast.stability.theory.lyapunov import LyapunovFunction as LyapunovFunction
from holdfast.stability.theory.lyapunov import Norm as Norm
from holdfast.stability.theory.lyapunov_study import lyapunov as lyapunov
from holdfast.stability.theory.motion_step import step_condition as step_condition
from holdfast.stability.theory.run_theorems import theorems as theorems
from holdfast.stability.theory.step_rules import step_rule as step_rule
from holdfast.stability.tuning.dialects import dialects as dialects
from holdfast.stability.tuning.tracking import TrackingTuning as TrackingTuning
from holdfast.stability.tuning.tune import tune as tune
from holdfast.stability.tuning.tuned import tuned as tuned
from holdfast.stability.tuning.tuning import Tuning as Tuning
from holdfast.structure.conditions.helmholtz import helmholtz as helmholtz
from holdfast.structure.design import design as design
from holdfast.structure.lagrangian import LagrangeForm as LagrangeForm
from holdfast.structure.lagrangian import lagrangian as lagrangian
from holdfast.structure.multiplier_search import multiplier_search as multiplier_search

Euler: RungeKutta
SymplecticEuler: _SymplecticEuler
Midpoint: RungeKutta
Heun: RungeKutta
Ralston: RungeKutta
Kutta3: RungeKutta
ThreeEighths: RungeKutta
ImplicitMidpoint: RungeKutta
Radau5: RungeKutta
Radau: _Collocation

__version__: str
__all__: list[str]
