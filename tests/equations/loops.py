"""Mechanisms whose constraints repeat each other: loops that hold themselves together more than once."""

import numpy as np
import sympy as sp

import holdfast as hf

LAW = hf.critically_damped(10)


def three_cranks(redundant=None, *, start=None, law=LAW):
    """A bar of length 3 carried by three parallel cranks of length 1: one of four equations is a repeat."""
    a, b, c, d = hf.coordinates("a b c d")
    length = sp.Integer(3)

    def bar(share):
        return sp.Matrix([sp.cos(a) + share * length * sp.cos(b), sp.sin(a) + share * length * sp.sin(b)])

    centre = bar(sp.Rational(1, 2))
    rates = {q: q.rate for q in (a, b)}
    speed = [sum(sp.diff(part, q) * rate for q, rate in rates.items()) for part in centre]
    kinetic = (a.rate**2 + c.rate**2 + d.rate**2) / 6 + sum(v**2 for v in speed) / 2 + length**2 * b.rate**2 / 24
    weight = sp.Rational("9.81") * ((sp.sin(a) + sp.sin(c) + sp.sin(d)) / 2 + centre[1])
    end = bar(1)
    held = {
        "cx": end[0] - length - sp.cos(c),
        "cy": end[1] - sp.sin(c),
        "dx": centre[0] - length / 2 - sp.cos(d),
        "dy": centre[1] - sp.sin(d),
    }
    system = hf.System(coordinates=(a, b, c, d), kinetic=kinetic, potential=weight)
    program = hf.Program(holonomic=held, law=law, redundant=redundant)
    return hf.Problem(system, program, start={a: 1, b: 0, c: 1, d: 1} if start is None else start)


def rotation(p, r, s, u):
    """The rotation matrix of a quaternion, times its square."""
    return sp.Matrix(
        [
            [p * p + r * r - s * s - u * u, 2 * (r * s - p * u), 2 * (r * u + p * s)],
            [2 * (r * s + p * u), p * p - r * r + s * s - u * u, 2 * (s * u - p * r)],
            [2 * (r * u - p * s), 2 * (s * u + p * r), p * p - r * r - s * s + u * u],
        ]
    )


BARS = (1.0, 3.0, 2.5)  # crank, coupler, rocker
GROUND = 4.0


def four_bar_points(angle):
    """Ends of the bars of the planar four-bar for an angle of its crank."""
    crank = np.array([np.cos(angle), np.sin(angle)])
    ground = np.array([GROUND, 0.0])
    gap = ground - crank
    distance = np.linalg.norm(gap)
    along = (BARS[1] ** 2 - BARS[2] ** 2 + distance**2) / (2 * distance)
    across = np.sqrt(BARS[1] ** 2 - along**2)
    joint = crank + along * gap / distance + across * np.array([-gap[1], gap[0]]) / distance
    return (np.zeros(2), crank), (crank, joint), (ground, joint)


def planar_four_bar_in_space(redundant=None, *, angle=np.pi / 3):
    """Three bars in space, positions and quaternions, and four hinges about z of five equations each."""
    kinetic, potential, coordinates, held, start, bodies = sp.S.Zero, sp.S.Zero, [], {}, {}, []
    for i, ((begin, end), length) in enumerate(zip(four_bar_points(angle), BARS, strict=True)):
        own = hf.coordinates(f"x{i} y{i} z{i} p{i} r{i} s{i} u{i}")
        e, size = own[3:], sp.nsimplify(length)
        rates = sp.Matrix([k.rate for k in e])
        turn = sp.Matrix([[-e[1], e[0], e[3], -e[2]], [-e[2], -e[3], e[0], e[1]], [-e[3], e[2], -e[1], e[0]]])
        spin = 2 * turn * rates
        kinetic += size * sum(k.rate**2 for k in own[:3]) / 2
        kinetic += (spin[0] ** 2 / 100 + size**3 * (spin[1] ** 2 + spin[2] ** 2) / 12) / 2
        potential += size * sp.Rational("9.81") * own[1]
        held[f"n{i}"] = sum(k**2 for k in e) - 1
        bodies.append((sp.Matrix(own[:3]), rotation(*e), size))
        coordinates += own
        direction = np.arctan2(*(end - begin)[::-1])
        middle = (begin + end) / 2
        start |= {own[0]: middle[0], own[1]: middle[1], own[2]: 0, e[1]: 0, e[2]: 0}
        start |= {e[0]: float(np.cos(direction / 2)), e[3]: float(np.sin(direction / 2))}

    def tip(body, side):
        return body[0] + body[1] * sp.Matrix([side * body[2] / 2, 0, 0])

    def hinge(name, place, axes, other, other_axes):
        held.update({f"{name}_{axis}": place[k] - other[k] for k, axis in enumerate("xyz")})
        up = axes * sp.Matrix([0, 0, 1])
        held[f"{name}_t1"] = up.dot(other_axes * sp.Matrix([1, 0, 0]))
        held[f"{name}_t2"] = up.dot(other_axes * sp.Matrix([0, 1, 0]))

    hinge("j1", sp.zeros(3, 1), sp.eye(3), tip(bodies[0], -1), bodies[0][1])
    hinge("j2", tip(bodies[0], 1), bodies[0][1], tip(bodies[1], -1), bodies[1][1])
    hinge("j3", tip(bodies[1], 1), bodies[1][1], tip(bodies[2], 1), bodies[2][1])
    hinge("j4", sp.Matrix([GROUND, 0, 0]), sp.eye(3), tip(bodies[2], -1), bodies[2][1])
    system = hf.System(coordinates=coordinates, kinetic=kinetic, potential=potential)
    return hf.Problem(system, hf.Program(holonomic=held, law=LAW, redundant=redundant), start=start)


TWIST, OTHER_TWIST, SIDE = 0.6, 1.1, 1.0  # of a Bennett linkage: sin(twist)/side is the same for all links
INERTIAS = (1, 2, 3, sp.Rational(3, 2))


def bennett(redundant=None):
    """Four hinges whose axes are neither parallel nor meet: six equations for four angles, three too many."""
    angles = hf.coordinates("t1 t2 t3 t4")
    twists = [sp.Rational(str(TWIST)), sp.Rational(str(OTHER_TWIST))] * 2
    sides = [sp.Integer(1), sp.sin(twists[1]) / sp.sin(twists[0])] * 2

    def link(angle, side, twist):
        turn = sp.Matrix([[sp.cos(angle), -sp.sin(angle), 0], [sp.sin(angle), sp.cos(angle), 0], [0, 0, 1]])
        tilt = sp.Matrix([[1, 0, 0], [0, sp.cos(twist), -sp.sin(twist)], [0, sp.sin(twist), sp.cos(twist)]])
        return turn * tilt, turn * sp.Matrix([side, 0, 0])

    turns, steps = zip(*(link(*given) for given in zip(angles, sides, twists, strict=True)), strict=True)
    there = turns[0] * turns[1], steps[0] + turns[0] * steps[1]
    last = turns[2] * turns[3]
    back = last.T, -last.T * (steps[2] + turns[2] * steps[3])
    gap, turn = there[1] - back[1], there[0] - back[0]
    held = {"px": gap[0], "py": gap[1], "pz": gap[2], "rx": turn[0, 1], "ry": turn[0, 2], "rz": turn[1, 2]}
    kinetic = sum(inertia * angle.rate**2 for inertia, angle in zip(INERTIAS, angles, strict=True)) / 2
    potential = -30 * sp.cos(angles[0] - 2)
    start = dict(zip(angles, bennett_angles(1.3), strict=True))
    system = hf.System(coordinates=angles, kinetic=kinetic, potential=potential)
    return hf.Problem(system, hf.Program(holonomic=held, law=LAW, redundant=redundant), start=start)


def bennett_angles(first):
    """All angles of the closed linkage from its first."""
    ratio = np.sin((OTHER_TWIST + TWIST) / 2) / np.sin((OTHER_TWIST - TWIST) / 2)
    second = 2 * np.arctan(ratio / np.tan(first / 2))
    return first, second, 2 * np.pi - first, 2 * np.pi - second


def box_of_bars(redundant=None):
    """A frame on four equal parallel bars, its four corners held to each other: 13 equations, of which 10 count."""
    corners = [hf.coordinates(f"x{i} y{i} z{i}") for i in range(4)]
    base = [(0, 0, 0), (2, 0, 0), (2, 1, 0), (0, 1, 0)]
    held, start, kinetic, potential = {}, {}, sp.S.Zero, sp.S.Zero
    lean = (0.6, 0.0, -0.8)
    for i, (corner, foot) in enumerate(zip(corners, base, strict=True)):
        held[f"bar{i}"] = sum((c - f) ** 2 for c, f in zip(corner, foot, strict=True)) - 1
        kinetic += (i + 1) * sum(c.rate**2 for c in corner) / 2
        potential += (i + 1) * sp.Rational("9.81") * corner[2]
        start |= {c: f + d for c, f, d in zip(corner, foot, lean, strict=True)}
        start |= {corner[0].rate: 0, corner[1].rate: 0.7, corner[2].rate: 0}
    for i in range(1, 4):
        pairs = zip("xyz", corners[i], corners[0], base[i], base[0], strict=True)
        held |= {f"edge{i}{axis}": c - o - (f - g) for axis, c, o, f, g in pairs}
    system = hf.System(coordinates=[c for corner in corners for c in corner], kinetic=kinetic, potential=potential)
    return hf.Problem(system, hf.Program(holonomic=held, law=LAW, redundant=redundant), start=start)
