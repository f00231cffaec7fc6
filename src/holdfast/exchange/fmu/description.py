"""modelDescription.xml: what an FMU says of itself."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import quoteattr

from holdfast.exchange.fmu.assembly import FmuAssembly

KINDS = {  # of a variable: causality, variability, initial
    "state": ("output", "continuous", "exact"),
    "parameter": ("parameter", "tunable", "exact"),
    "input": ("input", "continuous", ""),
    "derivative": ("local", "continuous", "calculated"),
    "observable": ("output", "continuous", "calculated"),
}


class Variable:
    """One variable: its name, reference, kind, start value, and of a derivative the state it belongs to."""

    def __init__(self, name: str, reference: int, kind: str, start: float | None = None, of: str = "") -> None:
        self.name, self.reference, self.kind, self.start, self.of = name, reference, kind, start, of


def variables(assembly: FmuAssembly) -> list[Variable]:
    """All variables but the time, in the order of the file."""
    model, at = assembly.model, assembly.references()
    found = [Variable(name, at[name], "state", x) for name, x in zip(model.states, model.start, strict=True)]
    found += [Variable(f"der({name})", at[f"der({name})"], "derivative", of=name) for name in model.states]
    for name, p in zip(model.parameters, model.values, strict=True):
        found.append(Variable(name, at[name], "input" if name in model.inputs else "parameter", p))
    return found + [Variable(name, at[name], "observable") for name in model.observables]


def time_name(assembly: FmuAssembly) -> str:
    """What the time is called: "time", unless something else is."""
    name = "time"
    while name in assembly.references():
        name += "_"
    return name


def description(assembly: FmuAssembly, version: int, token: str, tool: str) -> str:
    """The text of modelDescription.xml."""
    return "\n".join((_two if version == 2 else _three)(assembly, token, tool)) + "\n"


def _clean(text: str) -> str:
    """An attribute of XML between its quotes: letters that XML has not are left out."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return str(quoteattr(line))


def _experiment(assembly: FmuAssembly) -> str:
    model = assembly.model
    duration = model.equations.problem.run.duration
    stop = f' stopTime="{model.begin + duration!r}"' if duration else ""
    return f'  <DefaultExperiment startTime="{model.begin!r}"{stop} stepSize="{assembly.step!r}"/>'


def _two(assembly: FmuAssembly, token: str, tool: str) -> Iterator[str]:
    name, listed = assembly.model.name, variables(assembly)
    index = {variable.name: k for k, variable in enumerate(listed, start=2)}  # the time is the first
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<fmiModelDescription fmiVersion="2.0" modelName={_clean(assembly.model.title)} guid="{token}"'
    yield f'  generationTool={_clean(tool)} variableNamingConvention="flat" numberOfEventIndicators="0">'
    files = f'<SourceFiles><File name="{name}.c"/></SourceFiles>'
    yield f'  <ModelExchange modelIdentifier="{name}" canGetAndSetFMUstate="true">{files}</ModelExchange>'
    yield f'  <CoSimulation modelIdentifier="{name}" canHandleVariableCommunicationStepSize="true"'
    yield f'    canGetAndSetFMUstate="true">{files}</CoSimulation>'
    yield _experiment(assembly)
    yield "  <ModelVariables>"
    clock = f'name="{time_name(assembly)}" valueReference="0"'
    yield f'    <ScalarVariable {clock} causality="independent" variability="continuous"><Real/></ScalarVariable>'
    for variable in listed:
        causality, variability, initial = KINDS[variable.kind]
        start = "" if variable.start is None else f' start="{variable.start!r}"'
        of = f' derivative="{index[variable.of]}"' if variable.of else ""
        yield f'    <ScalarVariable name={_clean(variable.name)} valueReference="{variable.reference}"'
        how = f' initial="{initial}"' if initial else ""
        yield f'      causality="{causality}" variability="{variability}"{how}><Real{start}{of}/>'
        yield "    </ScalarVariable>"
    yield "  </ModelVariables>"
    unknown = {
        "Outputs": [v for v in listed if KINDS[v.kind][0] == "output"],
        "Derivatives": [v for v in listed if v.of],
        "InitialUnknowns": [v for v in listed if v.start is None],
    }
    yield "  <ModelStructure>"
    for kind, members in unknown.items():
        if members:
            places = sorted(index[v.name] for v in members)
            yield f"    <{kind}>" + "".join(f'<Unknown index="{k}"/>' for k in places) + f"</{kind}>"
    yield "  </ModelStructure>"
    yield "</fmiModelDescription>"


def _three(assembly: FmuAssembly, token: str, tool: str) -> Iterator[str]:
    name, listed, at = assembly.model.name, variables(assembly), assembly.references()
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<fmiModelDescription fmiVersion="3.0" modelName={_clean(assembly.model.title)}'
    yield f'  instantiationToken="{token}" generationTool={_clean(tool)} variableNamingConvention="flat">'
    yield f'  <ModelExchange modelIdentifier="{name}" canGetAndSetFMUState="true"/>'
    yield f'  <CoSimulation modelIdentifier="{name}" canHandleVariableCommunicationStepSize="true"'
    yield '    canGetAndSetFMUState="true"/>'
    yield _experiment(assembly)
    yield "  <ModelVariables>"
    clock = f'name="{time_name(assembly)}" valueReference="0"'
    yield f'    <Float64 {clock} causality="independent" variability="continuous"/>'
    for variable in listed:
        causality, variability, initial = KINDS[variable.kind]
        start = "" if variable.start is None else f' start="{variable.start!r}"'
        of = f' derivative="{at[variable.of]}"' if variable.of else ""
        yield f'    <Float64 name={_clean(variable.name)} valueReference="{variable.reference}"'
        how = f' initial="{initial}"' if initial else ""
        yield f'      causality="{causality}" variability="{variability}"{how}{start}{of}/>'
    yield "  </ModelVariables>"
    yield "  <ModelStructure>"
    yield from (f'    <Output valueReference="{v.reference}"/>' for v in listed if KINDS[v.kind][0] == "output")
    yield from (f'    <ContinuousStateDerivative valueReference="{v.reference}"/>' for v in listed if v.of)
    yield from (f'    <InitialUnknown valueReference="{v.reference}"/>' for v in listed if v.start is None)
    yield "  </ModelStructure>"
    yield "</fmiModelDescription>"


def build_description(name: str) -> str:
    """sources/buildDescription.xml of FMI 3."""
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiBuildDescription fmiVersion="3.0">
  <BuildConfiguration modelIdentifier="{name}">
    <SourceFileSet language="C99"><SourceFile name="{name}.c"/></SourceFileSet>
  </BuildConfiguration>
</fmiBuildDescription>
"""
