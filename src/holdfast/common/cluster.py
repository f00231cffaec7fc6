"""The workers of a cluster (`dask.distributed`): a client, its address, or a process to each core of this machine.

What is sent to them is text and numbers, never code: each derives and compiles for itself, once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from holdfast.errors import BadRequest

PARTS_EACH = 8  # parts for each worker, so that a slow or a lost one holds up little
LOCAL = "local"
ANY_PORT = "127.0.0.1:0"  # of its web page: several clusters may run on one machine
TIMEOUT = "20s"  # for an address to answer


@contextmanager
def cluster(on: Any, threads: int | None = None) -> Iterator[Any]:
    """The client of a cluster; one that is made here is closed here. `threads` are what each worker will use."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise BadRequest(
            "clusters are reached through dask, which is not installed", where="on", fix="pip install 'holdfast[dask]'"
        ) from None
    if isinstance(on, Client):
        if on.status in ("closing", "closed"):
            raise BadRequest("the client of the cluster is closed", where="on", fix="give one that is open")
        yield on
        return
    if not isinstance(on, str):
        fix = 'a dask client, its address such as "tcp://host:8786", or "local"'
        raise BadRequest(f"on = {on!r}", where="on", fix=fix)
    if on == LOCAL:
        workers = max(1, (os.cpu_count() or 1) // (threads or 1))
        how = {"threads_per_worker": 1, "processes": True, "dashboard_address": ANY_PORT}
        try:
            local = LocalCluster(n_workers=workers, **how)
        except RuntimeError as error:  # a worker that reads a script anew would start workers of its own
            raise BadRequest(
                f"no workers start on this machine: {error}",
                where="on",
                fix='in a script, call it under if __name__ == "__main__": each worker reads the script anew',
            ) from None
        with local, Client(local) as client:
            yield client
        return
    try:
        client = Client(on, timeout=TIMEOUT)
    except (OSError, ValueError, TimeoutError) as error:
        raise BadRequest(
            f"no cluster answers at {on!r}: {error}", where="on", fix='start one with "dask scheduler", or on="local"'
        ) from None
    with client:
        yield client


def gathered(
    client: Any, futures: Sequence[Any], progress: Callable[[float], None] | None = None
) -> Iterator[tuple[str, Any]]:
    """What the workers made, by key, as it comes; they keep nothing of what was taken. An error of one ends all."""
    from distributed import as_completed

    try:
        for done, (future, part) in enumerate(as_completed(futures, with_results=True), start=1):
            yield future.key, part
            future.release()
            if progress is not None:
                progress(done / len(futures))
    except BaseException:
        client.cancel(futures, force=True)
        raise
