"""Object code kept between runs, by the hash of what it computes and of the machine it was made for.

The cache is code, so it is kept as carefully: in the user's own directory (mode 0700, owner checked), each object
behind a hash of its content, written under a temporary name and then renamed. Whatever is missing, foreign, truncated
or altered is as if it were not there; and no run ever fails because something could not be kept.

    HOLDFAST_CACHE      another directory; empty: keep nothing
"""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

MAGIC = b"holdfast code 2\n"
MOST_OBJECTS = 2000


def directory() -> Path | None:
    """Where objects are kept, or None where nothing is."""
    chosen = os.environ.get("HOLDFAST_CACHE")
    if chosen is not None:
        return Path(chosen) if chosen else None
    home = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(home) if home else Path.home() / ".cache") / "holdfast"
    except RuntimeError:  # no home
        return None


def _trusted(*, make: bool) -> Path | None:
    """The directory if it is ours alone; made if it is missing and that is wanted."""
    place = directory()
    if place is None:
        return None
    try:
        if make:
            place.mkdir(parents=True, mode=0o700, exist_ok=True)
        found = place.lstat()
    except OSError:
        return None
    if not stat.S_ISDIR(found.st_mode):
        return None
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o022):
        return None
    return place


def _file(place: Path, key: str) -> Path:
    return place / (sha256(key.encode()).hexdigest() + ".o")


def _seal(key: str, code: bytes) -> bytes:
    return sha256(key.encode() + b"\0" + code).hexdigest().encode() + b"\n"


def fetch(key: str) -> bytes | None:
    """The object kept for this key, or None."""
    place = _trusted(make=False)
    if place is None:
        return None
    try:
        content = _file(place, key).read_bytes()
    except OSError:
        return None
    start = len(MAGIC) + 65
    code = content[start:]
    if content[:start] != MAGIC + _seal(key, code):
        return None
    return code


def store(key: str, code: bytes) -> None:
    """Keep the object if that is possible."""
    place = _trusted(make=True)
    if place is None:
        return
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=place, prefix="new-", suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(MAGIC + _seal(key, code) + code)
        os.replace(temporary, _file(place, key))
        _prune(place)
    except OSError:
        if temporary is not None:
            with suppress(OSError):
                Path(temporary).unlink(missing_ok=True)


def _prune(place: Path) -> None:
    """When there are too many objects, drop the older half, and what killed writers have left."""
    files = [entry for entry in os.scandir(place) if entry.name.endswith((".o", ".part"))]
    if len(files) > MOST_OBJECTS:
        for entry in sorted(files, key=lambda entry: entry.stat().st_mtime)[: len(files) // 2]:
            Path(entry.path).unlink(missing_ok=True)
