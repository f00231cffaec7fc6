"""The writer of exported C: all functions static, inputs const."""

from __future__ import annotations

from holdfast.engine.emit.c_real import RealWriter

INPUTS = frozenset("x f p watch".split())  # arrays that the drivers only read


class ExportWriter(RealWriter):
    """C for others: nothing but what the header declares is seen outside."""

    linkage = "static "

    def library(self, name: str) -> str:
        if name == "fma" and not self.precision.suffix:
            return "hf_fma"
        return super().library(name)

    def begin(self, name: str, arguments: list[tuple[str, str]], returns: str, hint: str) -> None:
        super().begin(name, arguments, returns, hint)
        listed = ", ".join(
            f"{'const ' * (kind.startswith('p') and argument in INPUTS)}{self.type(kind)} {argument}"
            for argument, kind in arguments
        )
        if not hint and arguments:  # a driver: what its scheme does not need is passed all the same
            self.declared.append("    " + " ".join(f"(void){argument};" for argument, _ in arguments))
        linkage = "static inline " if hint else self.linkage
        self.header = f"{linkage}{self.type(returns)} hf_{name}({listed or 'void'})\n{{"
