"""A certificate as a page for a referee: claim, place, norm, constants, software, hashes, and how to check it."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from holdfast.common.rounded import rounded_up
from holdfast.stability.certificate.tube_proof import OrderedProof

SHOWN = {  # tests/engine/test_elementary_error.py
    "sin": "angles up to 2^30", "cos": "angles up to 2^30", "exp": "exponents below 708", "log": "normal numbers"
}  # fmt: skip
TAKEN = ("tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "pow")
PACKAGES = ("holdfast", "numpy", "scipy", "sympy", "python-flint")


def statement(certificate: Any) -> str:
    """The whole certificate in plain text, block by block; numbers of claims in full, bounds rounded up."""
    data = certificate.to_dict()
    size = certificate.stepping if certificate.step is None else f", step {certificate.step!r}"
    paths = {block.mean_square.scheme for block in certificate.blocks if block.mean_square is not None}
    size += "".join(f"; paths under noise by {scheme}" for scheme in paths)
    lines = [certificate.title or "Certificate", "=" * len(certificate.title or "Certificate"), ""]
    lines += [
        f"Scheme    {certificate.scheme}{size}",
        f"Run       from t = {certificate.begin!r} for {certificate.duration!r}, start {list(certificate.start)!r}",
        f"Numbers   {', '.join(f'{name} = {value!r}' for name, value in certificate.parameters.items()) or 'none'}",
    ]
    if certificate.overrides:
        lines.append(f"          not the problem's own: {', '.join(certificate.overrides)}")
    if certificate.widened:
        wide = ", ".join(certificate.widened)
        lines.append(f"          {wide}: any value of the range in Omega, constant along a run")
    if certificate.tableau is not None:
        lines.append(f"Tableau   stages {certificate.tableau['stages']}, weights {certificate.tableau['weights']}")
    for block in certificate.blocks:
        lines += ["", *_block(block, certificate)]
    lines += [
        "",
        *_assumed(certificate),
        f"Software  {', '.join(f'{name} {_version(name)}' for name in PACKAGES)}, Python {platform.python_version()}",
        f"Problem   sha256 {data['problem_hash']}",
        f"Content   sha256 {data['digest']}",
        "Check     certificate.save('certificate.json'), then: holdfast verify certificate.json problem.toml",
    ]
    return "\n".join(lines) + "\n"


def _assumed(certificate: Any) -> list[str]:
    """What every proof takes for granted of the machine, by the operations that are run."""
    if certificate.code is None:
        return []
    used = {operation[0] for operation in certificate.code["operations"]}
    shown = ", ".join(name for name in SHOWN if name in used)
    reach = ", ".join(dict.fromkeys(where for name, where in SHOWN.items() if name in used))
    taken = ", ".join(name for name in TAKEN if name in used)
    lines = ["Assumes   doubles are rounded to nearest (IEEE 754), and the code is run as it is listed;"]
    if any(block.mean_square is not None for block in certificate.blocks):
        lines.append("          a step adds h times the rates to the state, and then what the noise adds;")
    else:
        lines.append("          a step is x + h S, with S the weighted sum of the stages, made first;")
    if certificate.step is not None:
        lines.append("          rows lie at begin + k h, k counted from the beginning or from any row")
    if shown:
        lines += [
            f"          {shown}: our own code in native runs and in C, within 2^-49 of the value, which is proved",
            f"          of {reach}; beyond, and elsewhere, the system's, which is taken for granted",
        ]
    lines += [f"          {taken}: within 2^-49 of the value, which is taken for granted"] if taken else []
    return lines


def _block(block: Any, certificate: Any) -> list[str]:
    head = f"Claim     {', '.join(block.constraints)}: {block.label.value}"
    proof = block.proof
    if block.mean_square is not None:
        return [head, f"          {block.promise(certificate.scheme, certificate.step)}", *_mean_square(block)]
    if proof is None:
        return [head, f"          {block.reason}"]
    order = f"step^(p+1) with step = {certificate.step!r}"
    found = [head, f"          {block.promise(certificate.scheme, certificate.step)}"]
    found.append(f"Where     {block.omega()}")
    if block.stayed is not None:
        found.append(f"          this run {'stayed there' if block.stayed else 'LEFT it'} (checked, not proved)")
    if isinstance(proof, OrderedProof):
        return [*found, *_ordered(block)]
    rows = [list(row) for row in proof.factor]
    found.append(f"Norm      |x| = |L^T x|_2 for x = ({', '.join(block.names)}), L = {rows!r}")
    found += [
        f"Constants one step contracts by gamma = {proof.gamma!r}",
        f"          and adds at most c {order}, c = {proof.coefficient!r}, and {proof.rounding!r} of rounding:",
        f"          together {rounded_up(block.defect, 6)}; |x| settles below {rounded_up(block.epsilon, 6)}",
        f"Bounds    {block.bounded()}{' once settled' if block.settles else ''}",
    ]
    if block.start_size is not None and block.settles:
        found.append(
            f"          after k steps from step {block.from_step} on: gamma^k {rounded_up(block.start_size, 6)} "
            "in the norm more, at most"
        )
    return found


def _mean_square(block: Any) -> list[str]:
    """Norm and second moment of a proof under noise."""
    proof = block.mean_square
    return [
        f"Norm      |x| = |L^T x|_2 for x = ({', '.join(proof.names)}), L = {[list(row) for row in proof.factor]!r}",
        f"Constants E|x|^2 contracts by gamma^2 a step, gamma = {proof.gamma!r}, from |x|_0 <= {proof.start_size!r}",
        f"          S = {[list(row) for row in proof.second_moment]!r}",
        f"          is kept, rounding {list(proof.rounding)!r} in rms included",
        f"Bounds    {proof.bounded(block.names)} once settled",
    ]


def _ordered(block: Any) -> list[str]:
    """What steps in the order of time are shown from."""
    proof = block.proof
    return [
        f"Steps     {proof.steps} in the order of time, each M psi + d with M and a range of d of its own, from",
        f"          |psi| <= {list(proof.start)!r} for psi = ({', '.join(proof.names)})",
        f"          rounding of a step at most {list(proof.rounding)!r}, included",
        f"Bounds    {block.bounded()}",
    ]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(unknown)"
