"""Shapes of bodies: corners that go with the body, in pictures from every side; what cannot be drawn is said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import holdfast as hf
from holdfast.results.motion import motion_of
from holdfast.results.shapes import corners_in_picture, drawn_points, meshes_of

SHAPES = [
    {"kind": "box", "size": [0.4, 0.2, 0.1]},
    {"kind": "plate", "size": [1, "width"]},
    {"kind": "rod", "to": [0, 0, 1]},
    {"kind": "cylinder", "radius": 0.1, "length": 0.5, "axis": [1, 1, 0]},
    {"kind": "wheel", "radius": "width", "width": 0.05, "axis": [0, 1, 0]},
    {"kind": "sphere", "radius": 0.1, "at": [0, 0, 1]},
]


def problem(shape, plane=False):
    size = 2 if plane else 3
    body = hf.Body(
        mass=1, center=(0.5,) * size, inertia=1 if plane else (1, 2, 3), spin=2 if plane else (0, 0, 2), shape=shape
    )
    width = hf.parameters("width")
    return hf.Problem(hf.System(bodies={"b": body}, parameters={width: 0.25}, gravity=(0,) * size))


def test_corners_go_with_the_body():
    """Spin 2 about z for a quarter turn: what was along x in the body is along y."""
    stated = problem({"kind": "box", "size": [0.4, 0.2, 0.1], "at": [0, 0, 0]})
    run = hf.simulate(hf.derive(stated), hf.RK4, step=np.pi / 4 / 100, duration=np.pi / 4, start={"b_turn_z_dot": 2.0})
    motion = motion_of(run)
    (mesh,) = motion.bodies
    now = corners_in_picture(mesh, motion.space[-1])
    body = np.array(mesh["corners"])
    origin = motion.space[-1, mesh["frame"][0]]
    expected = origin + np.column_stack([-body[:, 1], body[:, 0], body[:, 2]])
    np.testing.assert_allclose(now, expected, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES, ids=[shape["kind"] for shape in SHAPES])
def test_every_shape_has_its_faces_outward(shape):
    made = meshes_of(problem(shape), {"width": 0.25})
    assert not made.complaints
    (mesh,) = made.bodies
    corners = np.array(mesh["corners"])
    for face in mesh["faces"] if shape["kind"] not in ("plate", "sphere") else ():
        a, b, c = corners[face[:3]]
        normal = np.cross(b - a, c - b)
        assert normal @ (corners[face].mean(axis=0) - corners.mean(axis=0)) > 0


@pytest.mark.parametrize(
    "shape", [s for s in SHAPES if s["kind"] in ("plate", "wheel", "rod", "box")], ids=lambda s: s["kind"]
)
def test_shapes_in_the_plane(shape):
    flat = {key: value[:2] if isinstance(value, list) and key != "axis" else value for key, value in shape.items()}
    flat |= {"to": [0, 1]} if flat["kind"] == "rod" else {}
    made = meshes_of(problem(flat, plane=True), {"width": 0.25})
    assert not made.complaints
    assert len(made.bodies[0]["frame"]) == 3


@pytest.mark.parametrize(
    ("shape", "word"),
    [
        ({"kind": "blob"}, "has a kind"),
        ("box", "has a kind"),
        ({"kind": "box"}, "size has 3 components"),
        ({"kind": "box", "size": [1, 2]}, "size has 3 components"),
        ({"kind": "box", "size": [1, 2, "depth"]}, "neither a number nor a parameter"),
        ({"kind": "sphere", "radius": True}, "neither a number nor a parameter"),
        ({"kind": "rod", "to": [0, 0, 0]}, "ends where it begins"),
        ({"kind": "wheel", "radius": 1, "axis": [0, 0, 0]}, "axis is 0"),
        ({"kind": "sphere", "radius": 1, "colour": "red"}, "no 'colour'"),
    ],
)
def test_what_cannot_be_drawn_is_said(shape, word):
    made = meshes_of(problem(shape), {"width": 0.25})
    assert not made.bodies
    assert word in made.complaints[0]
    assert "bodies.b.shape" in made.complaints[0]


def test_points_that_carry_shapes_have_no_names(tmp_path):
    run = hf.simulate(hf.derive(problem(SHAPES)), hf.RK4, step=0.01, duration=0.2)
    motion = motion_of(run)
    assert motion.names == ("b",)
    assert motion.frames.shape[1] == len(drawn_points(run.problem)) == 5
    left, _, right, _ = motion.box
    assert right - left < 3  # shapes count, their carriers do not
    assert run.animate(tmp_path / "b.gif", frames=3).stat().st_size > 1000
    assert "mesh" in hf.report(run).html


def test_the_middle_is_the_centre_of_mass_in_numbers():
    l, half = hf.parameters("l half")
    body = hf.Body(mass=1, center=(0, 0, half), inertia=(1, 1, 1), shape={"kind": "sphere", "radius": 1})
    stated = hf.Problem(hf.System(bodies={"b": body}, parameters={l: 3, half: l / 2}))
    assert meshes_of(stated, {"l": 3.0}).bodies[0]["ball"] == [0, 0, 1.5, 1]
    plain = hf.Problem(hf.System(bodies={"b": replace(body, center=(0, 0, l))}, parameters={l: 3}))
    assert meshes_of(plain, {"l": 3.0}).bodies[0]["ball"] == [0, 0, 3, 1]
