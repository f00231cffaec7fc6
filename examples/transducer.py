"""How far does a voltage pull the plate of a capacitor?  0.0561 m: there k x = c0 d U^2/(2 (d - x)^2)."""

import holdfast as hf

x = hf.coordinates("x")  # the plate, a point of the mechanical side
m, k, b, c0, d, L, R, U = hf.parameters("m k b c0 d L R U")

transducer = hf.assemble(
    {
        "supply": hf.Source("electrical", U, ("g", "p")),
        "coil": hf.Inertia("electrical", L, ("p", "a")),
        "wire": hf.Resistance("electrical", R, ("a", "c")),
        "plates": hf.Compliance("electrical", c0 * d / (d - x), ("c", "g")),  # the gap closes as x grows
        "plate": hf.Inertia("translation", m, "x"),
        "spring": hf.Compliance("translation", stiffness=k, at="x"),
        "damper": hf.Resistance("translation", b, "x"),
    },
    parameters={m: 0.1, k: 10, b: 1, c0: 1, d: 1, L: 0.1, R: 1, U: 1},
)
problem = transducer.problem(
    title="Electromechanical transducer: a voltage pulls a plate", run=hf.Run(step=0.001, duration=5)
)

run = hf.simulate(hf.derive(problem), hf.DOP853, tolerance=1e-11, duration=40)
rest = run["x"][-1]
print(f"the plate rests at {rest:.6f} m with a charge of {run['q_coil'][-1]:.6f} C")

assert abs(10 * rest - 1 / (2 * (1 - rest) ** 2)) < 1e-8 and abs(rest - 0.0561) < 5e-5
