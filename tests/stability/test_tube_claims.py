"""What a tube is said to hold for: ranges of parameters, angles that turn, widths in a file, and neighbours' starts."""

import copy
import json
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.engine.ensemble import run_ensemble
from holdfast.engine.kernel import compiled
from holdfast.equations.values import parameter_vector
from holdfast.stability.certificate.tube_attack import misstated_tube
from holdfast.stability.certificate.tube_proof import TubeProof
from holdfast.stability.verifier.check import reading
from holdfast.stability.verifier.reading.file import claims, digest

x, y, z, th = hf.coordinates("x y z th")
m, g, L = hf.parameters("m g L")


def pendulum():
    kinetic = m * (x.rate**2 + y.rate**2) / 2
    system = hf.System(coordinates=(x, y), kinetic=kinetic, potential=m * g * y, parameters={m: 1, g: 9.81, L: 1})
    program = hf.Program(holonomic={"rod": (x**2 + y**2 - L**2) / 2}, law=hf.critically_damped(10))
    return hf.derive(hf.Problem(system, program, start={x: 0.6, y: -0.8}))


def skater(turn=1.0, pull=0.5):
    kinetic = (x.rate**2 + y.rate**2 + th.rate**2) / 2
    system = hf.System(coordinates=(x, y, th), kinetic=kinetic, potential=pull * x)
    edge = {"edge": x.rate * sp.sin(th) - y.rate * sp.cos(th)}
    program = hf.Program(nonholonomic=edge, law=hf.SpringDamper(damping={"edge": 10}))
    return hf.derive(hf.Problem(system, program, start={x.rate: 1, th.rate: turn}))


@pytest.mark.parametrize("region", [{"m": (1, 2), "L": (0.5, 2)}, {"m": (5, 6)}])
def test_a_range_of_a_parameter_is_not_proved_by_a_tube_with_one_value(region):
    """It was *proved in a tube* with m +- 1e-9, in answer to a question about all m from 1 to 2, or from 5 to 6."""
    block = hf.certify(pendulum(), hf.RK4, step=0.01, duration=0.5, region=region, effort=0.3, tube=True)["rod"]
    assert block.label is hf.Label.checked
    assert f"one value of {', '.join(region)} only" in block.reason


def test_an_angle_of_many_turns_has_a_tube_that_is_a_part_of_one_turn():
    """Within 0.1 % of the range of ten turns is no claim of a tube that is 0.1 % of one turn wide."""
    certificate = hf.certify(skater(turn=20.0), hf.RK4, step=0.005, duration=1, effort=0.2)
    block = certificate["edge"]
    assert block.label is hf.Label.tube
    assert np.ptp(certificate.trajectory["th"]) > 2 * np.pi
    for text in (block.reason, block.omega(), block.promise("rk4", 0.005)):
        assert "of each state's range of this run (of a turn for th)" in text
    assert hf.verify(certificate), hf.verify(certificate).findings
    assert misstated(certificate) is None
    nearly = misstated(certificate, lambda tube: tube["scales"].update(th=2 * np.pi * (1 - 2**-50)))
    assert nearly is not None  # no turn any more: the words would be of the range of three turns
    assert nearly.startswith("th moves further in its run than the range")


@pytest.mark.parametrize("cells", [slice(None), slice(3, 4)], ids=["all", "one"])
def test_a_tube_is_as_wide_as_is_said_on_both_sides_of_its_run(cells):
    """Cubics were moved until the run lay at the edge of its tube; "within 0.1 % of this run" was verified."""
    certificate = hf.certify(pendulum(), hf.RK4, step=0.01, duration=0.3, tube=True)

    def beside(tube):
        for cell in tube["cells"][cells]:
            cell[2] = [[p[0] + 0.9 * half, *p[1:]] for p, half in zip(cell[2], cell[3], strict=True)]

    assert misstated(certificate) is None
    assert "narrower on one side of its run than stated" in misstated(certificate, beside)


def misstated(certificate, change=lambda tube: None):
    """What the verifier says of a tube that was changed, beside the run of its certificate."""
    data = copy.deepcopy(certificate.to_dict())
    change(data["tubes"][0])
    read, run = reading(claims({**data, "digest": digest(data)})), certificate.trajectory
    return misstated_tube(read, read.claims.tubes[0], run.times, run.y.T)


def test_a_body_that_coasts_along_a_line_is_proved_in_a_tube():
    """Along its run nothing but positions changes; the equations were said not to be defined there."""
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    program = hf.Program(holonomic={"line": y - x / 2}, law=hf.critically_damped(5))
    equations = hf.derive(hf.Problem(system, program, start={x.rate: -1, y.rate: sp.Rational(-1, 2)}))
    certificate = hf.certify(equations, hf.RK4, step=0.01, duration=0.3, tube=True)
    assert isinstance(certificate["line"].proof, TubeProof), certificate["line"].reason
    assert hf.verify(certificate), hf.verify(certificate).findings


def test_a_width_is_not_told_as_a_part_of_a_turn_where_nothing_turns(tmp_path):
    """A file said ten times the width, as a part of 6.28 in place of ranges of 60 and more, and was verified."""
    kinetic = (x.rate**2 + y.rate**2 + z.rate**2) / 2
    system = hf.System(coordinates=(x, y, z), kinetic=kinetic, potential=400 * z)
    program = hf.Program(holonomic={"bowl": z - (x**2 + y**2) / 200}, law=hf.critically_damped(10))
    start = {x: 100, y: 0, z: 50, x.rate: 100, y.rate: 150, z.rate: 100}
    equations = hf.derive(hf.Problem(system, program, start=start))
    certificate = hf.certify(equations, hf.RK4, step=0.01, duration=2, effort=0.2, region={"z": (-1e4, 1e4)})
    assert certificate["bowl"].label is hf.Label.tube
    assert hf.verify(certificate)
    data = copy.deepcopy(certificate.to_dict())
    tube = data["tubes"][0]
    assert min(tube["scales"].values()) > 7
    tube["width"] *= min(tube["scales"].values()) / 6.2832
    tube["scales"] = dict.fromkeys(tube["scales"], 6.2832)
    (tmp_path / "c.json").write_text(json.dumps({**data, "digest": digest(data)}))
    found = hf.verify(tmp_path / "c.json")
    assert not found
    assert "moves further in its run than the range" in found.findings[0]


@pytest.mark.parametrize("where", ["Omega", "tube"])
def test_bounds_hold_for_every_start_of_the_size_that_is_stated(where, tmp_path):
    """A larger size of the start was verified beside bounds that only the start itself keeps."""
    equations = pendulum() if where == "Omega" else skater()
    ask = {"step": 0.01, "effort": 1} if where == "Omega" else {"step": 0.01, "effort": 0.1, "tube": True}
    certificate = hf.certify(equations, hf.RK4, duration=0.3 if where == "Omega" else 2, **ask)
    data = certificate.to_dict()
    block = data["blocks"][0]
    assert block["label"] == ("proved" if where == "Omega" else "tube")
    assert hf.verify(certificate)
    block["start_size"] = block["proof"]["radius"]
    (tmp_path / "c.json").write_text(json.dumps({**data, "digest": digest(data)}))
    assert "smaller than what was shown" in hf.verify(tmp_path / "c.json").findings[0]


def test_neighbours_are_those_of_the_equations_that_were_certified():
    """Equations with another number in them have the same parameters, and were taken for the certificate's own."""
    certificate = hf.certify(skater(), hf.RK4, step=0.01, duration=2, effort=0.1, tube=True)
    assert hf.safe_starts(skater(), certificate)
    with pytest.raises(hf.BadRequest, match="of other equations"):
        hf.safe_starts(skater(pull=0.500001), certificate)


def test_neighbours_of_a_run_by_a_scheme_of_ones_own():
    stages = tuple(tuple(map(Fraction, row)) for row in ((0, 0, 0), ("1/2", 0, 0), (0, "3/4", 0)))
    mine = hf.RungeKutta(name="mine", order=3, stages=stages, weights=tuple(map(Fraction, ("2/9", "1/3", "4/9"))))
    certificate = hf.certify(skater(), mine, step=0.01, duration=2, effort=0.1, tube=True)
    assert certificate["edge"].label is hf.Label.tube
    assert hf.safe_starts(skater(), certificate)


def test_neighbours_are_told_when_the_bounds_hold_for_them():
    """They stay in the tube; but one that starts off the program is beyond the bounds until that has died away."""
    equations = skater()
    certificate = hf.certify(equations, hf.RK4, step=0.005, duration=2, effort=0.15, tube=True)
    block, run = certificate["edge"], certificate.trajectory
    starts = hf.safe_starts(equations, certificate)
    assert starts
    distances = np.array([starts.distances[name] for name in run.state_names])
    signs = np.random.default_rng(1).choice([-1, 1], (20, len(distances)))
    states = np.ascontiguousarray(run.y[:, 0] + signs * distances)
    constants, steps = np.array(parameter_vector(equations, {})), len(run.times) - 1
    rows = run_ensemble(
        compiled(equations.field, hf.RK4), states, constants, t0=0.0, step=0.005, steps=steps, observe=False
    ).states
    w = np.abs(rows[:, :, 3] * np.sin(rows[:, :, 2]) - rows[:, :, 4] * np.cos(rows[:, :, 2]))
    assert (w[:, 0] > block.bounds[0]).any()
    assert (w[:, -1] <= block.bounds[0] + block.gamma**steps * w[:, 0] * (1 + 1e-9)).all()
    assert "if that deviates no more than this one's in the norm of the proof, else once that has died away" in str(
        starts
    )
