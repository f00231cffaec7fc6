"""A Modelica model: parameters, states with their starts, observables, and the right-hand side as equations."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.engine.emit.body import CodeBody, lowered
from holdfast.engine.emit.tables import tables_of
from holdfast.exchange.model import Model
from holdfast.exchange.names import RESERVED, c_string, comment, distinct
from holdfast.exchange.text.lines import Language
from holdfast.graph.table import TablePart

FORMS = {op: f"{op}({{}})" for op in "sqrt exp log sin cos tan asin acos atan sinh cosh tanh abs".split()}
FORMS |= {"atan2": "atan2({}, {})", "min": "min({}, {})", "max": "max({}, {})", "pow": "({}) ^ ({})"}
FORMS |= {"select": "noEvent(if {} > 0 then {} else {})"}
FORMS |= {"sign": "noEvent(if {0} > 0 then 1 else if {0} < 0 then -1 else 0)"}


def modelica_text(model: Model, version: str) -> str:
    """The text of NAME.mo; not an expression of it is computed twice."""
    body = _body(model)
    names = _names(model)
    own = [*model.states, *model.parameters]

    def inputs(slot: int, _: CodeBody) -> str:
        return "time" if slot == 0 else names[own[slot - 1]]

    language = Language(inputs, FORMS, "  {name} = {value};", local="hf_{}")
    lines = [f"model {model.name} {_text(model.title)}"]
    lines += [f"  // made by Holdfast {comment(version)}", *(f"  // Note: {comment(note)}." for note in model.notes)]
    for name, value in zip(model.parameters, model.values, strict=True):
        lines.append(f"  parameter Real {names[name]} = {value!r}{_called(name, names)};")
    for name, value in zip(model.states, model.start, strict=True):
        lines.append(f"  Real {names[name]}(start = {value!r}, fixed = true){_called(name, names)};")
    lines += [f"  output Real {names[name]}{_called(name, names)};" for name in model.observables]
    lines.append("protected")
    lines += [f"  Real hf_{body.inputs + k};" for k in range(len(body.statements))]
    for name, part in tables_of([body]).items():
        lines += _table(name, part)
    lines += ["equation", *language.lines(body)]
    left = [*(f"der({names[name]})" for name in model.states), *(names[name] for name in model.observables)]
    lines += [f"  {name} = {value};" for name, value in zip(left, language.outputs(body), strict=True)]
    span = f"StartTime = {model.begin!r}" + (f", Interval = {model.step!r}" if model.step else "")
    return "\n".join([*lines, f"  annotation(experiment({span}));", f"end {model.name};", ""])


def _body(model: Model) -> CodeBody:
    """Rates and observables together."""
    field = model.field
    outputs = dict(enumerate((*field.rates, *field.observables)))
    return lowered(outputs, field.time, field.state, field.parameters)


def _names(model: Model) -> dict[str, str]:
    """Identifiers of all variables, none a word of Modelica or one of our own."""
    texts = dict.fromkeys((*model.states, *model.parameters, *model.observables))
    plain = (f"{text}_" if text in RESERVED or text.startswith("hf_") or text in FORMS else text for text in texts)
    named = distinct(plain)
    return dict(
        zip(texts, (f"{n}_v" if n in RESERVED or n in FORMS or n.startswith("hf_") else n for n in named), strict=True)
    )


def _called(name: str, names: dict[str, str]) -> str:
    return "" if names[name] == name else f" {_text(name)}"


def _text(text: str) -> str:
    """A text between quotes; other letters than plain ones by their names would not be read back, so they stay out."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _table(name: str, part: TablePart) -> Iterator[str]:
    rows = ["{" + ", ".join(map(repr, row)) + "}" for row in part.pieces]
    low, high = part.table.reach
    yield f"  function {name} {c_string(part.table.name)}"
    yield "    input Real u;"
    yield "    output Real y;"
    yield "  protected"
    yield f"    constant Real ends[{len(rows)}] = {{{', '.join(map(repr, part.table.ends[: len(rows)]))}}};"
    yield f"    constant Real rows[{len(rows)}, {len(part.pieces[0])}] = {{{', '.join(rows)}}};"
    yield "    Integer i;"
    yield "  algorithm"
    yield f'    assert(u >= {low!r} and u <= {high!r}, "outside the data of a function");'
    yield "    i := 1;"
    yield f"    while i < {len(rows)} and u >= ends[min(i + 1, {len(rows)})] loop"
    yield "      i := i + 1;"
    yield "    end while;"
    yield f"    y := rows[i, {len(part.pieces[0])}];"
    for k in reversed(range(1, len(part.pieces[0]))):
        yield f"    y := y * (u - ends[i]) + rows[i, {k}];"
    yield f"  end {name};"
