"""Cartesian chains of N links, as problem files: points of equal mass, a rod between neighbours."""

from __future__ import annotations

import math


def chain(links: int, rate: float = 20.0, length: float = 1.0, mass: float = 1.0, below: float = math.pi / 4) -> str:
    """The text of a chain that begins stretched out, at an angle below the horizontal."""
    numbers = range(1, links + 1)
    kinetic = " + ".join(f"x{i}_dot**2 + y{i}_dot**2" for i in numbers)
    rods = [f'rod{i} = "((x{i} - x{i - 1})**2 + (y{i} - y{i - 1})**2 - l**2)/2"' for i in numbers if i > 1]
    names = ", ".join(f'"x{i}", "y{i}"' for i in numbers)
    across, down = length * math.cos(below), length * math.sin(below)
    places = [f"x{i} = {i * across!r}\ny{i} = {-i * down!r}" for i in numbers]
    return "\n".join(
        [
            "schema = 1",
            f'title = "Chain of {links} links"',
            f"[parameters]\ng = 9.81\nl = {length!r}\nm = {mass!r}",
            "[system]",
            f"coordinates = [{names}]",
            f'kinetic = "m*({kinetic})/2"',
            f'potential = "m*g*({" + ".join(f"y{i}" for i in numbers)})"',
            "[program.holonomic]",
            'rod1 = "(x1**2 + y1**2 - l**2)/2"',
            *rods,
            f'[program.law]\nkind = "critically-damped"\nrate = {rate}',
            "[start]",
            *places,
            '[run]\nscheme = "rk4"\nstep = 0.001\nduration = 1\n',
        ]
    )
