"""Is a series circuit a mass on a spring?  Yes, number for number: charge is displacement, and current is velocity."""

import numpy as np

import holdfast as hf

inertia, loss, compliance, push = hf.parameters("inertia loss compliance push")
values = {inertia: 0.5, loss: 2, compliance: 0.1, push: 1}

circuit = hf.assemble(
    {
        "battery": hf.Source("electrical", push, ("g", "a")),
        "coil": hf.Inertia("electrical", inertia, ("a", "b")),
        "wire": hf.Resistance("electrical", loss, ("b", "c")),
        "capacitor": hf.Compliance("electrical", compliance, ("c", "g")),
    },
    parameters=values,
)
spring = hf.assemble(
    {
        "hand": hf.Source("translation", push, "x"),
        "block": hf.Inertia("translation", inertia, "x"),
        "damper": hf.Resistance("translation", loss, "x"),
        "spring": hf.Compliance("translation", compliance, "x"),
    },
    parameters=values,
)
charge, displacement = (
    hf.simulate(hf.derive(made.problem()), hf.DOP853, tolerance=1e-12, duration=1, at=[0.5, 1])[name]
    for made, name in ((circuit, "q_coil"), (spring, "x"))
)
print(f"after 0.5 and 1 s: {charge} C, and {displacement} m")

assert np.array_equal(charge, displacement) and abs(charge[1] - 0.1139672085) < 1e-10
