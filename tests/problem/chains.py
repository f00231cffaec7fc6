"""A chain of rods from the ceiling, stated once for all its links."""

CHAIN = """
schema = 1
parameters = {{ m = {mass!r}, l = {length!r}, g = 9.81 }}
[definitions]
x0 = 0
y0 = 0
[repeat.link]
for = {{ i = [1, {count}] }}
[repeat.link.system]
coordinates = ["x{{i}}", "y{{i}}"]
kinetic = "m*(x{{i}}_dot**2 + y{{i}}_dot**2)/2"
potential = "m*g*y{{i}}"
[repeat.link.program.holonomic]
"rod{{i}}" = "((x{{i}} - x{{i-1}})**2 + (y{{i}} - y{{i-1}})**2 - l**2)/2"
[repeat.link.start]
"x{{i}}" = "{{i}}*l"
"""
LAW = """
[program.law]
kind = "critically-damped"
rate = 20
"""


def chain(count, mass=1, length=0.1, law=LAW):
    """The text of a chain of so many links."""
    return CHAIN.format(count=count, mass=mass, length=length) + law
