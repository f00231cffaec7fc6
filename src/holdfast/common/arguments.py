"""Calls that do not fit their signature, told in the house's words: values by name, near misses, what is missing.

A beginner who writes ``hf.SpringDamper(25, 10)`` should learn the names of the two numbers, not that an ``__init__``
takes one positional argument.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from holdfast.common.nearest import did_you_mean
from holdfast.errors import BadRequest, BadStatement, HoldfastError

Made = TypeVar("Made", bound=Callable[..., Any])
BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def with_options(options: type) -> Callable[[Made], Made]:
    """`clear_arguments` for a verb that takes ``**run: Unpack[options]``: its signature shows every option by name."""

    def decorated(made: Made) -> Made:
        signature = inspect.signature(made)
        plain = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        kind = inspect.Parameter.KEYWORD_ONLY
        further = [inspect.Parameter(n, kind, default=None, annotation=a) for n, a in _annotations(options).items()]
        made.__signature__ = signature.replace(parameters=[*plain, *further])  # type: ignore[attr-defined]
        return clear_arguments(made)

    return decorated


def _annotations(options: type) -> dict[str, Any]:
    """The names of a TypedDict, those of its parents first."""
    return {name: getattr(a, "__forward_arg__", a) for name, a in options.__annotations__.items()}


def clear_arguments(made: Made) -> Made:
    """The class or function itself; a call that does not fit it raises an error that shows how it is written."""
    target: Callable[..., Any] = made.__init__ if isinstance(made, type) else made  # type: ignore[misc]
    known = set(inspect.signature(target).parameters) if hasattr(target, "__signature__") else None

    @wraps(target)
    def guarded(*given: Any, **named: Any) -> Any:
        if known is not None and not known.issuperset(named):
            misfit = _misfit(made, target, given, named)
            assert misfit is not None
            raise misfit
        told = named.get("progress")
        if told is not None and not callable(told):
            what = f"progress = {told!r} is nothing that can be called"
            raise BadRequest(what, where=f"hf.{made.__name__}", fix="give a function of the fraction that is done")
        try:
            return target(*given, **named)
        except TypeError:
            misfit = _misfit(made, target, given, named)
            if misfit is None:
                raise
            raise misfit from None

    if isinstance(made, type):
        made.__init__ = guarded  # type: ignore[misc]
        return made
    return guarded  # type: ignore[return-value]


def _misfit(
    made: Callable[..., Any], target: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]
) -> HoldfastError | None:
    """What is wrong with the arguments of a call; nothing if they fit, and the error came from within."""
    signature = inspect.signature(target)
    try:
        signature.bind(*given, **named)
        return None
    except TypeError:
        pass
    parameters = {name: p for name, p in signature.parameters.items() if name != "self"}
    name, kind = made.__name__, BadStatement if isinstance(made, type) else BadRequest
    called = f"hf.{name}({_written(parameters)})"
    unknown = [key for key in named if key not in parameters]
    if unknown:
        hint = did_you_mean(unknown[0], parameters, f"it takes {', '.join(parameters)}")
        return kind(f"{name} has no {unknown[0]!r}", where=f"hf.{name}", fix=hint)
    places = [p for p in parameters.values() if p.kind in BY_POSITION]
    count = len(given) - isinstance(made, type)
    if count > len(places):
        taken = f"at most {len(places)} without a name, not {count}" if places else "its values by name"
        return kind(f"{name} takes {taken}", where=f"hf.{name}", fix=f"write {called}")
    twice = [p.name for p in places[:count] if p.name in named]
    if twice:
        return kind(f"{name} is given {twice[0]!r} twice", where=f"hf.{name}", fix="keep one of the two")
    missing = [p.name for p in parameters.values() if p.default is p.empty and p.name not in named]
    missing = [key for key in missing if key not in [p.name for p in places[:count]]]
    return kind(f"{name} needs {' and '.join(map(repr, missing))}", where=f"hf.{name}", fix=f"write {called}")


def _written(parameters: dict[str, inspect.Parameter]) -> str:
    """The arguments as one writes them: the first few by name, ``...`` for the rest."""
    texts = [p.name if p.kind in BY_POSITION and p.default is p.empty else f"{p.name}=..." for p in parameters.values()]
    return ", ".join(texts[:4]) + (", ..." if len(texts) > 4 else "")
