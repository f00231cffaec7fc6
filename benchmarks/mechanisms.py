"""Bodies and joints beside Pinocchio: accelerations of random trees and loops, and the time of a step.

    make rivals

Trees are written as URDF, which Pinocchio reads by itself and Holdfast by `hf.read_urdf`; loops close them by a ball
joint at a place where both ends are. Of Holdfast, steps of runs; of Pinocchio, four bare calls of `aba` from Python,
which is less than a step of RK4 needs. Of both, the least of many short bursts.
"""

from __future__ import annotations

import random
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import holdfast as hf
from benchmarks import platform

TITLE = "## Bodies and joints"
KINDS = ("revolute", "continuous", "prismatic", "continuous")
UR5 = [  # name, offset, quarter turn about y, axis, mass, centre, moments; numbers of ur_description (ROS Industrial)
    ("shoulder", "0 0 0.089159", 0, "0 0 1", 3.7, "0 0 0", (0.010267495893, 0.00666)),
    ("upper_arm", "0 0.13585 0", 1, "0 1 0", 8.393, "0 0 0.28", (0.22689067591, 0.0151074)),
    ("forearm", "0 -0.1197 0.425", 0, "0 1 0", 2.275, "0 0 0.25", (0.049443313556, 0.004095)),
    ("wrist_1", "0 0 0.39225", 1, "0 1 0", 1.219, "0 0 0", (0.111172755531, 0.21942)),
    ("wrist_2", "0 0.093 0", 0, "0 0 1", 1.219, "0 0 0", (0.111172755531, 0.21942)),
    ("wrist_3", "0 0 0.09465", 0, "0 1 0", 0.1879, "0 0 0", (0.0171364731454, 0.033822)),
]


def link(name: str, mass: float, center: str, moments: tuple[float, ...]) -> str:
    xx, yy, zz, xy, xz, yz = moments
    return (
        f'<link name="{name}"><inertial><mass value="{mass}"/><origin xyz="{center}" rpy="0 0 0"/><inertia ixx="{xx}" '
        f'iyy="{yy}" izz="{zz}" ixy="{xy}" ixz="{xz}" iyz="{yz}"/></inertial></link>'
    )


def joint(name: str, kind: str, parent: str, child: str, xyz: str, rpy: str, axis: str) -> str:
    limit = '<limit effort="1e9" lower="-1e9" upper="1e9" velocity="1e9"/>'
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>{limit}</joint>'
    )


def robot(*parts: str) -> str:
    return f'<robot name="r"><link name="world"/>{"".join(parts)}</robot>'


def ur5() -> str:
    parts, parent = [], "world"
    for name, offset, turned, axis, mass, center, (a, c) in UR5:
        parts.append(link(name, mass, center, (a, a, c, 0, 0, 0)))
        parts.append(joint(f"j_{name}", "revolute", parent, name, offset, f"0 {np.pi / 2 * turned!r} 0", axis))
        parent = name
    return robot(*parts)


def rods(count: int) -> str:
    """Equal rods hinged in a row, axes x and y in turn; 1 m and 1 kg in all."""
    parts, parent, length, mass = [], "world", 1 / count, 1 / count
    thin, thick = mass * length**2 / 12, mass * length**2 / 200
    for k in range(count):
        parts.append(link(f"rod_{k}", mass, f"0 0 {-length / 2}", (thin + thick, thin + thick, 2 * thick, 0, 0, 0)))
        axis = "1 0 0" if k % 2 == 0 else "0 1 0"
        offset = f"0 0 {-length}" if k else "0 0 0"
        parts.append(joint(f"j_{k}", "revolute", parent, f"rod_{k}", offset, "0 0 0", axis))
        parent = f"rod_{k}"
    return robot(*parts)


def random_tree(seed: int, least: int = 2) -> str:
    chance = random.Random(seed)
    numbers = lambda count, size: " ".join(f"{chance.uniform(-size, size):.4f}" for _ in range(count))  # noqa: E731
    parts, names = [], ["world"]
    for k in range(chance.randint(least, 9)):
        root = np.array([[chance.uniform(-1, 1) for _ in range(3)] for _ in range(3)])
        second = root @ root.T / 10 + 0.05 * np.eye(3)
        tensor = np.trace(second) * np.eye(3) - second
        moments = tuple(round(float(tensor[i, j]), 6) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
        parts.append(link(f"b{k}", round(chance.uniform(0.5, 3), 3), numbers(3, 0.4), moments))
        parent, kind = chance.choice(names[-3:]), chance.choice(KINDS)
        parts.append(joint(f"q{k}", kind, parent, f"b{k}", numbers(3, 0.6), numbers(3, 3), numbers(3, 1)))
        names.append(f"b{k}")
    return robot(*parts)


@dataclass(frozen=True, eq=False)
class Pinocchio:
    """A model, with numbers in the order of another program's names."""

    model: Any
    data: Any

    @staticmethod
    def of(text: str) -> Pinocchio:
        import pinocchio as pin

        model = pin.buildModelFromXML(text.replace('type="continuous"', 'type="revolute"'))
        return Pinocchio(model, model.createData())

    def ordered(self, values: dict[str, float]) -> np.ndarray:
        return np.array([values[name] for name in list(self.model.names)[1:]])

    def accelerations(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        import pinocchio as pin

        return np.array(pin.aba(self.model, self.data, q, v, np.zeros(self.model.nv)))


def read(text: str) -> hf.System:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", hf.NotRead)
        path = Path(folder) / "robot.urdf"
        path.write_text(text)
        return hf.read_urdf(path)


def started(system: hf.System, seed: int, more: tuple[Any, ...] = ()) -> tuple[hf.Trajectory, list[str]]:
    """One short run from a random state, and the names of its coordinates."""
    chance = np.random.default_rng(seed)
    names = [c.name for c in system.coordinates]
    start = dict(zip(names, chance.uniform(-1, 1, len(names)).tolist(), strict=True))
    start |= {f"{name}_dot": float(rate) for name, rate in zip(names, chance.uniform(-1, 1, len(names)), strict=True)}
    problem = hf.Problem(system, *more, start=start)
    run = hf.simulate(hf.derive(problem), hf.RK4, step=1e-4, duration=1e-4, start_policy="project" if more else None)
    return run, names


def tree_errors(count: int = 30) -> list[float]:
    """Relative differences of accelerations from Pinocchio's, for random trees."""
    found = []
    for seed in range(count):
        text = random_tree(seed)
        run, names = started(read(text), seed)
        found.append(difference(Pinocchio.of(text), run, names))
    return found


Solver = Callable[[np.ndarray, np.ndarray], np.ndarray]


def difference(theirs: Pinocchio, run: hf.Trajectory, names: list[str], solve: Solver | None = None) -> float:
    """The largest difference of accelerations at the first row, relative to the largest of them."""
    q, v, a = ({n: float(run.at(f"{n}{end}")[0]) for n in names} for end in ("", "_dot", "_ddot"))
    expected = (solve or theirs.accelerations)(theirs.ordered(q), theirs.ordered(v))
    return float(np.abs(theirs.ordered(a) - expected).max() / max(1.0, np.abs(expected).max()))


def loop_errors(count: int = 10) -> list[float]:
    """The same for trees with a loop: a ball joint between two bodies, where both ends are at the start."""
    found, seed = list[float](), 1000
    while len(found) < count:
        seed += 1
        error = loop_error(seed)
        if error is not None:
            found.append(error)
    return found


def loop_error(seed: int) -> float | None:
    """Of one loop; None where the two bodies cannot move against each other in three directions."""
    import pinocchio as pin

    text = random_tree(seed, least=6)
    system, theirs = read(text), Pinocchio.of(text)
    names = [c.name for c in system.coordinates]
    a, b = list(system.bodies)[-2:]
    chance = np.random.default_rng(seed)
    start = {name: float(x) for name, x in zip(names, chance.uniform(-1, 1, len(names)), strict=True)}
    start |= {f"{n}_dot": float(x) for n, x in zip(names, chance.uniform(-1, 1, len(names)), strict=True)}
    pin.framesForwardKinematics(theirs.model, theirs.data, theirs.ordered(start))
    frames = [theirs.data.oMf[theirs.model.getFrameId(name)] for name in (a, b)]
    place = frames[0].act(np.array([0.1, 0.2, 0.3]))
    points = [frame.actInv(place) for frame in frames]
    problem = hf.Problem(with_loop(system, (a, b), points), hf.Program(law=hf.critically_damped(10)), start=start)
    try:
        run = hf.simulate(hf.derive(problem), hf.RK4, step=1e-4, duration=1e-4, start_policy="project")
    except hf.HoldfastError:
        return None
    return difference(theirs, run, names, closed(theirs, (a, b), points))


def closed(theirs: Pinocchio, ends: tuple[str, str], points: list[np.ndarray]) -> Solver:
    """Pinocchio's accelerations with a ball joint between two bodies."""
    import pinocchio as pin

    model, data = theirs.model, theirs.data
    frames = [model.frames[model.getFrameId(name)] for name in ends]
    places = [pin.SE3(np.eye(3), f.placement.act(p)) for f, p in zip(frames, points, strict=True)]
    contact = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, model, frames[0].parentJoint, places[0], frames[1].parentJoint, places[1],
        pin.ReferenceFrame.LOCAL,
    )  # fmt: skip
    contacts = [contact], [contact.createData()]
    pin.initConstraintDynamics(model, data, *contacts)
    return lambda q, v: np.array(pin.constraintDynamics(model, data, q, v, np.zeros(model.nv), *contacts))


def with_loop(system: hf.System, ends: tuple[str, str], points: list[np.ndarray]) -> hf.System:
    """The system with a ball joint between two bodies."""
    from dataclasses import replace

    bodies = dict(system.bodies)
    for name, point, label in zip(ends, points, ("loop_a", "loop_b"), strict=True):
        bodies[name] = replace(bodies[name], points={**bodies[name].points, label: tuple(map(float, point))})
    return replace(system, bodies=bodies, joints={**system.joints, "loop": hf.Spherical("loop_a", "loop_b")})


def step_times() -> list[tuple[str, float, float]]:
    """Microseconds of an RK4 step by Holdfast, and of four bare calls of Pinocchio's `aba`."""
    found = []
    for name, text in (("UR5", ur5()), ("chain-10", rods(10)), ("chain-50", rods(50))):
        system, theirs = read(text), Pinocchio.of(text)
        equations = hf.derive(hf.Problem(system))
        ours = platform.our_step(equations)
        q, v = np.full(theirs.model.nq, 0.1), np.full(theirs.model.nv, 0.2)
        bare = lambda t=theirs, q=q, v=v: [t.accelerations(q, v) for _ in range(4)]  # noqa: E731
        found.append((name, 1e6 * ours, 1e6 * min(platform.timed(bare) for _ in range(500))))
    return found


def table() -> list[str]:
    """The part of docs/benchmarks.md about mechanisms."""
    trees, loops = tree_errors(), loop_errors()
    lines = [
        f"Accelerations of {len(trees)} random trees differ from Pinocchio's by {max(trees):.1e} of the largest at "
        f"most, those of {len(loops)} trees with a loop by {max(loops):.1e}.", "",
        "| mechanism | Holdfast RK4, us a step | Pinocchio, four bare calls of aba | ratio |", "|---|---|---|---|",
    ]  # fmt: skip
    own, bare, off = platform.step_time()
    closed = f"Stewart platform, 13 bodies (constraintDynamics; accelerations off by {off:.0e})"
    times = [*step_times(), (closed, 1e6 * own, 1e6 * bare)]
    return [*lines, *(f"| {name} | {ours:.2f} | {bare:.1f} | {bare / ours:.1f} |" for name, ours, bare in times)]


if __name__ == "__main__":
    print("\n".join(table()))
