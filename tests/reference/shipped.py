"""The problem files that travel with the package, derived once."""

from functools import cache
from importlib import resources

import holdfast as hf


@cache
def derived(name):
    return hf.derive(hf.load(str(resources.files("holdfast") / "examples" / f"{name}.toml")))
