"""The sections of a page, in their order. A new one is a small file and a line here."""

from __future__ import annotations

from holdfast.page.section import Section
from holdfast.page.sections import (
    certificate,
    deviation,
    energy,
    equations,
    exhaust,
    forces,
    law,
    lyapunov,
    motion,
    phase,
    problem,
    provenance,
    tuning,
    warnings,
)

SECTIONS: tuple[Section, ...] = (  # first what happened and what is promised, then how it came about
    warnings.SECTION,
    motion.SECTION,
    certificate.SECTION,
    deviation.SECTION,
    problem.SECTION,
    equations.SECTION,
    forces.SECTION,
    exhaust.SECTION,
    law.SECTION,
    lyapunov.SECTION,
    tuning.SECTION,
    energy.SECTION,
    phase.SECTION,
    provenance.SECTION,
)
