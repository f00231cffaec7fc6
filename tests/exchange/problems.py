"""Problems that tests of several targets share."""

from dataclasses import replace
from importlib import resources

import sympy as sp

import holdfast as hf

EXAMPLES = resources.files("holdfast") / "examples"
NAMES = sorted(file.name.removesuffix(".toml") for file in EXAMPLES.iterdir() if file.name.endswith(".toml"))


def example(name):
    """The equations of a shipped problem; of one in phases, those of its first; controls that are held are not."""
    problem = hf.load(EXAMPLES / f"{name}.toml")
    problem = problem.in_phase(next(iter(problem.phases))) if problem.phases else problem
    return hf.derive(replace(problem, program=replace(problem.program, sampling=None)))


HOSTILE = [  # titles that try to leave their comment, their string, or their line
    "*/ int main(void) { return 1; } /*",
    "??/",
    "ends with a backslash \\",
    "two\nlines */ #error",
    "\u202eevil",
    '"; system("x"); "',
    '"""\nmain = 1\n"""',
    "",
    "int",
    "9 lives",
    "Zażółć gęślą 学",
    "/" + "*/" * 50,
    "*" + "??/" + "\n/",
    "}\\end{document}",
]


def held_rod(names="x y", **changes):
    """A pendulum in Cartesian coordinates of these names."""
    x, y = hf.coordinates(names)
    mass, length = hf.parameters("mass length")
    system = hf.System(
        coordinates=(x, y),
        kinetic=mass * (x.rate**2 + y.rate**2) / 2,
        potential=mass * 9.81 * y,
        parameters={mass: 1.0, length: 1.0},
    )
    program = hf.Program(
        holonomic={"rod": (x**2 + y**2 - length**2) / 2}, law=hf.SpringDamper(stiffness=400, damping=40)
    )
    return hf.derive(hf.Problem(system, program, start={x: 1.0}, **changes))


def everything():
    """Free coordinates under forces that use every operation there is."""
    x, y, z = hf.coordinates("x y z")
    (a,) = hf.parameters("a,")
    s = x**2 + y**2 + 1
    forces = {
        x: sp.sin(x) * sp.cos(y) + sp.exp(-(x**2)) + sp.log(s) + sp.sqrt(s) / (2 + sp.cos(x)) + sp.tan(x / 3),
        y: sp.tanh(x) + sp.sinh(y) - sp.cosh(x) + sp.atan(x) + sp.asin(y / 4) - sp.acos(x / 4) + sp.atan2(y, s),
        z: s**a + x**5 - sp.Abs(x) + sp.sign(y) + sp.Min(x, y) + sp.Max(x, z) + sp.Piecewise((y, x > 0), (a, True)),
    }
    system = hf.System(
        coordinates=(x, y, z), kinetic=(x.rate**2 + y.rate**2 + z.rate**2) / 2, forces=forces, parameters={a: 0.3}
    )
    return hf.derive(hf.Problem(system, hf.Program(), start={x: 0.3, y: -0.2, z: 0.1}, title="Everything"))
