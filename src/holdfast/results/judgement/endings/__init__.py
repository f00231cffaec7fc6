"""Why a run broke off: what determined its motion no more."""
