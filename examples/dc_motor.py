"""What speed does a motor settle at?  K U/(R b + K^2) = 0.0999 rad/s: elements of two domains, joined by a gyrator."""

import holdfast as hf

L, R, K, J, b, U = hf.parameters("L R K J b U")

motor = hf.assemble(
    {
        "supply": hf.Source("electrical", U, ("minus", "plus")),
        "coil": hf.Inertia("electrical", L, ("plus", "a")),
        "wire": hf.Resistance("electrical", R, ("a", "brush")),
        "motor": hf.Gyrator(K, ("electrical", ("brush", "minus")), ("rotation", "shaft")),
        "rotor": hf.Inertia("rotation", J, "shaft"),
        "bearing": hf.Resistance("rotation", b, "shaft"),
    },
    parameters={L: 0.5, R: 1, K: 0.01, J: 0.01, b: 0.1, U: 1},
    units={"L": "H", "R": "ohm", "K": "N m/A", "J": "kg m^2", "b": "N m s", "U": "V"},
)
problem = motor.problem(title="DC motor: a voltage step spins the shaft up", run=hf.Run(step=0.001, duration=3))

run = hf.simulate(hf.derive(problem), hf.DOP853, tolerance=1e-12, duration=30)
speed = run["shaft_dot"][-1]
print(f"{speed:.10f} rad/s at a current of {run['q_coil_dot'][-1]:.4f} A")

assert abs(speed - 0.01 / (0.1 + 0.0001)) < 1e-9
