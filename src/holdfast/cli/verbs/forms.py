"""``holdfast forms``: the same motion by Hamilton, Maggi, Appell and Routh."""

from __future__ import annotations

from typing import Any

import click

import holdfast as hf
from holdfast.cli.options import FILE, JSON, LATEX
from holdfast.cli.shared import derived, print_json, problem_in, reports_errors
from holdfast.cli.text import say
from holdfast.cli.watch import limited

FORMS = {"hamilton": "canonical", "maggi": "maggi", "appell": "appell", "routh": "routh"}  # and who writes each


@click.command()
@FILE
@click.option("--form", "forms", type=click.Choice(list(FORMS)), multiple=True, help="Only this form; may be repeated.")
@LATEX
@JSON
@reports_errors
def forms(file: str, forms: tuple[str, ...], as_latex: bool, as_json: bool) -> None:
    """The equations of FILE in other forms: Hamilton's, Maggi's, Appell's and Routh's, each where there is one."""
    equations = derived(problem_in(file))
    found: dict[str, Any] = {}
    for name in forms or FORMS:
        with limited(f"writing {name.title()}'s form"):
            try:
                found[name] = _written(getattr(hf, FORMS[name])(equations), as_latex, as_json)
            except hf.HoldfastError as reason:
                if len(forms) == 1:
                    raise
                found[name] = None if as_json else f"none: {reason.what}\n"
    if as_json:
        print_json({"schema": 1, "title": equations.problem.title, **{name: found.get(name) for name in FORMS}})
        return
    for name, shown in found.items():
        if len(found) > 1:
            say(f"── {name.title()} " + "─" * (70 - len(name)))
        say(shown)


def _written(form: Any, as_latex: bool, as_json: bool) -> Any:
    if not as_json:
        return form.latex() if as_latex else form.summary()
    return _hamiltonian(form) if isinstance(form, hf.Canonical) else form.to_dict()


def _hamiltonian(form: hf.Canonical) -> dict[str, Any]:
    """The canonical form as plain data, formulas as text."""
    listed = {"momenta": form.momenta, "coordinate_rates": form.coordinate_rates, "momentum_rates": form.momentum_rates}
    texts = {name: {key: str(value) for key, value in table.items()} for name, table in listed.items()}
    return {"hamiltonian": str(form.hamiltonian), **texts}
