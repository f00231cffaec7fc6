"""Ensembles on a graphics card: steps a second beside JAX on the same card, and agreement with the processor.

    python -m benchmarks.gpu [FILE]         measures, on a machine with a card, and writes a file
    python -m benchmarks.gpu page FILE      writes the section of docs/benchmarks.md from such a file, anywhere

Needs an NVIDIA card and holdfast[cuda]; JAX's column is there where JAX is. Figures are of one run on one machine.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import holdfast as hf
from benchmarks.chains import chain
from benchmarks.pages import keep_section
from holdfast.engine.cuda.device import card
from holdfast.engine.cuda.ensemble import AdaptivePlan, CardRun
from holdfast.engine.kernel import compiled
from holdfast.engine.run.fixed import Steps
from holdfast.equations.values import parameter_vector

TITLE = "## Graphics cards"
STEP, STEPS = 1e-3, 1000
CASES = 2**20
JAX_CASES, JAX_STEPS = 2**17, 200


def starts(equations: hf.Equations, links: int, cases: int) -> np.ndarray:
    """Chains that hang at random angles, at rest."""
    angles = np.random.default_rng(7).uniform(-1.0, 1.0, (cases, links))
    places = np.stack([np.cumsum(np.sin(angles), axis=1), -np.cumsum(np.cos(angles), axis=1)], axis=2)
    return np.hstack([places.reshape(cases, -1), np.zeros((cases, 2 * links))])


def on_card(links: int, precision: str) -> dict[str, Any]:
    equations = hf.derive(hf.loads(chain(links)))
    kernel = compiled(equations.field, hf.RK4)
    states = starts(equations, links, CASES)
    constants = np.tile(parameter_vector(equations, {}), (CASES, 1))
    run = CardRun(kernel.assembly, hf.RK4, constants, precision)
    began = time.perf_counter()
    _ = run.function
    compiling = time.perf_counter() - began
    best, drift = np.inf, 0.0
    for _ in range(3):
        found = run.run(states, constants, Steps(0.0, STEP, STEPS, STEPS))
        best = min(best, float(found.seconds[0]))
    x = found.final.reshape(CASES, 2, links, 2)[:, 0]
    rods = np.diff(np.concatenate([np.zeros((CASES, 1, 2)), x], axis=1), axis=1)
    drift = float(np.abs((rods**2).sum(axis=2) - 1).max())
    here = kernel.run(states[5], constants[5], step=STEP, steps=STEPS, every=STEPS)
    return {
        "links": links,
        "precision": precision,
        "steps_a_second": CASES * STEPS / best,
        "compiling": compiling,
        "good": int((found.status == 0).sum()),
        "drift": drift,
        "apart": float(np.abs(here.states[-1] - found.final[5]).max()),
    }


def by_jax(links: int) -> dict[str, Any]:
    import jax
    import jax.numpy as jnp

    equations = hf.derive(hf.loads(chain(links)))
    module = hf.export(equations, to="jax").load()
    states = jnp.asarray(starts(equations, links, JAX_CASES).T)
    values = jnp.asarray(np.tile(module.VALUES, (JAX_CASES, 1)).T)

    def step(number: int, x: Any) -> Any:
        f = module.rhs
        a = f(0.0, x, values)
        b = f(0.0, x + STEP / 2 * a, values)
        c = f(0.0, x + STEP / 2 * b, values)
        d = f(0.0, x + STEP * c, values)
        return x + STEP / 6 * (a + 2 * b + 2 * c + d)

    go = jax.jit(lambda x: jax.lax.fori_loop(0, JAX_STEPS, step, x))
    go(states).block_until_ready()
    best = np.inf
    for _ in range(3):
        began = time.perf_counter()
        go(states).block_until_ready()
        best = min(best, time.perf_counter() - began)
    return {"links": links, "steps_a_second": JAX_CASES * JAX_STEPS / best}


def agreement(name: str) -> dict[str, Any]:
    """Cases of a shipped example on the card and on the processor."""
    equations = hf.derive(hf.load(Path(hf.__file__).parent / "examples" / f"{name}.toml"))
    kernel = compiled(equations.field, hf.RK4)
    run = hf.simulate(equations, hf.RK4, step=1e-3, duration=0.2)
    constants = np.tile(parameter_vector(equations, {}), (64, 1))
    states = np.tile(run.y[:, 0], (64, 1))
    from holdfast.engine.ensemble import run_ensemble

    here = run_ensemble(kernel, states, constants, step=1e-3, steps=200, every=20, observe=False)
    there = CardRun(kernel.assembly, hf.RK4, constants).run(states, constants, Steps(0.0, 1e-3, 200, 20))
    adaptive = compiled(equations.field, hf.DOP853)
    at = np.linspace(0.0, 0.2, 5)
    other = adaptive.run_adaptive(states[0], constants[0], duration=0.2, relative=1e-9, absolute=1e-9, at=at)
    plan = AdaptivePlan(0.0, 0.2, 1e-9, np.full(states.shape, 1e-9), np.inf, at)
    found = CardRun(adaptive.assembly, hf.DOP853, constants).run(states, constants, plan)
    return {
        "example": name,
        "same_bits": bool(np.array_equal(here.states, there.states, equal_nan=True)),
        "apart": float(np.nanmax(np.abs(here.states - there.states))),
        "adaptive_apart": float(np.abs(found.states[0] - other.states).max()),
    }


def reductions(cases: int) -> dict[str, Any]:
    """Ten million cases, of which only numbers come back."""
    equations = hf.derive(hf.loads(chain(2)))
    masses = np.linspace(0.5, 2.0, cases)
    began = time.perf_counter()
    runs = hf.ensemble(
        equations,
        cases={"m": masses},
        step=STEP,
        duration=1,
        at=[0.0, 1.0],
        device="gpu",
        reduce={"pull": "max(abs(lambda_rod1))", "drift": "max(abs(y_rod2))"},
    )
    took = time.perf_counter() - began
    some = np.linspace(0, cases - 1, 5).astype(int)
    here = hf.ensemble(
        equations, cases={"m": masses[some]}, step=STEP, duration=1, reduce={"pull": "max(abs(lambda_rod1))"}
    )
    apart = float(np.abs(runs.reductions["pull"][some] / here.reductions["pull"] - 1).max())
    return {"cases": cases, "seconds": took, "good": int(runs.success.sum()), "apart": apart}


def table(data: dict[str, Any]) -> str:
    """The section of docs/benchmarks.md."""
    rates = {(one["links"], one["precision"]): one["steps_a_second"] for one in data["card_runs"]}
    jax = {one["links"]: one["steps_a_second"] for one in data["jax"]}
    lines = [
        f"Written by `python -m benchmarks.gpu` on an {data['card']}: RK4 steps a second of chains, {CASES} cases of "
        f"{STEPS} steps at once, and {JAX_CASES} cases of the same equations by JAX on the same card (double).", "",
        "| links | double | float | JAX | times JAX | compiling, s | drift, double |", "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for one in data["card_runs"]:
        links = one["links"]
        if one["precision"] == "double":
            theirs = (f"{jax[links]:.3g}", f"{rates[links, 'double'] / jax[links]:.1f}") if links in jax else ("-", "-")
            lines.append(
                f"| {links} | {one['steps_a_second']:.3g} | {rates[links, 'float']:.3g} | {' | '.join(theirs)} | "
                f"{one['compiling']:.2f} | {one['drift']:.1e} |"
            )
    same = sum(one["same_bits"] for one in data["agreement"])
    apart = max(one["adaptive_apart"] for one in data["agreement"])
    most = max(data["reductions"], key=lambda one: one["cases"])
    lines += [
        "",
        f"Rows of {same} of {len(data['agreement'])} examples are the processor's to the last bit; states that DOP853 "
        f"ends in are {apart:.0e} apart at most. {most['cases']} cases with two reductions, judged, of which no row "
        f"leaves the card: {most['seconds']:.0f} s, the whole call.",
    ]
    return "\n".join(lines)


def main() -> None:
    if sys.argv[1:2] == ["page"]:
        keep_section(TITLE, table(json.loads(Path(sys.argv[2]).read_text("utf-8"))))
        return
    print(card().name, file=sys.stderr)
    data: dict[str, Any] = {"card": card().name, "agreement": [], "card_runs": [], "jax": []}

    def note(where: str, record: Any) -> None:
        print(where, json.dumps(record), flush=True)
        data[where].append(record)

    for name in ("pendulum", "four_bar", "cart_rod", "measured_path", "quadrotor", "bertrand"):
        note("agreement", agreement(name))
    for links in (2, 5, 10):
        for precision in ("double", "float"):
            note("card_runs", on_card(links, precision))
    for cases in (2**18, 10_000_000):
        data.setdefault("reductions", [])
        note("reductions", reductions(cases))
    for links in (2, 5, 10):
        try:
            note("jax", by_jax(links))
        except ImportError:
            print("JAX is not installed", file=sys.stderr)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
