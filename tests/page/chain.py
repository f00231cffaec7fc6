"""A chain of so many links, hung up level and let go, as a file states it."""


def chain(links):
    """The text of the file."""
    places = [f"{axis}{k}" for k in range(1, links + 1) for axis in "xy"]
    listed = ", ".join(f'"{name}"' for name in places)
    lines = ["schema = 1", f'title = "Chain of {links} links"', "[system]", f"coordinates = [{listed}]"]
    lines.append(f'kinetic = "m*({" + ".join(f"{name}_dot**2" for name in places)})/2"')
    lines.append(f'potential = "m*g*({" + ".join(f"y{k}" for k in range(1, links + 1))})"')
    lines += ["[points]", 'O = ["0", "0"]', *(f'P{k} = ["x{k}", "y{k}"]' for k in range(1, links + 1))]
    lines += ["[parameters]", "m = 0.1", "g = 9.81", "l = 0.1", "[program.holonomic]"]
    for k in range(1, links + 1):
        across, up = ("x1", "y1") if k == 1 else (f"(x{k} - x{k - 1})", f"(y{k} - y{k - 1})")
        lines.append(f'link{k} = "({across}**2 + {up}**2 - l**2)/2"')
    lines += ["[program.law]", 'kind = "spring-damper"', "stiffness = 400", "damping = 40", "[start]"]
    lines += [f"x{k} = {0.1 * k:.10g}" for k in range(1, links + 1)]
    return "\n".join([*lines, "[run]", 'scheme = "rk4"', "step = 0.002", "duration = 2", ""])
