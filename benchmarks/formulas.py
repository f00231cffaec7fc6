"""The same formulas by JAX and by heyoka: what is left of the lead when only the code differs, not the modelling.

JAX gets the module that `hf.export(equations, "jax")` writes, compiled as a whole, steps and loop (RK4, doubles);
heyoka gets the graph of the rates as expressions of its own, and runs by Taylor series. Neither has to model anything:
bodies, constraints and elimination are Holdfast's. Compiling is not timed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import add, mul, neg, sub, truediv
from types import SimpleNamespace
from typing import Any

import numpy as np

import holdfast as hf
from holdfast.graph.nodes import ancestors

CASES, STEPS, FEW, STEP = (
    1024,
    100,
    10,
    1e-3,
)  # of an ensemble: bursts of milliseconds, whose minima survive a shared machine
Run = Callable[[], np.ndarray]  # the states at ten times


def jax_module(equations: hf.Equations) -> Any:
    """What `hf.export` writes, imported."""
    written: dict[str, Any] = {}
    exec(hf.export(equations, "jax").text, written)
    return SimpleNamespace(**written)


def jax_loop(equations: hf.Equations) -> Callable[[Any, float, int], Any]:
    """So many steps of a length from a state, compiled."""
    import jax

    module = jax_module(equations)

    @jax.jit
    def run(x: Any, h: float, count: int) -> Any:
        return jax.lax.fori_loop(0, count, lambda k, y: module.step(k * h, h, y), x)

    return run


def by_jax(
    equations: hf.Equations,
    start: Sequence[float],
    counts: Sequence[int],
    right: Callable[[np.ndarray], float],
    tenths: int,
) -> tuple[float, float, Callable[[], Any]] | None:
    """The longest step that is right, its error, and the whole run as a call."""
    run, x0 = jax_loop(equations), np.array(start)
    for count in counts:
        x, seen = x0, []
        for _ in range(tenths):
            x = run(x, 1 / count, count // tenths)
            seen.append(np.asarray(x))
        error = right(np.array(seen))
        if np.isfinite(error) and error <= 1e-6:
            return 1 / count, error, lambda count=count: run(x0, 1 / count, count).block_until_ready()
    return None


def by_heyoka(
    equations: hf.Equations, start: Sequence[float], right: Callable[[np.ndarray], float], tenths: int
) -> tuple[float, float, Callable[[], Any]] | None:
    """The largest tolerance that is right, its error, and the whole run as a call."""
    import heyoka

    system = heyoka_system(equations)
    for tolerance in (1e-4, 1e-6, 1e-8, 1e-10, 1e-12):
        taylor = heyoka.taylor_adaptive(system, list(start), tol=tolerance, compact_mode=len(system) > 12)
        grid = np.linspace(0.0, 1.0, tenths + 1)
        error = right(np.asarray(taylor.propagate_grid(grid)[-1])[1:])
        if error <= 1e-6:
            return tolerance, error, partial(_propagated, taylor, np.array(start))
    return None


def _propagated(taylor: Any, start: np.ndarray) -> None:
    taylor.time = 0.0
    taylor.state[:] = start
    taylor.propagate_until(1.0)


def heyoka_system(equations: hf.Equations) -> list[tuple[Any, Any]]:
    """The rates as heyoka's expressions, a shared one for each node of the graph; parameters are numbers."""
    import heyoka

    field, plain = equations.field, {"add": add, "sub": sub, "mul": mul, "div": truediv, "neg": neg}
    variables = heyoka.make_vars(*(f"x{k}" for k in range(len(field.state))))
    made = dict(zip((node.index for node in field.state), variables, strict=True))
    made[field.time.index] = heyoka.time
    values = [equations.parameter_values[name] for name in equations.parameter_names]
    made |= {node.index: heyoka.expression(float(value)) for node, value in zip(field.parameters, values, strict=True)}
    for node in ancestors(field.rates):
        if node.index in made:
            continue
        arguments = [made[argument.index] for argument in node.args]
        if node.op == "const":
            made[node.index] = heyoka.expression(float(node.data))
        elif node.op == "power":
            made[node.index] = arguments[0] ** float(node.data)
        else:
            made[node.index] = plain.get(node.op, getattr(heyoka, node.op, None))(*arguments)
    return list(zip(variables, (made[node.index] for node in field.rates), strict=True))


def own_ensembles(equations: hf.Equations, start: Sequence[float], shortest: Callable[..., float]) -> dict[str, float]:
    """Nanoseconds a case and step of RK4, of many cases at once: one thread in one lane and in all, all threads."""
    from holdfast.engine.ensemble import run_ensemble
    from holdfast.engine.kernel import compiled

    states, values = _cases(equations, start)
    kernel = compiled(equations.field, hf.RK4, tier="optimised")

    def ours(cases: int, **how: int) -> float:
        options = {"step": STEP, "steps": STEPS, "every": STEPS, "observe": False, **how}
        return 1e9 * shortest(partial(run_ensemble, kernel, states[:cases], values, **options)) / cases / STEPS

    return {
        "one lane, one thread": ours(CASES // 8, lanes=1, threads=1),
        "all lanes, one thread": ours(CASES, threads=1),
        "all lanes, all threads": ours(CASES),
    }


def ensembles(equations: hf.Equations, start: Sequence[float], shortest: Callable[..., float]) -> dict[str, float]:
    """The same, and by JAX where it is installed."""
    found = own_ensembles(equations, start, shortest)
    try:
        import jax
    except ImportError:
        return found
    one = jax_loop(equations)
    many = jax.jit(jax.vmap(lambda x: one(x, STEP, FEW)))
    device = jax.device_put(_cases(equations, start)[0])
    seconds = shortest(lambda: many(device).block_until_ready(), 3.0)
    return {**found, "JAX vmap, all threads": 1e9 * seconds / CASES / FEW}


def _cases(equations: hf.Equations, start: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Starts that differ a little, and the values of parameters."""
    states = np.repeat(np.array(start)[None], CASES, axis=0)
    states[:, -1] += np.linspace(0, 1e-3, CASES)
    return states, np.array([equations.parameter_values[name] for name in equations.parameter_names])
