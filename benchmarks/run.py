"""All measurements, written to one file: benchmarks/results/DATE-MACHINE.json.

    python -m benchmarks.run

Records {problem, by, scheme, step, error, seconds, commit} come from one run on one machine: compare them by ratios.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import derivation, engine_speed, proof_speed, speed, stiff_speed
from holdfast.engine.code import native

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Measure, say what was met, and write the file under a temporary name first."""
    records, ratios = speed.records()
    stiff_records, stiff_ratios = stiff_speed.records()
    proof_records, proof_ratios = proof_speed.records()
    records, ratios = records + stiff_records + proof_records, ratios + stiff_ratios + proof_ratios
    for ratio in ratios:
        print(ratio, file=sys.stderr)
    records += engine_speed.records()
    records += [{"scheme": None, "step": None} | dict(record) for record in derivation.measure(50)]
    now = datetime.now(UTC)
    data = {
        "schema": 1,
        "date": now.isoformat(timespec="seconds"),
        "machine": {
            "processor": native.binding().get_host_cpu_name(),
            "cores": os.cpu_count(),
            "lanes": native.lane_width(),
        },
        "python": platform.python_version(),
        "ratios": [{"what": r.what, "value": r.value, "aim": r.bar, "at_most": r.most, "met": r.met} for r in ratios],
        "records": records,
    }
    target = RESULTS / f"{now:%Y-%m-%d}-{platform.machine()}.json"
    RESULTS.mkdir(exist_ok=True)
    temporary = target.with_suffix(".part")
    temporary.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    os.replace(temporary, target)
    print(target)


if __name__ == "__main__":
    main()
