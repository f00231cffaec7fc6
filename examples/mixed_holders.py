"""Who carries the bead on the rail?  The rail, without doing work; the motor sets the pace, with 2.54 N after 1 s."""

from pathlib import Path

import numpy as np

import holdfast as hf

problem = hf.load(Path(hf.__file__).parent / "examples" / "mixed_holders.toml")
equations = hf.derive(problem)

s = 1.0  # one second on the timetable
on_program = [s, 0.5 * np.sin(s), 1, 0.5 * np.cos(s)]
at = equations.evaluate(on_program, s)
rail = at["lambda_rail"] * np.array([-0.5 * np.cos(s), 1])
motor = at["F"]
print(f"rail ({rail[0]:.3f}, {rail[1]:.3f}) N, motor {motor:.3f} N")

assert abs(rail @ at.state[2:]) < 1e-14 and abs(motor - 2.54) < 0.005
