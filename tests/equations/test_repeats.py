"""Constraints that depend on each other are named, all of them at once, and repeats are told from contradictions."""

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.equations.solving.repeats import circuits_of, rank_of
from tests.equations.loops import planar_four_bar_in_space, three_cranks

x, y, z = hf.coordinates("x y z")


def refused(holonomic, **more):
    system = hf.System(coordinates=(x, y, z), kinetic=(x.rate**2 + 2 * y.rate**2 + 3 * z.rate**2) / 2)
    program = hf.Program(holonomic=holonomic, redundant="refuse", **more)
    with pytest.raises(hf.ConstraintsDependent) as caught:
        hf.derive(hf.Problem(system, program, start={x: 0.6, y: 0.8, z: 0.3}))
    return caught.value


def test_two_repeats_are_named_at_once():
    rod = x**2 + y**2 - 1
    error = refused({"rod": rod, "height": z, "again": 3 * rod, "both": rod + 2 * z})
    assert "2 dependences" in error.what
    assert "'again' repeats what 'rod' already fixes" in error.what
    assert "'both' repeats what 'rod' and 'height' already fix" in error.what
    assert "remove it" in error.fix


def test_one_repeat_hidden_among_five_is_named_with_only_those_that_take_part():
    a, b, c, d, e, f = held = hf.coordinates("a b c d e f")
    rows = {
        "one": a + sp.sin(b),
        "two": c * d - 1,
        "three": e - f,
        "four": a + sp.sin(b) + 2 * (e - f),
        "five": b + c,
    }
    system = hf.System(coordinates=held, kinetic=sum(k.rate**2 for k in held) / 2)
    start = {a: -np.sin(0.4), b: 0.4, c: -0.4, d: -2.5, e: 1, f: 1}
    with pytest.raises(hf.ConstraintsDependent) as caught:
        hf.derive(hf.Problem(system, hf.Program(holonomic=rows, redundant="refuse"), start=start))
    assert caught.value.what == "constraint 'four' repeats what 'one' and 'three' already fix"


def test_contradictions_are_told_beside_repeats_and_never_borne():
    rows = {"here": x - 1, "there": x - 3, "high": z, "again": 2 * z}
    for choice in (None, "refuse", "allow"):
        system = hf.System(coordinates=(x, y, z), kinetic=(x.rate**2 + y.rate**2 + z.rate**2) / 2)
        with pytest.raises(hf.ConstraintsDependent) as caught:
            hf.derive(hf.Problem(system, hf.Program(holonomic=rows, redundant=choice), start={x: 1}))
        assert "'there' contradicts 'here': it is -2 where 'here' holds" in caught.value.what
        assert "'again' repeats what 'high' already fixes" in caught.value.what


def test_paths_that_part_in_time_contradict_each_other_though_they_meet_at_the_start():
    t = hf.time
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    for parting in (x - t, x - t**2, x - t**3):
        program = hf.Program(holonomic={"rest": x, "path": parting}, redundant="allow")
        with pytest.raises(hf.ConstraintsDependent, match=r"'path' .*contradicts"):
            hf.derive(hf.Problem(system, program))


def test_three_cranks_are_told_by_the_constraint_that_closes_the_second_loop():
    with pytest.raises(hf.ConstraintsDependent) as caught:
        hf.derive(three_cranks(redundant="refuse"))
    assert caught.value.what == "constraint 'dy' repeats what 'cx', 'cy' and 'dx' already fix"
    assert caught.value.where == "program.holonomic.dy"


def test_a_planar_four_bar_in_space_has_three_repeats():
    """Its loop keeps to the plane by itself: of 23 equations 20 are independent."""
    with pytest.raises(hf.ConstraintsDependent) as caught:
        hf.derive(planar_four_bar_in_space(redundant="refuse"))
    assert "3 dependences" in caught.value.what
    for name in ("j4_z", "j4_t1", "j4_t2"):
        assert f"{name!r} repeats what " in caught.value.what


def test_what_depends_on_each_other_is_found_in_any_units():
    shake = np.random.default_rng(5)
    for _ in range(200):
        n, rank, repeats = int(shake.integers(3, 9)), int(shake.integers(1, 3)), int(shake.integers(1, 4))
        rows = shake.standard_normal((rank, n))
        rows = np.vstack([rows, shake.standard_normal((repeats, rank)) @ rows])
        rows *= 10.0 ** shake.uniform(-6, 6, (len(rows), 1))
        assert rank_of(rows) == rank
        found = circuits_of(rows)
        assert [circuit.row for circuit in found] == list(range(rank, rank + repeats))
        scaled = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        assert max(np.abs(circuit.combination @ scaled).max() for circuit in found) < 1e-9


COPIES = {
    "as many controls": ({"p": x, "again": 2 * x}, {"F": {x: 1}, "G": {y: 1}}, {}),
    "more controls": ({"p": x, "again": 2 * x}, {"F": {x: 1}, "G": {y: 1}, "H": {x: 2}}, {}),
    "fewer controls": ({"p": x, "again": 2 * x}, {"F": {x: 1}}, {}),
    "a sum": ({"p": x, "q": y, "again": x + y}, {"F": {x: 1}, "G": {y: 1}}, {}),
    "a sum with a control of its own": ({"p": x, "q": y, "again": x + y}, {"F": {x: 1}, "G": {y: 1}, "H": {x: 1}}, {}),
    "held by a reaction": ({"p": x, "again": 2 * x}, {"F": {x: 1}}, {"reactions": ("p",)}),
}


@pytest.mark.parametrize(("programs", "controls", "more"), COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("elastic", [False, True], ids=["at once", "four derivatives later"])
def test_a_copy_of_a_program_that_controls_hold_is_named(programs, controls, more, elastic):
    rotor = hf.coordinates("rotor")
    if elastic:  # what pushed x now pushes it through a spring
        kinetic, potential = (x.rate**2 + y.rate**2 + rotor.rate**2) / 2, (x - rotor) ** 2 / 2
        controls = {name: {rotor if q is x else q: k for q, k in push.items()} for name, push in controls.items()}
        system = hf.System(coordinates=(x, y, rotor), kinetic=kinetic, potential=potential)
    else:
        system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    program = hf.Program(holonomic=programs, controls=controls, law=hf.critically_damped(3), **more)
    with pytest.raises(hf.HoldfastError) as error:
        hf.derive(hf.Problem(system, program))
    assert "constraint 'again' repeats what 'p'" in error.value.what
    assert "multiplier" not in error.value.fix
