"""What is felt of the speed: a call beside its steps, calls with other parameters, lanes, and cases on a cluster.

    python -m benchmarks.felt              all of it; writes results/felt-... and the table
    python -m benchmarks.felt lanes avx2   one measurement, in a process of its own

A call of `simulate` takes a + b·steps: b is the native time of a step, with its row, a what the call costs beside it.
Lanes are measured once as the processor is, and once as if it had no AVX-512; nothing that was kept is used there.
Figures are ratios within one run on one machine.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter, process_time
from typing import Any

import numpy as np

import holdfast as hf
from benchmarks import formulas
from benchmarks.apart import apart
from benchmarks.chains import chain
from benchmarks.pages import keep_records, keep_section
from benchmarks.rivals import chain_text, four_bar, shortest
from holdfast.engine.code import native

TITLE = "## As it is felt"
STEP, FEW, MANY = 1e-3, 100, 2000  # steps, from which a call is told from its steps
CALLS, STEPS = 200, 1000  # of a fit: each call with another mass
LOOKS, TURNS = 400, 8  # of which the least counts: others may run beside
CASES, LINKS, WORKERS = 100_000, (5, 10), 4  # of the cluster
BEGUN = 0.1  # of its cases are done when a worker is killed


def problems() -> dict[str, str]:
    """The four-bar and the chain of other benchmarks, the mass of a bar a parameter."""
    stated = four_bar()[0].replace("mass = 1.0\n", 'mass = "m"\n', 1) + "[parameters]\nm = 1.0\n"
    return {"four-bar": stated, "chain-10": chain_text("chain-10")}


def least(call: Callable[[], Any]) -> float:
    """Processor seconds of a warm call, the least of many looks."""
    shortest(call, 0.0)
    looks = []
    for _ in range(LOOKS):
        began = process_time()
        call()
        looks.append(process_time() - began)
    return min(looks)


def call_times(name: str) -> dict[str, Any]:
    """Microseconds: a call beside its steps, a step, and a call of a fit as a part of its steps."""
    equations = hf.derive(hf.loads(problems()[name]))

    def run(steps: int, **other: Any) -> Any:
        return hf.simulate(equations, hf.RK4, step=STEP, duration=steps * STEP, **other)

    few, many = least(partial(run, FEW)), least(partial(run, MANY))
    step = (many - few) / (MANY - FEW)
    masses = iter(np.linspace(1, 1.1, (TURNS + 1) * CALLS))

    def fit() -> None:
        for _ in range(CALLS):
            run(STEPS, parameters={"m": next(masses)})

    fit()
    fits = []
    for _ in range(TURNS):
        began = process_time()
        fit()
        fits.append((process_time() - began) / CALLS)
    return {"problem": name, "beside": 1e6 * (few - FEW * step), "step": 1e6 * step, "fit": min(fits) / (STEPS * step)}


def lane_times(instructions: str) -> list[dict[str, Any]]:
    """Nanoseconds a case and step of whole ensembles on one thread, in one lane and in all."""
    os.environ["HOLDFAST_CACHE"] = ""  # kept code is told by the processor as it is
    if instructions == "avx2":
        found = native.features()
        for name in found:
            if name.startswith("avx512"):
                found[name] = False
    if instructions == "avx512" and not native.features().get("avx512f"):
        return []
    lines = []
    for name, text in problems().items():
        equations = hf.derive(hf.loads(text))
        start = hf.simulate(equations, hf.RK4, step=STEP, duration=STEP).start.state
        one, many, _ = formulas.own_ensembles(equations, start, least).values()
        lines.append({"problem": name, "instructions": instructions, "one": one, "many": many})
    return lines


def cluster_times(links: int) -> dict[str, Any]:
    """Seconds for many cases by one thread and by all, by a warm cluster, and by one of which a worker is killed."""
    from distributed import Client, LocalCluster

    equations = hf.derive(hf.loads(chain(links)))
    cases = {"m": np.linspace(1.0, 2.0, CASES)}

    def ran(**how: Any) -> tuple[float, hf.Ensemble]:
        began = perf_counter()
        runs = hf.ensemble(equations, hf.RK4, step=STEP, duration=1.0, every=STEPS, cases=cases, **how)
        return perf_counter() - began, runs

    ran(threads=1)
    alone, here = min((ran(threads=1) for _ in range(2)), key=lambda found: found[0])
    threads = min(ran()[0] for _ in range(2))
    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with LocalCluster(n_workers=WORKERS, **options) as local, Client(local) as client:
        ran(on=client)
        together, there = min((ran(on=client) for _ in range(2)), key=lambda found: found[0])
        killed: list[int] = []

        def kill(done: float) -> None:
            if not killed and done > BEGUN:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        lost, again = ran(on=client, progress=kill)
    same = all(_same(here, other) for other in (there, again))
    if not same or not killed:
        raise RuntimeError("a cluster and one process have other rows, or no worker was killed")
    return {"links": links, "alone": alone, "threads": threads, "together": together, "lost": lost}


def _same(one: hf.Ensemble, other: hf.Ensemble) -> bool:
    return one.states.tobytes() == other.states.tobytes() and one.outcomes == other.outcomes


def table(calls: list[dict[str, Any]], lanes: list[dict[str, Any]], clusters: list[dict[str, Any]]) -> str:
    """The section of docs/benchmarks.md."""

    def lines() -> Iterator[str]:
        yield (
            "Written by `python -m benchmarks.felt`. A warm call of `simulate` beside its RK4 steps, every row kept, "
            f"and {CALLS} calls of {STEPS} steps, each with another mass, as a fit makes them:"
        )
        yield "\n| problem | us beside the steps | us a step | a call of a fit, as a part of its steps |"
        yield "|---|---|---|---|"
        for one in calls:
            yield f"| {one['problem']} | {one['beside']:.1f} | {one['step']:.3g} | {one['fit']:.2f} |"
        yield f"\n{formulas.CASES} cases on one thread, nanoseconds a case and step of RK4, whole calls:"
        yield "\n| problem | instructions | one lane | all lanes | times |"
        yield "|---|---|---|---|---|"
        for one in lanes:
            ratio = one["one"] / one["many"]
            yield (f"| {one['problem']} | {one['instructions']} | {one['one']:.0f} | {one['many']:.1f} | {ratio:.2f} |")
        yield (
            f"\n{CASES} cases, {STEPS} steps of RK4, judged, on {os.cpu_count()} cores: seconds by one thread, by all, "
            f"by {WORKERS} warm local workers of a cluster, and where one of these is killed on the way; the same bits:"
        )
        yield "\n| links | one thread | all threads | cluster | times | a worker killed |"
        yield "|---|---|---|---|---|---|"
        for one in clusters:
            times = [f"{one[name]:.2f}" for name in ("alone", "threads", "together")]
            ratio = one["alone"] / one["together"]
            yield f"| {one['links']} | {' | '.join(times)} | {ratio:.2f} | {one['lost']:.2f} |"

    return "\n".join(lines())


def main() -> None:
    """Measure everything, or what is named."""
    if len(sys.argv) > 2:
        print(json.dumps({"calls": call_times, "lanes": lane_times}[sys.argv[1]](sys.argv[2])))
        return
    calls = [apart("benchmarks.felt", "calls", name) for name in problems()]
    lanes = [line for instructions in ("avx2", "avx512") for line in apart("benchmarks.felt", "lanes", instructions)]
    clusters = [cluster_times(links) for links in LINKS]
    print(json.dumps(clusters), file=sys.stderr)
    keep_records("felt", calls=calls, lanes=lanes, clusters=clusters)
    keep_section(TITLE, table(calls, lanes, clusters))


if __name__ == "__main__":
    main()
