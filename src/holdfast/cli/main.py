"""The same verbs, typed: ``holdfast check``, ``derive``, ``simulate``, ``ensemble``, ``examples``.

Results go to standard output, progress and errors to standard error. Exit codes: 0 good, 1 a negative verdict, 2
misuse, a bad file or output that cannot be written, 70 a fault of Holdfast itself (with a file to send), 130
interrupted. There is no traceback without ``--debug``.
"""

from __future__ import annotations

import click

import holdfast as hf
from holdfast.cli.options import QUIETLY
from holdfast.cli.text import Typed
from holdfast.cli.verbs.certify import certify
from holdfast.cli.verbs.check import check
from holdfast.cli.verbs.conditions import conditions
from holdfast.cli.verbs.derive import derive
from holdfast.cli.verbs.ensemble import ensemble
from holdfast.cli.verbs.examples import examples
from holdfast.cli.verbs.exchange.export import export
from holdfast.cli.verbs.exchange.imported import import_
from holdfast.cli.verbs.family import family
from holdfast.cli.verbs.forms import forms
from holdfast.cli.verbs.lagrangian import lagrangian
from holdfast.cli.verbs.lyapunov import lyapunov
from holdfast.cli.verbs.parameters.equilibria import equilibria
from holdfast.cli.verbs.parameters.fit import fit
from holdfast.cli.verbs.parameters.sensitivities import sensitivities
from holdfast.cli.verbs.report import report
from holdfast.cli.verbs.run import run
from holdfast.cli.verbs.sample import sample
from holdfast.cli.verbs.simulate import simulate
from holdfast.cli.verbs.tune import tune
from holdfast.cli.verbs.verify import verify
from holdfast.cli.watch import WATCH


@click.group(
    cls=Typed,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""
    holdfast examples                        list the shipped problem files
    holdfast examples cart_rod               copy one out as cart_rod.toml
    holdfast run cart_rod.toml               everything at once, on one page: cart_rod.html
    holdfast check cart_rod.toml             is it well stated, and where does it start?
    holdfast derive cart_rod.toml            its equations of motion and control forces
    holdfast simulate cart_rod.toml          run it, and say how it went
    holdfast simulate cart_rod.toml -o run.nc
    holdfast fit motor.toml data.csv --parameters R,K
    holdfast tune pendulum.toml -o map.png   which gains, for its scheme and step?
    holdfast certify cart_rod.toml -o c.json how far can it drift, and is that proved?
    holdfast verify c.json                   re-check the proof
    holdfast export cart_rod.toml --to c     its equations as C99; also fmu, numpy, casadi, modelica, ...
    holdfast import robot.urdf               a mechanism of URDF or MJCF as a problem file
    holdfast lyapunov adaptive_optics.toml   does its V fall, and what do the step theorems say?
    """,
)
@click.version_option(hf.__version__, prog_name="holdfast")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.option(
    "--limit",
    type=click.FloatRange(min=0, min_open=True, max=1e6),
    help="Seconds of computing for reading, deriving and writing formulas; default 10.",
)
@click.pass_context
def main(ctx: click.Context, debug: bool, limit: float | None) -> None:
    """Programs in; equations, forces and runs out.

    A problem file states a system by its energies and a program: what the motion must keep.
    """
    ctx.obj = {"debug": debug}
    if limit is not None:
        WATCH.seconds = limit
        ctx.with_resource(hf.limits(seconds=limit))


for verb in (
    run,
    report,
    simulate,
    ensemble,
    sample,
    sensitivities,
    fit,
    equilibria,
    certify,
    tune,
    verify,
    lyapunov,
    lagrangian,
    family,
    check,
    derive,
    forms,
    conditions,
    export,
    import_,
    examples,
):
    if not any(option.name == "quiet" for option in verb.params):
        verb.params.append(QUIETLY)
    main.add_command(verb)
