"""The same second of motion by Holdfast, MuJoCo, JAX and heyoka, to one error; the table of docs/benchmarks.md.

    make rivals

Each solver takes the largest step of a list with which positions are right to 1e-6 at ten times (beside DOP853, 1e-13);
what is timed is the whole public call, warm, the shortest of many. Figures are ratios within one run on one machine.
"""

from __future__ import annotations

import platform
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

import holdfast as hf
from benchmarks import formulas, mechanisms
from benchmarks.chains import chain
from benchmarks.pages import keep_head, keep_records, keep_section

ERROR = 1e-6
WARMING = 1.0  # seconds of calls before any is timed
BY_FORMULAS = ("four-bar", "chain-10")  # JAX takes minutes to compile longer chains
TENTHS = 10  # times at which positions are compared
COUNTS = [*range(20, 401, 10), 500, 600, 800, 1000, 2000, 4000, 8000]  # of steps, without gaps where runs are short
BARS = ((1.0, 1.0), (3.0, 2.0), (2.5, 1.5))  # length and mass of the four-bar's bars; the ground is 3 long
GROUND, GRAVITY = 3.0, 9.81
BELOW = 0.05 * np.pi  # the horizontal: where chains begin


@dataclass(frozen=True)
class Timed:
    """How one solver did: its step or tolerance, error, and milliseconds for one simulated second."""

    by: str
    size: float
    error: float
    milliseconds: float


def shortest(call: Callable[[], Any], seconds: float = 0.4) -> float:
    """The least time of a call, warm: what a call asks for in the background is there after a while."""
    until = perf_counter() + WARMING
    while perf_counter() < until:
        call()
    for thread in threading.enumerate():
        if thread.name == "holdfast-optimise":
            thread.join()
    best, until = np.inf, perf_counter() + seconds
    while perf_counter() < until:
        began = perf_counter()
        call()
        best = min(best, perf_counter() - began)
    return float(best)


def four_bar() -> tuple[str, list[float]]:
    """Three bars on hinges whose last end is held by a fourth, as MuJoCo is told it too; and the bars' angles at the
    start.
    """
    (first, _), (second, _), (third, _) = BARS
    tip = np.array([0.0, first])
    away = np.array([GROUND, 0.0]) - tip
    distance = float(np.hypot(*away))
    bend = np.arccos((second**2 + distance**2 - third**2) / (2 * second * distance))
    coupler = float(np.arctan2(away[1], away[0]) + bend)
    joint = tip + second * np.array([np.cos(coupler), np.sin(coupler)])
    angles = [float(np.pi / 2), coupler, float(np.arctan2(-joint[1], GROUND - joint[0]))]
    bodies = [
        f"[bodies.bar{k}]\nmass = {mass}\ninertia = {mass * length**2 / 12!r}\ncenter = [{length / 2}, 0]\n"
        f"points = {{ end{k} = [{length}, 0] }}"
        for k, (length, mass) in enumerate(BARS, start=1)
    ]
    ends = (("ground", "bar1"), ("end1", "bar2"), ("end2", "bar3"), ("post", "end3"))
    joints = [
        f'[joints.hinge{k}]\nkind = "revolute"\nbetween = ["{one}", "{other}"]'
        for k, (one, other) in enumerate(ends, start=1)
    ]
    turns = [f"hinge{k} = {turn!r}" for k, turn in enumerate(np.diff(angles, prepend=0.0).tolist(), start=1)]
    text = f"""schema = 1
[system]
gravity = [0, {-GRAVITY}]
{chr(10).join(bodies)}
[points]
post = [{GROUND}, 0]
{chr(10).join(joints)}
[program.law]
kind = "critically-damped"
rate = 20
[start]
{chr(10).join(turns)}
[run]
start_policy = "project"
scheme = "rk4"
step = 0.01
duration = 1
"""
    return text, angles


def tenths(run: hf.Trajectory, names: tuple[str, ...]) -> np.ndarray:
    """Some coordinates at every tenth of the second, by the run's own interpolant."""
    places = [run.state_names.index(name) for name in names]
    return np.array([run.sol(k / TENTHS)[places] for k in range(1, TENTHS + 1)])


def by_holdfast(equations: hf.Equations, pick: tuple[str, ...], exact: np.ndarray) -> list[Timed]:
    found = []
    for name, key, sizes in (
        ("RK4", "step", [1 / k for k in COUNTS]),
        ("DOP853", "tolerance", [10.0**-k for k in range(4, 12)]),
    ):
        scheme, more = getattr(hf, name), {"longest_step": 1.0} if name == "DOP853" else {}
        for size in sizes:
            call = partial(hf.simulate, equations, scheme, duration=1, **{key: size}, **more)
            run = call()
            if run.times[-1] < 1 - 1e-9:
                continue  # steps so long that it broke off
            error = float(np.abs(tenths(run, pick) - exact).max())
            if error <= ERROR:
                found.append(Timed(f"Holdfast {name}", size, error, 1e3 * shortest(call)))
                break
    return found


def by_mujoco(xml: Callable[[float], str], pick: Callable[[Any], np.ndarray], exact: np.ndarray) -> Timed | None:
    import mujoco

    for count in COUNTS:
        model = mujoco.MjModel.from_xml_string(xml(1 / count))
        data = mujoco.MjData(model)

        def call(model: Any = model, data: Any = data, count: int = count) -> None:
            mujoco.mj_resetData(model, data)
            mujoco.mj_step(model, data, count)

        mujoco.mj_resetData(model, data)
        seen = []
        for _ in range(TENTHS):
            mujoco.mj_step(model, data, count // TENTHS)
            seen.append(pick(data))
        error = float(np.abs(np.array(seen) - exact).max())
        if error <= ERROR:
            return Timed("MuJoCo RK4", 1 / count, error, 1e3 * shortest(call))
    return None


HEAD = (
    '<mujoco><compiler angle="radian"/><option timestep="{step}" integrator="RK4" gravity="0 0 -9.81" '
    'tolerance="1e-14" iterations="50"><flag contact="disable"/></option><size memory="200M"/><worldbody>'
)


def chain_xml(links: int) -> Callable[[float], str]:
    """Points on massless rods by hinges, nearly horizontal; the least inertia that is taken."""

    def xml(step: float) -> str:
        body, tail = "", ""
        for k in range(links):
            turn = f'euler="0 {BELOW!r} 0"' if k == 0 else ""
            body += f'<body pos="{int(k > 0) / links} 0 0" {turn}><joint type="hinge" axis="0 1 0"/>'
            body += f'<inertial pos="{1 / links} 0 0" mass="{1 / links}" diaginertia="1e-12 1e-12 1e-12"/>'
            tail += "</body>"
        return HEAD.format(step=step) + body + tail + "</worldbody></mujoco>"

    return xml


def four_bar_xml(angles: list[float]) -> Callable[[float], str]:
    def bar(k: int, inner: str) -> str:
        length, mass = BARS[k]
        inertia = mass * length**2 / 12
        place = BARS[k - 1][0] if k else 0.0
        turn = angles[k] - (angles[k - 1] if k else 0.0)
        return (
            f'<body pos="{place} 0 0" euler="0 {-turn!r} 0"><joint type="hinge" axis="0 -1 0"/>'
            f'<inertial pos="{length / 2} 0 0" mass="{mass}" diaginertia="1e-4 {inertia!r} {inertia!r}"/>{inner}</body>'
        )

    def xml(step: float) -> str:
        last = f'<site name="tip" pos="{BARS[2][0]} 0 0"/>'
        soft = max(2 * step, 0.002)
        return (
            HEAD.format(step=step)
            + f'<site name="ground" pos="{GROUND} 0 0"/>{bar(0, bar(1, bar(2, last)))}</worldbody><equality>'
            + f'<connect site1="tip" site2="ground" solref="{soft} 1" solimp="0.99999 0.99999 0.001"/></equality>'
            + "</mujoco>"
        )

    return xml


def chain_text(name: str) -> str:
    links = int(name.split("-")[1])
    return chain(links, length=1 / links, mass=1 / links, below=BELOW)


def measured(name: str) -> list[Timed]:
    if name == "four-bar":
        text, angles = four_bar()
        pick = ("hinge1",)
        theirs = lambda data: data.qpos[:1] + angles[0]  # noqa: E731
        xml = four_bar_xml(angles)
    else:
        links = int(name.split("-")[1])
        text = chain_text(name)
        pick = (f"x{links}", f"y{links}")

        def theirs(data: Any) -> np.ndarray:
            turned = np.cumsum(data.qpos) + BELOW
            return np.array([np.cos(turned).sum(), -np.sin(turned).sum()]) / links

        xml = chain_xml(links)
    equations = hf.derive(hf.loads(text))
    run = hf.simulate(equations, hf.DOP853, tolerance=1e-13, duration=1)
    exact, places = tenths(run, pick), [run.state_names.index(one) for one in pick]
    found, start = by_holdfast(equations, pick, exact), run.start.state
    right = lambda states: float(np.abs(states[:, places] - exact).max())  # noqa: E731
    found += _installed("MuJoCo", lambda: by_mujoco(xml, theirs, exact))
    if name in BY_FORMULAS:
        found += _installed("JAX", lambda: _timed("JAX RK4", formulas.by_jax(equations, start, COUNTS, right, TENTHS)))
        found += _installed("heyoka", lambda: _timed("heyoka", formulas.by_heyoka(equations, start, right, TENTHS)))
    return found


def _timed(by: str, found: tuple[float, float, Callable[[], Any]] | None) -> Timed | None:
    return None if found is None else Timed(by, found[0], found[1], 1e3 * shortest(found[2]))


def _installed(name: str, measure: Callable[[], Timed | None]) -> list[Timed]:
    """One row, or none where a rival is not installed or was never right."""
    try:
        found = measure()
    except ImportError:
        print(f"{name} is not installed: make rivals installs it where there is a wheel", file=sys.stderr)
        return []
    return [] if found is None else [found]


def ensemble_table() -> list[str]:
    """Many cases of the same mechanisms at once."""
    lines = ["", f"{formulas.CASES} cases at once, RK4, nanoseconds a case and step:", ""]
    names: list[str] = []
    for name in BY_FORMULAS:
        text = four_bar()[0] if name == "four-bar" else chain_text(name)
        equations = hf.derive(hf.loads(text))
        start = hf.simulate(equations, hf.RK4, step=1e-3, duration=1e-3).start.state
        found = formulas.ensembles(equations, start, shortest)
        if not names:
            names = list(found)
            lines += ["| problem | " + " | ".join(names) + " |", "|---" * (1 + len(names)) + "|"]
        lines.append(f"| {name} | " + " | ".join(f"{found[one]:.3g}" for one in names) + " |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    names = sys.argv[1:] or ["four-bar", "chain-10", "chain-50", "chain-200"]
    lines = ["| problem | by | step or tolerance | error | ms | times MuJoCo |", "|---|---|---|---|---|---|"]
    records = []
    for name in names:
        rows = measured(name)
        rival = next((row.milliseconds for row in rows if row.by.startswith("MuJoCo")), None)
        for row in rows:
            ratio = f"{rival / row.milliseconds:.3g}" if rival is not None else ""
            lines.append(f"| {name} | {row.by} | {row.size:.3g} | {row.error:.1e} | {row.milliseconds:.3g} | {ratio} |")
            print(lines[-1], flush=True)
            records.append({"problem": name, **vars(row)})
    now = datetime.now(UTC)
    head = (
        "# Benchmarks\n\nWritten by `make rivals`; the ratios are of one run on one machine.\n\n"
        f"One simulated second to an error of {ERROR:g} in positions at ten times, whole public calls, warm "
        f"({now:%Y-%m-%d}, {platform.machine()}). JAX and heyoka run Holdfast's own formulas, compiled by them.\n\n"
    )
    lines += ensemble_table()
    keep_head(head + "\n".join(lines))
    keep_section(mechanisms.TITLE, "\n".join(mechanisms.table()))
    keep_records("rivals", records=records)


if __name__ == "__main__":
    main()
