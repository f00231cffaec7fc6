"""Enclosures of the defect: what is evaluated at single states lies in what is enclosed over cells."""

import numpy as np
import pytest

import holdfast as hf
from holdfast.graph.arithmetic import ball, precision
from holdfast.stability.block import blocks_of, motion_of
from holdfast.stability.cells import plain_cell
from holdfast.stability.defect import DefectModel, _reached, terms_of
from holdfast.stability.enclosure import symmetric
from tests.stability.held import pendulum

TUBE = 3e-3


def model_of(scheme, step):
    equations = hf.derive(pendulum(law=hf.SpringDamper(stiffness=25, damping=10)))
    (block,) = blocks_of(equations, {})
    return DefectModel(motion_of(equations, block, {}), scheme, step, np.eye(2))


def states_on_the_program(random, count):
    angle, speed = random.uniform(0, 2 * np.pi, count), random.uniform(-4, 4, count)
    return np.array([np.cos(angle), np.sin(angle), -speed * np.sin(angle), speed * np.cos(angle)]).T


@pytest.mark.parametrize("scheme", [hf.Euler, hf.RK4], ids=lambda scheme: scheme.name)
def test_the_coefficient_at_each_state_lies_in_its_enclosure(scheme):
    random, seen = np.random.default_rng(1), 0
    with precision(80, terms_of(scheme)):
        model = model_of(scheme, 0.05)
        limits = [symmetric(TUBE)] * 2
        for centre in states_on_the_program(random, 25):
            size = 10 ** random.uniform(-3, -1.3, 4)
            cell = model.cell(tuple(zip(centre - size, centre + size, strict=True)), limits)
            if cell is None:
                continue
            total, _ = model.centred(cell)
            for _ in range(12):
                x = centre + size * random.uniform(-1, 1, 4)
                x[:2] *= np.sqrt(1 + random.uniform(-TUBE, TUBE)) / np.linalg.norm(x[:2])
                x[2:] -= x[:2] * (x[:2] @ x[2:] - random.uniform(-TUBE, TUBE)) / (x[:2] @ x[:2])
                if (np.abs(x - centre) > size).any():
                    continue
                point = model.plain(plain_cell([ball(float(value)) for value in x]))
                assert all(wide.overlaps(value) for wide, value in zip(total, point, strict=True))
                seen += 1
    assert seen > 50


def test_slopes_are_taken_over_all_of_the_path_from_the_centre():
    """In coordinates along the program, the corner x₀ + N u_N of the path may lie outside the cell's own box."""
    random, outside = np.random.default_rng(0), 0
    with precision(80, terms_of(hf.RK4)):
        model = model_of(hf.RK4, 0.05)
        for centre in states_on_the_program(random, 400):
            size = 10 ** random.uniform(-3, -1, 4)
            tube = 10 ** random.uniform(-4, -1.5)
            cell = model.cell(tuple(zip(centre - size, centre + size, strict=True)), [symmetric(tube)] * 2)
            if cell is None:
                continue
            small = [k for k in range(4) if k not in cell.wide]
            thin = [
                middle + sum((cell.basis[i, k] * cell.offset[k] for k in small), ball(0))
                for i, middle in enumerate(cell.centre)
            ]
            outside += any(not box.contains(value) for box, value in zip(cell.box, thin, strict=True))
            around = _reached(cell, thin, cell.wide, [])
            assert all(box.contains(value) for box, value in zip(around, thin, strict=True))
    assert outside > 0
