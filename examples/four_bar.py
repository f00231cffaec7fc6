"""Does the way the loop is held change how a four-bar moves?  No: with ten times the gains, the same accelerations."""

from pathlib import Path

import numpy as np

import holdfast as hf

problem = hf.load(Path(hf.__file__).parent / "examples" / "four_bar.toml")
equations = hf.derive(problem)

soft = equations.evaluate()
hard = equations.evaluate(law=hf.Baumgarte(alpha=50, beta=50))  # free: the law has the same form
change = float(np.abs(hard.accelerations - soft.accelerations).max())
print(f"joint force ({soft['lambda_loop_x']:.6f}, {soft['lambda_loop_y']:.6f}) N; changed by {change:.0e} rad/s^2")

assert change < 1e-8 and np.allclose(soft.multipliers, [1.156680244245406, -1.663642069843622], rtol=1e-11)
