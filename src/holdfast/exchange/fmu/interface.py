"""The functions that FMI asks for, as a table: what each takes, and what it does in a few words of our own.

GetReal p p z p = get 0 1 2 3          a pointer, a pointer, a size, a pointer; `get` of the arguments by number

p pointer   i int   b bool   z size_t   d double

ok, fail       answers 0 or 3                        empty K     0 if argument K is 0, else 3: of kinds we do not have
zero4 K        writes an int 0 at K                  zero1 K     a bool
now 0 K        writes the time at K                  none K      a size 0;   many K    the number of states
begin, reset, time, states, put_states, rates, nominals, advance: the functions of `core`
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

COMMON = """
EnterInitializationMode p = ok
ExitInitializationMode p = begin 0
Terminate p = ok
Reset p = reset 0
EnterEventMode p = ok
EnterContinuousTimeMode p = ok
SetTime p d = time 0 1
SetContinuousStates p p z = put_states 0 1 2
GetContinuousStates p p z = states 0 1 2
GetNominalsOfContinuousStates p p z = nominals 0 1 2
GetEventIndicators p p z = empty 2
"""
FMI2 = """
SetDebugLogging p i z p = ok
SetupExperiment p i d d i d = time 0 3
GetReal p p z p = get 0 1 2 3
SetReal p p z p = set 0 1 2 3
GetInteger p p z p = empty 2
GetBoolean p p z p = empty 2
GetString p p z p = empty 2
SetInteger p p z p = empty 2
SetBoolean p p z p = empty 2
SetString p p z p = empty 2
GetFMUstate p p = save 0 1
SetFMUstate p p = restore 0 1
FreeFMUstate p p = drop 1
SerializedFMUstateSize p p p = fail
SerializeFMUstate p p p z = fail
DeSerializeFMUstate p p z p = fail
GetDirectionalDerivative p p z p z p p = fail
NewDiscreteStates p p = zero20 1; ok
CompletedIntegratorStep p i p p = zero4 2; zero4 3; ok
GetDerivatives p p z = rates 0 1 2
SetRealInputDerivatives p p z p p = empty 2
GetRealOutputDerivatives p p z p p = empty 2
DoStep p d d i = advance 0 1 2
CancelStep p = fail
GetStatus p i p = fail
GetRealStatus p i p = fail
GetIntegerStatus p i p = fail
GetBooleanStatus p i p = fail
GetStringStatus p i p = fail
"""
KINDS3 = "Float32 Int8 UInt8 Int16 UInt16 Int32 UInt32 Int64 UInt64 Boolean String".split()
FMI3 = """
SetDebugLogging p b z p = ok
EnterInitializationMode p b d d b d = time 0 3
GetFloat64 p p z p z = get 0 1 2 3
SetFloat64 p p z p z = set 0 1 2 3
GetBinary p p z p p z = empty 2
SetBinary p p z p p z = empty 2
GetClock p p z p = empty 2
SetClock p p z p = empty 2
GetNumberOfVariableDependencies p i p = fail
GetVariableDependencies p i p p p p z = fail
GetFMUState p p = save 0 1
SetFMUState p p = restore 0 1
FreeFMUState p p = drop 1
SerializedFMUStateSize p p p = fail
SerializeFMUState p p p z = fail
DeserializeFMUState p p z p = fail
GetDirectionalDerivative p p z p z p z p z = fail
GetAdjointDerivative p p z p z p z p z = fail
EnterConfigurationMode p = ok
ExitConfigurationMode p = ok
GetIntervalDecimal p p z p p = empty 2
GetIntervalFraction p p z p p p = empty 2
GetShiftDecimal p p z p = empty 2
GetShiftFraction p p z p p = empty 2
SetIntervalDecimal p p z p = empty 2
SetIntervalFraction p p z p p = empty 2
SetShiftDecimal p p z p = empty 2
SetShiftFraction p p z p p = empty 2
EvaluateDiscreteStates p = ok
UpdateDiscreteStates p p p p p p p = zero1 1; zero1 2; zero1 3; zero1 4; zero1 5; ok
CompletedIntegratorStep p b p p = zero1 2; zero1 3; ok
GetContinuousStateDerivatives p p z = rates 0 1 2
GetNumberOfEventIndicators p p = none 1; ok
GetNumberOfContinuousStates p p = many 1; ok
EnterStepMode p = ok
GetOutputDerivatives p p z p p z = empty 2
DoStep p d d b p p p p = zero1 4; zero1 5; zero1 6; advanced 0 1 2 7
ActivateModelPartition p i d = fail
""" + "".join(f"Get{kind} p p z p z = empty 2\nSet{kind} p p z p z = empty 2\n" for kind in KINDS3)
MAKERS = {  # functions that make an instance: their arguments, and which is the token (-1: none is made)
    2: {"Instantiate": ("p i p p p i i", 2)},
    3: {
        "InstantiateModelExchange": ("p p p b b p p", 1),
        "InstantiateCoSimulation": ("p p p b b b b p z p p p", 1),
        "InstantiateScheduledExecution": ("p p p b b p p p p p", -1),
    },
}


class Entry(NamedTuple):
    """A function of the interface: its name, the kinds of its arguments, and its actions as words."""

    name: str
    arguments: tuple[str, ...]
    actions: tuple[tuple[str, ...], ...]


def entries(version: int) -> list[Entry]:
    """All functions of a version that answer with a status."""
    own = {entry.name: entry for entry in _read(COMMON, version)}
    own |= {entry.name: entry for entry in _read(FMI2 if version == 2 else FMI3, version)}
    return list(own.values())


def _read(text: str, version: int) -> Iterator[Entry]:
    for line in text.strip().splitlines():
        head, _, actions = line.partition("=")
        name, *arguments = head.split()
        words = tuple(tuple(action.split()) for action in actions.split(";"))
        yield Entry(f"fmi{version}{name}", tuple(arguments), words)
