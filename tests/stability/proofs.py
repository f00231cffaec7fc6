"""Problems with proofs of many kinds, each as the text of a problem file: for counting and timing work."""

PLANAR = ("x y", "(x_dot**2 + y_dot**2)/2", "9.81*y")
SPATIAL = ("x y z", "(x_dot**2 + y_dot**2 + z_dot**2)/2", "9.81*z")
ROD = {"rod": "(x**2 + y**2 - 1)/2"}
LOW = {"x": 0, "y": -1, "x_dot": 1}
CRITICAL = {"kind": "critically-damped", "rate": 5}


def text(system, program, start, run, law=CRITICAL, kind="holonomic", controls=()):
    """A problem file: (coordinates, kinetic, potential), constraints, start, (scheme, step, duration)."""
    coordinates, kinetic, potential = system
    scheme, step, duration = run
    names = ", ".join(f'"{name}"' for name in coordinates.split())
    tables = {
        "system": {"coordinates": f"[{names}]", "kinetic": f'"{kinetic}"', "potential": f'"{potential}"'},
        f"program.{kind}": {name: f'"{f}"' for name, f in program.items()},
        "program.controls": {f"force_{name}": f"{{ {name} = 1 }}" for name in controls},
        "program.law": {key: f'"{value}"' if key == "kind" else value for key, value in law.items()},
        "start": start,
        "run": {"scheme": f'"{scheme}"', "step": step, "duration": duration},
    }
    lines = ["schema = 1"]
    for table, fields in tables.items():
        lines += [f"[{table}]", *(f"{key} = {value}" for key, value in fields.items())] if fields else []
    return "\n".join(lines) + "\n"


PROOFS = {
    "pendulum, RK4": text(PLANAR, ROD, LOW, ("rk4", 0.01, 2)),
    "pendulum, Heun": text(PLANAR, ROD, LOW, ("heun", 0.005, 1)),
    "pendulum, Kutta's third order": text(PLANAR, ROD, LOW, ("kutta3", 0.01, 1)),
    "pendulum, Euler": text(PLANAR, ROD, LOW, ("euler", 0.002, 0.4)),
    "pendulum from the side": text(PLANAR, ROD, {"x": 1, "y": 0}, ("rk4", 0.005, 0.6)),
    "pendulum, stiff gains": text(
        PLANAR, ROD, LOW, ("rk4", 0.002, 0.1), {"kind": "spring-damper", "stiffness": 60000, "damping": 400}
    ),
    "pendulum, nanometres": text(
        ("x y", "1e-15*(x_dot**2 + y_dot**2)/2", "9.81e-6*y"),
        {"rod": "(x**2 + y**2 - 1e18)/2"}, {"x": 0, "y": -1e9, "x_dot": 1e9}, ("rk4", 0.01, 1),
    ),
    "pendulum, light years": text(
        ("x y", "1e30*(x_dot**2 + y_dot**2)/2", "9.81e14*y"),
        {"rod": "(x**2 + y**2 - 1e-32)/2"}, {"x": 0, "y": -1e-16, "x_dot": 1e-16}, ("rk4", 0.01, 1),
    ),
    "spherical pendulum": text(
        SPATIAL, {"rod": "(x**2 + y**2 + z**2 - 1)/2"}, {"x": 0.6, "z": -0.8, "y_dot": 1}, ("rk4", 0.005, 0.1)
    ),
    "double pendulum": text(
        ("x y u v", "(x_dot**2 + y_dot**2 + u_dot**2 + v_dot**2)/2", "9.81*(y + v)"),
        {"upper": "(x**2 + y**2 - 1)/2", "lower": "((u - x)**2 + (v - y)**2 - 1)/2"},
        {"x": 0, "y": -1, "u": 0, "v": -2, "u_dot": 0.3}, ("rk4", 0.005, 0.1),
    ),
    "four-bar": text(
        ("a b c", "0.1*a_dot**2 + 0.3*b_dot**2 + 0.2*c_dot**2 + 0.1*a_dot*b_dot*cos(a - b)", "0"),
        {"px": "0.3*cos(a) + 0.9*cos(b) - 0.7*cos(c) - 1", "py": "0.3*sin(a) + 0.9*sin(b) - 0.7*sin(c)"},
        {"a": 1.0, "a_dot": 1}, ("rk4", 0.005, 0.1),
    ),
    "slider-crank": text(
        ("a b s", "0.05*a_dot**2 + 0.01*b_dot**2 + 0.25*s_dot**2", "0"),
        {"px": "0.1*cos(a) + 0.3*cos(b) - s", "py": "0.1*sin(a) + 0.3*sin(b)"},
        {"a": 0.5, "a_dot": 3}, ("rk4", 0.005, 0.2),
    ),
    "sphere and turning plane": text(
        SPATIAL, {"sphere": "(x**2 + y**2 + z**2 - 1)/2", "plane": "x*sin(3*t) - y*cos(3*t)"},
        {"x": 0.6, "z": -0.8}, ("rk4", 0.005, 0.1),
    ),
    "sphere and turning plane, 1 g": text(
        ("x y z", "0.001*(x_dot**2 + y_dot**2 + z_dot**2)/2", "0.00981*z"),
        {"sphere": "x**2 + y**2 + z**2 - 1", "plane": "x - y*cos(t)"},
        {"x": 0.6, "y": 0.6, "z": -0.5291502622129181}, ("rk4", 0.005, 0.1),
    ),
    "bead on a moving wire": text(PLANAR, {"wire": "y - x**2/2 - sin(4*t)/10"}, {"x": 0.3}, ("rk4", 0.005, 0.2)),
    "bead on a wave": text(PLANAR, {"wire": "y - sin(3*x - 2*t)/3"}, {"x": 0.1}, ("rk4", 0.005, 0.1)),
    "rolling coin": text(
        ("x y a b", "(x_dot**2 + y_dot**2)/2 + 0.02*b_dot**2 + 0.01*a_dot**2", "0"),
        {"along": "x_dot - 0.3*b_dot*cos(a)", "across": "y_dot - 0.3*b_dot*sin(a)"},
        {"a_dot": 0.5, "b_dot": 6}, ("rk4", 0.01, 0.3), kind="nonholonomic",
    ),
    "sleigh": text(
        ("x y a", "(x_dot**2 + y_dot**2)/2 + 0.1*a_dot**2 + 0.2*a_dot*(y_dot*cos(a) - x_dot*sin(a))", "0"),
        {"blade": "y_dot*cos(a) - x_dot*sin(a)"}, {"x_dot": 1, "a_dot": 0.5}, ("rk4", 0.01, 0.5), kind="nonholonomic",
    ),
    "cart on a path": text(
        ("x th", "x_dot**2 + x_dot*th_dot*cos(th) + th_dot**2", "9.81*cos(th)"),
        {"path": "x - sin(2*t)/5"}, {"th": 3.0}, ("rk4", 0.005, 1), controls=("x",),
    ),
    "arm on a circle": text(
        ("a b", "a_dot**2*(1 + cos(b)) + (a_dot + b_dot)**2/2 + a_dot*b_dot*cos(b)/2", "9.81*(sin(a) + sin(a + b)/2)"),
        {"px": "cos(a) + cos(a + b) - 1.2 - 0.1*cos(t)", "py": "sin(a) + sin(a + b) - 0.4 - 0.1*sin(t)"},
        {"a": -0.5244344773496273, "b": 1.6458668178716132}, ("rk4", 0.005, 0.1), controls=("a", "b"),
    ),
    "unequal masses": text(
        ("x y", "1e6*x_dot**2/2 + 1e-6*y_dot**2/2", "9.81e6*x"), {"rope": "x + y + x*y/10"}, {}, ("rk4", 0.01, 0.3)
    ),
    "ellipse": text(PLANAR, {"wire": "x**2/4 + y**2 - 1"}, LOW, ("rk4", 0.01, 0.5)),
    "torus": text(
        SPATIAL, {"tube": "(x**2 + y**2 + z**2 + 3/4)**2 - 4*(x**2 + y**2)"},
        {"x": 1.5, "y": 0, "z": 0, "y_dot": 1}, ("rk4", 0.002, 0.05),
    ),
    "fourth powers": text(PLANAR, {"wire": "x**4 + y**4 - 1"}, {"x": 0, "y": -1, "x_dot": 1}, ("rk4", 0.005, 0.2)),
}  # fmt: skip
