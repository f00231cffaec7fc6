"""What a fit found: values with their standard errors, what is left over, and what the data do not say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.common.frozen import Frozen
from holdfast.common.nearest import did_you_mean
from holdfast.equations.derive import derive
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.problem.problem import Problem
from holdfast.results.fitting.measured import MeasuredData
from holdfast.results.sensitivity.directions import spelling
from holdfast.results.style import in_house_style

Array = np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """Values that fit the data best, by name: ``found["m"]``, ``found.errors["m"]``.

    `covariance` belongs to `names`; `sigma` is the standard deviation of the noise of each column, as given or as the
    residuals tell; `residuals` are data less run. `success` says whether the search ended at a minimum; `warnings` what
    the data do not determine. `parameters` and `start` are for `hf.simulate`, `equations` have them stated.
    """

    origin: Equations
    names: tuple[str, ...]
    vector: Array
    covariance: Array
    data: MeasuredData
    predicted: Mapping[str, Array]
    sigma: Mapping[str, float]
    sigma_known: bool
    success: bool
    message: str
    warnings: tuple[str, ...]
    singular_values: Array
    runs: int
    given: tuple[Mapping[str, Any], Mapping[str, float]]  # parameters and gains, start values

    def __getitem__(self, name: Any) -> float:
        text = spelling(name)
        for known in (text, f"{text}(0)"):
            if known in self.names:
                return float(self.vector[self.names.index(known)])
        hint = did_you_mean(text, self.names, "fitted: " + ", ".join(self.names))
        raise BadRequest(f"{text!r} was not fitted", where="fit", fix=hint)

    @property
    def values(self) -> Mapping[str, float]:
        return Frozen(dict(zip(self.names, self.vector.tolist(), strict=True)))

    @cached_property
    def errors(self) -> Mapping[str, float]:
        """The standard error of each value; infinite where the data do not determine it."""
        return Frozen(dict(zip(self.names, np.sqrt(np.diag(self.covariance)).tolist(), strict=True)))

    @property
    def correlation(self) -> Array:
        """The correlation of the values; nan where one is not determined."""
        errors = np.array(list(self.errors.values()))
        with np.errstate(all="ignore"):
            return np.asarray(
                np.where(np.isfinite(self.covariance), self.covariance, np.nan) / np.outer(errors, errors)
            )

    @property
    def residuals(self) -> Mapping[str, Array]:
        """Data less run, by column; nan where a value is missing."""
        return Frozen({name: self.data.columns[name] - self.predicted[name] for name in self.data.columns})

    @property
    def chi_square(self) -> float:
        """Σ (residual/σ)² over the values less the unknowns: near 1 where the given noise explains the rest."""
        parts = [((r / self.sigma[name]) ** 2)[np.isfinite(r)] for name, r in self.residuals.items()]
        if self.sigma_known:
            own = self.data.sigma
            parts = [((r / own[name]) ** 2)[np.isfinite(r)] for name, r in self.residuals.items()]
        count = sum(len(part) for part in parts)
        return float(sum(part.sum() for part in parts)) / max(1, count - len(self.names))

    # ── to go on with ─────────────────────────────────────────────────────────────────────────────

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters and gains, as ``hf.simulate(parameters=...)`` takes them."""
        return self.given[0]

    @property
    def start(self) -> Mapping[str, float]:
        """The start values that were fitted, as ``hf.simulate(start=...)`` takes them."""
        return self.given[1]

    @cached_property
    def problem(self) -> Problem:
        """The problem with the values that were found stated in it."""
        own = self.origin.problem
        gains = [name for name in self.parameters if name in self.origin.form.gains]
        if gains:
            raise BadRequest(
                f"{', '.join(gains)} belong to a law, which the problem states in its own words",
                where="fit.problem",
                fix="simulate(equations, parameters=fit.parameters), or state another law",
            )
        stated = own.with_values(self.parameters) if self.parameters else own
        return replace(stated, start=Frozen({**stated.start, **self.start}))

    @cached_property
    def equations(self) -> Equations:
        """The equations of that problem."""
        return derive(self.problem, second_order=self.origin.second_order)

    # ── to read ───────────────────────────────────────────────────────────────────────────────────

    def summary(self) -> str:
        """Values with standard errors, noise by column, and what to be warned of."""
        width = max(map(len, self.names))
        lines = ["the fit converged" if self.success else f"the fit did NOT converge: {self.message}"]
        for name, value in self.values.items():
            error = self.errors[name]
            said = f"± {error:.3g}" + (f" ({100 * error / abs(value):.2g} %)" if value else "")
            lines.append(f"  {name:<{width}} = {value:.8g} {said if np.isfinite(error) else 'not determined'}")
        for name, sigma in self.sigma.items():
            count = int(np.isfinite(self.data.columns[name]).sum())
            rms = float(np.sqrt(np.nanmean(self.residuals[name] ** 2)))
            known = f"sigma {sigma:.3g} as given" if self.sigma_known else f"sigma {sigma:.3g} from the residuals"
            lines.append(f"  {name}: {count} values, residual {rms:.3g} (root mean square), {known}")
        if self.sigma_known:
            lines.append(f"  chi-square {self.chi_square:.4g} per value: 1 where the noise explains what is left over")
        lines += [f"  warning: {warning}" for warning in self.warnings]
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """As plain data; what is not determined is null."""
        return {
            "schema": 1,
            "success": self.success,
            "message": self.message,
            "values": dict(self.values),
            "errors": {name: x if np.isfinite(x) else None for name, x in self.errors.items()},
            "sigma": dict(self.sigma),
            "sigma_known": self.sigma_known,
            "chi_square": self.chi_square,
            "warnings": list(self.warnings),
            "singular_values": self.singular_values.tolist(),
            "runs": self.runs,
        }

    @in_house_style
    def plot(self) -> Any:
        """Data and run above, residuals below, a column for each quantity; returns the axes."""
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(2, len(self.predicted), sharex=True, squeeze=False, constrained_layout=True)
        for (upper, lower), (name, run) in zip(axes.T, self.predicted.items(), strict=True):
            upper.plot(self.data.times, self.data.columns[name], ".", markersize=3, label="data")
            upper.plot(self.data.times, run, label="run")
            upper.set_title(name)
            upper.legend()
            lower.plot(self.data.times, self.residuals[name], ".", markersize=3)
            lower.set_xlabel("time")
        axes[1, 0].set_ylabel("data less run")
        return axes

    def __repr__(self) -> str:
        pairs = ", ".join(
            f"{name} = {self.vector[k]:.6g} ± {self.errors[name]:.2g}" for k, name in enumerate(self.names)
        )
        return f"<Fit {pairs}{'' if self.success else ': NOT converged'}>"
