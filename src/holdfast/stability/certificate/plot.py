"""A certificate as a picture: the deviations of its run on a logarithmic scale, each with the bound it was given."""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.common.rounded import rounded_up
from holdfast.errors import BadRequest
from holdfast.problem.quantities import latex_name
from holdfast.results.style import in_house_style
from holdfast.stability.certificate.certificate import Certificate, Label

STYLES = {Label.proved: "-", Label.tube: "-", Label.checked: "--", Label.estimated: ":"}


@in_house_style
def plot(certificate: Certificate) -> Any:
    """One panel per block."""
    import matplotlib.pyplot as plt
    from matplotlib.colors import to_hex

    run = certificate.trajectory
    if run is None or not certificate.blocks:
        raise BadRequest(
            "there is no run to draw: "
            + ("nothing is held" if not certificate.blocks else "it was loaded from a file"),
            fix="draw the certificate that hf.certify(...) returns",
        )
    count = len(certificate.blocks)
    _, panels = plt.subplots(count, sharex=True, squeeze=False, layout="constrained", figsize=(7.5, 1.2 + 2.4 * count))
    for axes, block in zip(panels[:, 0], certificate.blocks, strict=True):
        for k, name in enumerate(block.names):
            size = np.abs(run[name])
            colour = to_hex(f"C{k}")  # now: later it would be another style's
            if size.max() > 0:
                shown = np.where(size > 0, size, np.nan)
                axes.semilogy(run.times, shown, color=colour, linewidth=0.9, label=f"${latex_name(name)}$")
            if block.bounds:
                style = STYLES.get(block.label, "--")
                label = f"{block.label.value}: {rounded_up(block.bounds[k])}{' once settled' if block.settles else ''}"
                line = {"color": colour, "linestyle": style, "linewidth": 1.6, "label": label}
                if block.proof is None:
                    axes.axhline(block.bounds[k], **line)
                else:  # from the first step that is covered on
                    promised = block.envelope(np.arange(len(run.times)))[k]
                    axes.semilogy(run.times, np.where(np.isfinite(promised), promised, np.nan), **line)
        axes.set_yscale("log")
        axes.set_ylabel("deviation")
        axes.set_title(f"{', '.join(block.constraints)}: {block.label.value}", loc="left", fontsize=10)
        if axes.lines:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9)
    panels[-1, 0].set_xlabel("time")
    return panels[:, 0]
