"""What is said of a block under noise: no bound is sure, and the mean square may have one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.equations.equations import Equations
from holdfast.errors import HoldfastError, InternalError
from holdfast.results.runs.noise import NoiseScheme
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.kinds.scheme import Scheme
from holdfast.schemes.tableaus.euler import EULER
from holdfast.stability.certificate.mean_square import MeanSquareProof
from holdfast.stability.proof.block import ProofBlock
from holdfast.stability.proof.noise.prove import mean_square_proof
from holdfast.stability.proof.noise.recursion import all_together, determined

WHY = "the system is driven by noise, so that no bound is sure, and none in the mean square is proved"
ELSE = "hf.mean_square says what holds to first order, hf.sample_paths measures it"


def scheme_under_noise(scheme: Scheme) -> NoiseScheme:
    """The scheme of paths that is meant: Euler's is that of Euler and Maruyama, any other stands for the usual one."""
    return "euler-maruyama" if scheme == EULER else "semi-implicit"


def in_mean_square(
    equations: Equations,
    scheme: Scheme,
    step: float | None,
    parameters: Mapping[Any, Any],
    block: ProofBlock,
    blocks: Sequence[ProofBlock],
    run: Trajectory,
) -> MeanSquareProof | str:
    """A proof for the paths that `hf.sample_paths` makes from the start of a run, or why there is none."""
    if step is None:
        return f"{WHY}: paths need a step; {ELSE}"
    if scheme.name == EULER.name and scheme != EULER:
        return f"{WHY}: {scheme.name} is another scheme here than the one of that name; {ELSE}"
    moment, state = float(run.times[0]), run.y[:, 0].tolist()
    try:
        equations.require_given_forces("certify")
        chosen = block if determined(equations, block, parameters) else all_together(equations, block, blocks)
        return mean_square_proof(equations, chosen, parameters, scheme_under_noise(scheme), step, moment, state)
    except InternalError:
        raise
    except HoldfastError as error:
        return f"{WHY}: {error.what}; {ELSE}"
