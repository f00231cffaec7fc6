"""Times are rounded, too: what a program in time loses by that is counted for the rows that a run really has."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.stability.certificate.tube_proof import OrderedProof
from holdfast.stability.promise.checked import BlockAlongRun

SPEED, STEP = 1000, 1e-3
x, z = hf.coordinates("x z")


def hurried(begin, duration, step=STEP):
    """A mass that must be where a fast timetable says: its deviations are the rounding of the clock."""
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2)
    law = hf.SpringDamper(stiffness=300**2, damping=600)
    program = hf.Program(holonomic={"go": x - SPEED * hf.time}, controls={"F": {x: 1}}, law=law)
    run = hf.Run(scheme="rk4", step=step, duration=duration, begin=begin)
    return hf.Problem(system, program, start={x: SPEED * begin, x.rate: SPEED}, run=run)


def broken():
    """The same beside a timetable with two kinks, which no tube crosses: what is proved are stretches."""
    kinks = [
        sp.sqrt((hf.time - c) ** 2 + sp.Rational(1, 10**10)) for c in (-sp.Rational(15, 100), sp.Rational(15, 100))
    ]
    path, begin = 5 * hf.time + sum(kinks) / 1000, -20.001
    at = {hf.time: begin}
    start = {x: SPEED * begin, x.rate: SPEED, z: path.subs(at), z.rate: path.diff(hf.time).subs(at)}
    law = hf.SpringDamper(stiffness=300**2, damping=600)
    return hf.Problem(
        hf.System(coordinates=(x, z), kinetic=(x.rate**2 + z.rate**2) / 2),
        hf.Program(
            holonomic={"go": x - SPEED * hf.time, "kinks": z - path}, controls={"F": {x: 1}, "G": {z: 1}}, law=law
        ),
        start=start, run=hf.Run(scheme="rk4", step=STEP, duration=20.5, begin=begin), certificate={"drift": 1.0},
    )  # fmt: skip


class Rows:
    """Some rows of a run."""

    def __init__(self, run, kept):
        self.times, self.every, self.outcome = run.times[kept], 1, run.outcome
        self._found = {name: run[name][kept] for name in ("y_go", "w_go")}

    def __getitem__(self, name):
        return self._found[name]


GO = SimpleNamespace(names=("y_go", "w_go"))


def deviation(run, row):
    """(y, w) of a row, exactly."""
    place, rate = Fraction(float(run["x"][row])), Fraction(float(run["x_dot"][row]))
    return place - SPEED * Fraction(float(run.times[row])), rate - SPEED


def passed(step):
    """R of RK4 for y'' = -300² y - 600 y', exactly."""
    h = Fraction(step)
    H = ((Fraction(0), Fraction(1)), (Fraction(-(300**2)), Fraction(-600)))
    one = power = ((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1)))
    for k in range(1, 5):
        power = tuple(tuple(sum(power[i][m] * h * H[m][j] / k for m in (0, 1)) for j in (0, 1)) for i in (0, 1))
        one = tuple(tuple(a + b for a, b in zip(p, q, strict=True)) for p, q in zip(one, power, strict=True))
    return one


def added(run, rows):
    """What each step between some rows of a run adds to R ψ: [step, deviation]."""
    R, found = passed(run.step), []
    for k in rows[:-1]:
        before, after = deviation(run, k), deviation(run, k + 1)
        found.append([float(after[i] - sum(R[i][j] * before[j] for j in (0, 1))) for i in (0, 1)])
    return np.array(found)


def require_held(block, run, rows):
    """Every step of the run between these rows adds no more than the block says."""
    if isinstance(block.proof, OrderedProof):
        assert (np.abs(added(run, rows)) <= np.array(block.proof.rounding)).all()
    else:
        assert (np.linalg.norm(added(run, rows) @ np.array(block.proof.factor), axis=1) <= block.defect).all()


@pytest.mark.parametrize("way", [{}, {"tube": True}, {"in_order": True}])
def test_the_rows_of_a_run_that_began_long_before_are_held(way):
    """Of a run from -500 on, rows near 0 are as wrong as -500 + k h is rounded."""
    begin = -500.003
    run = hf.simulate(hf.derive(hurried(begin, 501.0)), every=1)
    first = int(np.searchsorted(run.times, -0.2))
    part = hf.derive(hurried(float(run.times[first]), 0.4))
    certificate = hf.certify(part, counted_from=float(run.times[0]), start=run.y[:, first], **way)
    (block,) = certificate.blocks
    assert block.label in (hf.Label.proved, hf.Label.tube)
    require_held(block, run, range(first, first + 401))
    alone = hf.certify(part, start=run.y[:, first], **way).blocks[0]
    with pytest.raises(AssertionError):
        require_held(alone, run, range(first, first + 401))  # of its own rows, which lie elsewhere, it is true


def test_stretches_hold_the_rows_of_their_run_and_have_its_step():
    run = hf.simulate(hf.derive(broken()), every=1)
    found = hf.certify_stretches(run.equations, trajectory=run, effort=40)
    held = 0
    for certificate in found.values():
        rows = np.flatnonzero(
            (run.times >= certificate.begin) & (run.times <= certificate.begin + certificate.duration)
        )
        assert certificate.step == STEP, "a wanted drift is no wish for another step here"
        if certificate["go"].label is hf.Label.tube:
            require_held(certificate["go"], run, rows)
            held += -0.1 < certificate.begin + certificate.duration and certificate.begin < 0.1
    assert held, "no stretch near t = 0 was proved"


def test_rows_that_are_rounded_more_than_is_counted_are_not_taken_for_steps():
    """As of a file with the last rows of a long run, which says nothing of where that began."""
    run = hf.simulate(hf.derive(hurried(-500.003, 501.0)), every=1)
    late = Rows(run, slice(int(np.searchsorted(run.times, -0.2)), None))
    assert not BlockAlongRun(GO, late, np.zeros(1), float(late.times[0])).watched(STEP)
    assert BlockAlongRun(GO, late, np.zeros(1), float(run.times[0])).watched(STEP)


@pytest.mark.parametrize("given", ["0", True, float("nan"), [0.0]])
def test_where_rows_are_counted_from_is_a_number(given):
    with pytest.raises(hf.HoldfastError, match="counted_from"):
        hf.certify(hf.derive(hurried(0.0, 0.1)), counted_from=given)
