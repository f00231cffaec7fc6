"""The driver language and bodies as CUDA: C in which every function is inlined, so that arrays become registers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.engine.emit.c_real import RealWriter
from holdfast.engine.emit.target import Value

LONGEST_UNROLLED = 512  # turns: beyond, an array lies in memory all the same


class CudaWriter(RealWriter):
    """Text for NVRTC, which takes functions without a mark for the device's (`--device-as-default-execution-space`)."""

    linkage = "__forceinline__ "

    def begin(self, name: str, arguments: list[tuple[str, str]], returns: str, hint: str) -> None:
        super().begin(name, arguments, returns, "")
        inputs = frozenset("x f p watch before after directions".split())
        listed = ", ".join(
            f"{'const ' * (kind.startswith('p') and argument in inputs)}{self.type(kind)} {argument}"
            for argument, kind in arguments
        )
        self.header = f"{self.linkage}{self.type(returns)} hf_{name}({listed})\n{{"

    @contextmanager
    def loop(self, name: str, start: Value, stop: Value) -> Iterator[None]:
        if (turns := _turns(start.text, stop.text)) is not None and turns <= LONGEST_UNROLLED:
            self.line("#pragma unroll")
        with super().loop(name, start, stop):
            yield


def _turns(start: str, stop: str) -> int | None:
    """How often a loop between two constants turns; None where they are none."""
    numbers = [text.removeprefix("INT64_C(").removesuffix(")") for text in (start, stop)]
    return int(numbers[1]) - int(numbers[0]) if all(number.isdigit() for number in numbers) else None
