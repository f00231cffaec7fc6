"""A bound is of a motion that exists: where forces or what holds a program have no value, nothing is proved."""

import json
from itertools import pairwise

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.stability.proof import prove
from holdfast.stability.proof.noise import prove as noise_prove
from holdfast.stability.tube import flow, ordered
from holdfast.stability.verifier.reading.file import digest

x, y = hf.coordinates("x y")
WAYS = [{}, {"tube": True}, {"in_order": True}]
SQUARE = x.rate**2 / 2


def held(kinetic=SQUARE, potential=0, path=x - hf.time, controls=None, forces=None):
    """A mass that must be where a timetable says: its accelerations follow from that alone."""
    system = hf.System(coordinates=(x,), kinetic=kinetic, potential=potential, forces=forces or {})
    law = hf.SpringDamper(stiffness=25, damping=10)
    program = hf.Program(holonomic={"go": path}, controls={"F": {x: 1}} if controls is None else controls, law=law)
    return hf.Problem(system, program, start={x.rate: 1}, run=hf.Run(scheme="rk4", step=0.1, duration=3.0))


def free(potential):
    """A mass that is held across, and passes along whatever there is."""
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=potential)
    program = hf.Program(holonomic={"across": y}, law=hf.SpringDamper(stiffness=25, damping=10))
    run = hf.Run(scheme="rk4", step=0.09, duration=3.6, start_policy="keep")
    return hf.Problem(system, program, start={x: 0, x.rate: 5, y: 0.1}, run=run)


def fed(rate):
    """A mass on a timetable, which feeds a state that nothing depends on."""
    stored = hf.states("stored")
    system = hf.System(coordinates=(x,), kinetic=SQUARE, states={stored: rate})
    program = hf.Program(holonomic={"go": x - hf.time}, law=hf.SpringDamper(stiffness=25, damping=10))
    return hf.Problem(system, program, start={x.rate: 1}, run=hf.Run(scheme="rk4", step=0.1, duration=3.0))


BROKEN = {
    "a pole of the potential": held(potential=1 / (x - 1)),
    "a root between two rows": held(potential=sp.sqrt((x - sp.Rational(21, 20)) ** 2 - sp.Rational(1, 10**4))),
    "a pole of the mass": held(kinetic=SQUARE * (2 + 1 / (x - sp.Rational(21, 20)) ** 2)),
    "a logarithm": held(forces={x: sp.log((x - sp.Rational(21, 20)) ** 2 - sp.Rational(1, 10**4))}),
    "a tangent": held(forces={x: sp.tan(x)}),
    "a pole beside the program": free(1 / (x - 1)),
    "a pole of what a state is fed": fed((x - sp.Rational(21, 20)) ** -2),
}
SOUND = {
    "a root of squares": held(potential=sp.sqrt(1 + x**2)),
    "a speed": held(forces={x: -x.rate * sp.sqrt(x.rate**2)}),
    "a pole elsewhere": held(potential=1 / (x + 10)),
    "a tangent": held(forces={x: sp.tan(x / 4)}),
    "a state that is fed": fed(1 / (x + 10)),
    "free beside a pole elsewhere": free(1 / (x + 40)),
}


def certified(problem, **way):
    return hf.certify(hf.derive(problem), effort=1, **way)


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("name", BROKEN)
def test_nothing_is_proved_where_a_force_has_no_value(name, way):
    (block,) = certified(BROKEN[name], **way).blocks
    assert not block.label.is_proof
    if not way:
        assert "exist all over the region is not shown" in block.reason


@pytest.mark.parametrize("name", SOUND)
def test_what_exists_everywhere_is_proved_as_ever_and_re_checked(name):
    certificate = certified(SOUND[name])
    assert certificate.blocks[0].label is hf.Label.proved
    assert hf.verify(certificate).holds, hf.verify(certificate).findings


def test_a_region_is_asked_for_what_lies_near_the_program_alone():
    """x < -1 lies in the box of the region, and no state there is near the program."""
    region = {"x": (-4, 4), "t": (0, 2)}
    (block,) = certified(held(potential=sp.log(x + 1)), region=region, duration=2.0).blocks
    assert block.label is hf.Label.proved


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("name", [name for name in BROKEN])
def test_the_verifier_asks_for_it_too(name, way, monkeypatch):
    """As of a certificate by somebody who did not look."""
    monkeypatch.setattr(prove, "unseen", lambda *_: ())
    monkeypatch.setattr(flow, "partial_operations", lambda _: set())
    certificate = certified(BROKEN[name], **way)
    if not certificate.blocks[0].label.is_proof:
        assert name == "a pole beside the program"  # whose way is followed along the run all the same
        return
    found = hf.verify(certificate)
    assert not found.holds
    assert "existence of what holds the program is not confirmed" in str(found.findings)


def pushed(at):
    """A mass on a timetable, pushed by what was measured for six seconds."""
    push = hf.functions("push")
    measured = hf.data(range(7), [0, 1, 0, 1, 0, 1, 0], degree=3)
    system = hf.System(
        coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, forces={at: push}, functions={push: measured}
    )
    program = hf.Program(holonomic={"go": x - hf.time}, law=hf.SpringDamper(stiffness=25, damping=10))
    return hf.Problem(system, program, start={x.rate: 1}, run=hf.Run(scheme="rk4", step=0.01, duration=3.0))


@pytest.mark.parametrize("at", [x, y], ids=["what is held", "what is free"])
def test_no_region_reaches_beyond_the_data_of_a_force(at):
    """Beyond six seconds the force has no value, and what the program needs of the controls has none."""
    assert certified(pushed(at), region={"t": (0, 6)}).blocks[0].label is hf.Label.proved
    (block,) = certified(pushed(at), region={"t": (0, 10)}).blocks
    assert block.label is not hf.Label.proved
    assert "the time of Omega goes beyond the data of 'push'" in block.reason


@pytest.mark.parametrize("at", [x, y], ids=["what is held", "what is free"])
def test_the_verifier_asks_how_far_data_reach(at, monkeypatch):
    monkeypatch.setattr(prove, "require_within_data", lambda *_: None)
    wide = {"t": (0, 10), x: (-1, 11)}
    certificate = certified(pushed(at), region=wide)
    assert certificate.blocks[0].label is hf.Label.proved
    assert not hf.verify(certificate).holds
    assert at is x or hf.verify(certified(pushed(at), region=wide | {"t": (0, 6)})).holds  # of x: not re-checked


# ── between the rows of steps that are followed in the order of time ──────────────────────────────

BETWEEN = sp.Rational(10005, 20000)  # on the way of every run below, half a step from its rows


def twice(potential):
    """A timetable that is stated twice, over a coordinate that nothing holds."""
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=potential)
    law = hf.SpringDamper(stiffness=25, damping=10)
    program = hf.Program(holonomic={"go": x - hf.time, "again": 2 * x - 2 * hf.time}, law=law)
    return hf.Problem(system, program, start={x.rate: 1}, run=hf.Run(scheme="rk4", step=0.01, duration=1.0))


@pytest.mark.parametrize("scheme", ["euler", "rk4"])
@pytest.mark.parametrize("pole", [sp.log((x - BETWEEN) ** 2) / 1000, 1 / (x - BETWEEN) / 10**5], ids=str)
def test_nothing_is_proved_where_rows_that_repeat_each_other_pass_a_pole(pole, scheme):
    assert not any(block.label.is_proof for block in certified(twice(pole), scheme=scheme).blocks)


def test_rows_that_repeat_each_other_are_proved_beside_a_pole_elsewhere():
    assert all(block.label is hf.Label.tube for block in certified(twice(1 / (x + 1))).blocks)


@pytest.mark.parametrize("scheme", ["euler", "rk4"])
def test_the_verifier_asks_for_it_between_the_rows_too(scheme, monkeypatch):
    """Steps ask for a force at their stages alone, and none of these lies at the pole."""
    monkeypatch.setattr(ordered, "rates_between", lambda *given: (np.ones(len(given[-1]), bool), 0))
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=(x - BETWEEN) ** -2 / 10**9)
    program = hf.Program(holonomic={"bowl": y - x**2 / 10}, law=hf.SpringDamper(stiffness=25, damping=10))
    run = hf.Run(scheme=scheme, step=0.01, duration=0.8)
    certificate = certified(hf.Problem(system, program, start={x.rate: 1}, run=run), in_order=True)
    assert certificate.blocks[0].label is hf.Label.tube
    found = hf.verify(certificate)
    assert not found.holds
    assert "existence of what holds the program is not confirmed" in str(found.findings)


def split_elsewhere(certificate, first, last, place):
    """The certificate as data, with cells of a tube cut at two times between two rows, and those between them moved."""
    data = certificate.to_dict()
    for tube in data["tubes"]:
        tube["cells"] = [part for cell in tube["cells"] for part in parts_of(cell, first, last, place)]
    return data


def parts_of(cell, first, last, place):
    start, end, curves, halves = cell
    times = sorted({start, end, *(time for time in (first, last) if start < time < end)})
    for low, high in pairwise(times):
        s = sp.Symbol("s")
        moved = (low - start + (high - low) * s) / (end - start)
        rows = [sp.Poly(sum(c * moved**k for k, c in enumerate(row)), s).all_coeffs()[::-1] for row in curves]
        rows = [[float(c) for c in row] + [0.0] * (4 - len(row)) for row in rows]
        if first <= low and high <= last:
            rows[0] = [place, 0.0, 0.0, 0.0]
        yield [low, high, rows, [1.5 * half for half in halves]]


@pytest.mark.parametrize("way", WAYS[1:], ids=str)
def test_cells_without_a_row_hide_no_place_where_a_force_has_no_value(way, monkeypatch, tmp_path):
    """A tube may be cut anywhere, and a step passes over whole cells: these are about the run all the same."""
    monkeypatch.setattr(flow, "partial_operations", lambda _: set())
    certificate = certified(BROKEN["a root between two rows"], **way)
    assert certificate.blocks[0].label is hf.Label.tube
    data = split_elsewhere(certificate, 1.01, 1.09, 0.5)
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(data | {"digest": digest(data)}))
    found = hf.verify(path)
    assert not found.holds
    assert "about its run between two rows is not confirmed" in str(found.findings)


def behind_a_hill():
    """A force without a value where the potential is high: there no row lies, and the motion passes it all the same."""
    place = sp.Rational(21, 20)
    return held(potential=100 * sp.exp(-(10**4) * (x - place) ** 2), forces={x: 1 / (x - place)})


def test_what_lies_between_two_rows_may_have_any_energy():
    (block,) = certified(behind_a_hill(), region={"potential": (-1, 1)}).blocks
    assert not block.label.is_proof


def test_the_verifier_asks_for_it_at_any_energy_too(monkeypatch):
    monkeypatch.setattr(prove, "unseen", lambda *_: ())
    certificate = certified(behind_a_hill(), region={"potential": (-1, 1)})
    assert certificate.blocks[0].label is hf.Label.proved
    found = hf.verify(certificate)
    assert not found.holds
    assert "existence of what holds the program is not confirmed" in str(found.findings)


# ── under noise, where no region keeps paths from any state ───────────────────────────────────────


z = hf.coordinates("z")
ARM = ((3 + 2 * sp.cos(z)) * y.rate**2 + 2 * (1 + sp.cos(z)) * y.rate * z.rate + z.rate**2) / 2  # 2 - cos² z > 0


def driven(potential=0, forces=None, kinetic=SQUARE, beside=0, start=None):
    """A mass that noise drives about its place, and another beside it."""
    own = (x, y) if beside or y in sp.sympify(kinetic).free_symbols else (x,)
    own = (x, y, z) if z in sp.sympify(kinetic).free_symbols else own
    kinetic = kinetic + y.rate**2 / 2 if beside else kinetic
    noise = {"gust": {x: sp.Rational(1, 10), **({y: beside} if beside else {})}}
    system = hf.System(coordinates=own, kinetic=kinetic, potential=potential, forces=forces or {}, noise=noise)
    law = hf.SpringDamper(stiffness=25, damping=10)
    program = hf.Program(holonomic={"home": x}, controls={"F": {x: 1}}, law=law)
    return hf.Problem(system, program, start=start or {}, run=hf.Run(scheme="euler", step=0.01, duration=1.0))


@pytest.mark.parametrize(
    "problem",
    [
        driven(1 / (x - 1)),
        driven(sp.log(sp.Rational(1, 100) - x)),
        driven(forces={x: sp.sqrt(sp.Rational(1, 10**4) - x**2)}),
        driven(forces={x: sp.tan(x)}),
        driven(beside=sp.sqrt(1 - y**2)),
        driven(beside=1 / (y - sp.Rational(1, 100))),
    ],
    ids=["pole", "logarithm", "root", "tangent", "a root of the noise", "a pole of the noise"],
)
def test_no_mean_square_is_proved_where_some_paths_have_no_force(problem):
    """Of the root, 2 in 100 rows of `sample_paths` have no control."""
    (block,) = certified(problem).blocks
    assert block.label is hf.Label.refused
    assert "may have no value at some states" in block.reason


@pytest.mark.parametrize(
    "problem",
    [
        driven(1 / (1 + x**2) + sp.sqrt(x**2 + 4) + sp.log(2 + sp.exp(x))),
        driven(forces={x: -x / sp.Max(1, sp.Abs(x))}),
        driven(kinetic=SQUARE + (3 + sp.cos(y)) * y.rate**2 / 2),
        driven(kinetic=SQUARE + ARM),
        driven(forces={x: 1 / (2 + sp.cos(x))}),
        driven(beside=sp.sqrt(1 + y**2) / (2 + y**2)),
    ],
    ids=["positive by the way it is made", "a bounded force", "a mass that turns about", "an arm", "a cosine", "noise"],
)
def test_a_mean_square_is_proved_where_forces_exist_everywhere(problem):
    certificate = certified(problem)
    assert certificate.blocks[0].label is hf.Label.mean_square
    found = str(hf.verify(certificate).findings)
    assert "existence" not in found


@pytest.mark.parametrize(
    "problem",
    [driven(1 / (x - 1)), driven(sp.log(sp.Rational(1, 100) - x)), driven(beside=1 / (y - sp.Rational(1, 100)))],
    ids=["pole", "logarithm", "a pole of the noise"],
)
def test_the_verifier_asks_for_it_under_noise_too(problem, monkeypatch):
    monkeypatch.setattr(noise_prove, "somewhere_lacking", lambda *_: False)
    certificate = certified(problem)
    assert certificate.blocks[0].label is hf.Label.mean_square
    found = hf.verify(certificate)
    assert not found.holds
    assert "existence of what holds the program is not confirmed at all states" in str(found.findings)


@pytest.mark.parametrize(("mass", "told"), [(y**2, True), (1 + y**2, False)], ids=["vanishes somewhere", "does not"])
def test_the_verifier_tells_of_masses_that_it_does_not_look_at(mass, told, monkeypatch):
    """Paths reach y = 0, where the one has no mass."""
    monkeypatch.setattr(noise_prove, "somewhere_lacking", lambda *_: False)
    certificate = certified(driven(kinetic=SQUARE + mass * y.rate**2 / 2, start={y: 1}))
    assert certificate.blocks[0].label is hf.Label.mean_square
    assert ("regular at all states is not re-checked" in str(hf.verify(certificate).findings)) == told
