"""What holds for every test: no screen, and the same hypothesis examples on each run."""

import os

from hypothesis import HealthCheck, settings

os.environ["MPLBACKEND"] = "Agg"

settings.register_profile(
    "ci", derandomize=True, max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("explore", settings.get_profile("ci"), derandomize=False, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
