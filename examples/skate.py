"""Does a spinning skate slide down its incline?  Not on average: twice the load is held by the edge at its steepest."""

from pathlib import Path

import numpy as np

import holdfast as hf

problem = hf.load(Path(hf.__file__).parent / "examples" / "skate.toml")
equations = hf.derive(problem)


def along_the_motion(s):
    """The known motion: x = a/(2 w^2) sin^2(w s), which never leaves [0, a/(2 w^2)]; a = g sin(slope), w = 2."""
    a, w = 9.81 / 2, 2
    x, y = a / (2 * w**2) * np.sin(w * s) ** 2, a / (2 * w**2) * (w * s - np.sin(2 * w * s) / 2)
    return [x, y, w * s, a / (2 * w) * np.sin(2 * w * s), a / (2 * w) * (1 - np.cos(2 * w * s)), w]


times = np.linspace(0, 10, 101)
edge = [equations.evaluate(along_the_motion(s))["lambda_edge"] for s in times]
load = 9.81 * np.sin(np.pi / 6)
print(f"the edge holds up to {np.abs(edge).max() / load:.3f} times the load along the slope")

assert np.allclose(edge, -2 * load * np.sin(2 * times), atol=1e-12)
