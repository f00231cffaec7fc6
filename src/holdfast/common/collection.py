"""No search for garbage while a large graph grows: all of it is in use, and to go over it again and again takes longer
than to make it.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected(large: bool = True) -> Iterator[None]:
    """Python's collector rests meanwhile, where something large is made and it was not at rest already.

    What was made then counts as old, as if it had been gone over: otherwise all of it would be at once.
    """
    if not large or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # nobody else keeps objects from the collector
            gc.freeze()
            gc.unfreeze()  # to the oldest generation
        gc.enable()
