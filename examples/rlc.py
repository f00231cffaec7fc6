"""Does a circuit need a program?  No: its energies alone are its equation, L q'' = U - R q' - q/C."""

import sympy as sp

import holdfast as hf

q = hf.coordinates("q")
L, R, C, U = hf.parameters("L R C U")

system = hf.System(
    coordinates=(q,),
    kinetic=L * q.rate**2 / 2,
    potential=q**2 / (2 * C),
    dissipation=R * q.rate**2 / 2,
    forces={q: U},
    parameters={L: 0.1, R: 20, C: 1e-4, U: 10},
)
problem = hf.Problem(system, title="Series circuit")
equations = hf.derive(problem)
print(equations.summary())

assert equations.mass_matrix[0] == L and sp.expand(equations.bias[0] - (U - R * q.rate - q / C)) == 0
