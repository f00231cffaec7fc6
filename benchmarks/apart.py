"""One measurement in a process of its own, where no code is kept from before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any


def apart(module: str, *words: str) -> Any:
    """What a module prints as JSON when it is run with these words."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", module, *words]
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, env=os.environ | {"HOLDFAST_CACHE": folder}
        )
    print(*words, done.stdout.strip(), file=sys.stderr, flush=True)
    return json.loads(done.stdout)
