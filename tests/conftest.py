"""What holds for every test: no screen, Ctrl-C heard, and the same hypothesis examples on each run."""

import os
import signal

from hypothesis import HealthCheck, settings

os.environ["MPLBACKEND"] = "Agg"
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job: tests that send it would never end
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "ci", derandomize=True, max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("explore", settings.get_profile("ci"), derandomize=False, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
