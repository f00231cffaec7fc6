"""Lists of names as they are typed: ``m,l,theta(0)``, with numbers where wanted: ``m=1.2,l``."""

from __future__ import annotations

import math

import click

import holdfast as hf


class Names(click.ParamType):  # type: ignore[type-arg]
    """A list of names, or of quantities, with commas between them that no parentheses enclose."""

    name = "names"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return "A,B,..."

    def convert(self, value: str | list[str], param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        if isinstance(value, list):
            return value
        found, depth = [""], 0
        for sign in value:
            depth += (sign in "([") - (sign in ")]")
            if sign == "," and not depth:
                found.append("")
            else:
                found[-1] += sign
        listed = [name.strip() for name in found]
        if not all(listed):
            self.fail(f"{value!r} is no list of names", param, ctx)
        return listed


NAMES = Names()


def numbers(given: list[str], where: str) -> dict[str, float | None]:
    """Names with their numbers, None where a name stands alone."""
    found: dict[str, float | None] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if name.strip() in found:
            raise hf.BadRequest(f"{name.strip()!r} is named twice", where=where, fix="name it once")
        try:
            found[name.strip()] = float(value) if equals else None
        except ValueError:
            found[name.strip()] = math.nan
        number = found[name.strip()]
        if number is not None and not math.isfinite(number):
            raise hf.BadRequest(f"{value.strip()!r} is not a number", where=where, fix=f"e.g. {name.strip()}=1.2")
    return found
