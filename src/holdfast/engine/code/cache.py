"""Object code kept between runs, by the hash of what it computes and of the machine it was made for.

The cache is code, so it is kept as carefully:

place     the user's own directory (mode 0700, owner checked), opened once and held; no directory on the way to it
          may be written by others, unless it is sticky, as a temporary folder is
files     opened relative to it, links not followed; written under a random name and then renamed
seal      each object behind a keyed hash of its key and content; the secret, random and of mode 0600, lies beside them

Whatever is missing, foreign, truncated or altered is as if it were not there; and no run ever fails because something
could not be kept.

    HOLDFAST_CACHE      another directory; empty: keep nothing
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
import threading
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from holdfast.common.files import RELATIVE, FileStream, Folder, publish, sweep

MAGIC = b"holdfast code 3\n"
MOST_OBJECTS = 2000
LARGEST = 2**28  # bytes of an object
SECRET = "secret"
SECRET_SIZE = 32
READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


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


class Store:
    """The directory, opened and found to be ours alone, with the secret of its seals."""

    def __init__(self, folder: Folder, secret: bytes) -> None:
        self.folder, self.secret = folder, secret

    def seal(self, key: str, code: bytes) -> bytes:
        return hmac.new(self.secret, key.encode() + b"\0" + code, sha256).hexdigest().encode() + b"\n"

    @property
    def there(self) -> bool:
        """Whether it is still ours alone, and still lies under its name; it may have been removed meanwhile."""
        try:
            held = os.fstat(self.folder.handle) if RELATIVE else os.stat(self.folder.path)
            named = os.stat(self.folder.path, follow_symlinks=False)
        except OSError:
            return False
        return _private(held) and (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino)


_OPEN: dict[Path, Store] = {}  # by place: a program uses one, its tests several
_MAKING = threading.Lock()


def _store(*, make: bool) -> Store | None:
    """The store at its place, if it can be trusted; made if it is missing and that is wanted."""
    place = directory()
    if place is None:
        return None
    found = _OPEN.get(place)
    if found is not None and found.there:
        return found
    opened = None
    try:
        if make:
            place.mkdir(parents=True, mode=0o700, exist_ok=True)
        opened = Folder(place, follow=False)
        if _safe(place, opened):
            secret = _secret(opened, make=make)
            if secret is not None:
                _OPEN[place] = Store(opened, secret)
                return _OPEN[place]
    except (OSError, ValueError):
        pass
    if opened is not None:
        opened.close()
    return None


def _safe(place: Path, folder: Folder) -> bool:
    """Whether the directory is ours alone, and nobody else could put another in its place."""
    held = os.fstat(folder.handle) if RELATIVE else os.stat(folder.path)
    real, named = place.resolve(), place.absolute()
    found = os.stat(real)
    if not _private(held) or (held.st_dev, held.st_ino) != (found.st_dev, found.st_ino):
        return False
    return all(_guarded(os.stat(parent)) for parent in {*real.parents, *named.parents})


def _private(found: os.stat_result) -> bool:
    if not stat.S_ISDIR(found.st_mode):
        return False
    return not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o022)


def _guarded(found: os.stat_result) -> bool:
    """A directory in which others cannot rename what is ours: not theirs, and not theirs to write, or sticky."""
    if not hasattr(os, "getuid"):
        return True
    ours = found.st_uid in (0, os.getuid())
    return ours and (not found.st_mode & 0o022 or bool(found.st_mode & stat.S_ISVTX))


def _secret(folder: Folder, *, make: bool) -> bytes | None:
    """The secret of the seals: 32 random bytes that only we can read, made where there are none."""
    found = _content(folder, SECRET, SECRET_SIZE)
    if make and not _whole(found):
        with _MAKING:  # the first to come makes it; never one that another has just made is taken for damaged
            found = _made_secret(folder)
    return found if _whole(found) else None


def _made_secret(folder: Folder) -> bytes | None:
    """Published where there is none; where what is there is damaged, or readable by others, in its place."""
    for _ in range(2):
        publish(folder, SECRET, lambda handle, name, place: _fill_secret(handle), durable=False, replace=False)
        found = _content(folder, SECRET, SECRET_SIZE)
        if _whole(found):
            return found
        folder.remove(SECRET)  # what it sealed is made again
    return None


def _whole(secret: bytes | None) -> bool:
    return secret is not None and len(secret) == SECRET_SIZE


def _fill_secret(handle: int) -> None:
    if hasattr(os, "fchmod"):
        os.fchmod(handle, 0o600)
    FileStream(handle).write(secrets.token_bytes(SECRET_SIZE))


def _content(folder: Folder, name: str, most: int) -> bytes | None:
    """A plain file of our own in the directory, of at most this size; None where there is none."""
    try:
        handle = folder.open(name, READ)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        mine = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o022)
        if not (mine and stat.S_ISREG(found.st_mode) and found.st_size <= most):
            return None
        if name == SECRET and hasattr(os, "getuid") and found.st_mode & 0o077:
            return None
        try:
            return file.read(most)
        except OSError:
            return None


def _name(key: str) -> str:
    return sha256(key.encode()).hexdigest() + ".o"


def fetch(key: str) -> bytes | None:
    """The object kept for this key, or None."""
    store = _store(make=False)
    content = None if store is None else _content(store.folder, _name(key), LARGEST)
    if store is None or content is None:
        return None
    start = len(MAGIC) + 65
    code = content[start:]
    return code if hmac.compare_digest(content[:start], MAGIC + store.seal(key, code)) else None


def store(key: str, code: bytes) -> None:
    """Keep the object if that is possible."""
    with suppress(OSError, ValueError, MemoryError):
        place = _store(make=True)
        if place is None:
            return
        content = MAGIC + place.seal(key, code) + code
        fill: Any = lambda handle, name, folder: FileStream(handle).write(content)  # noqa: E731
        publish(place.folder, _name(key), fill, durable=False)
        _prune(place.folder)


def _prune(folder: Folder) -> None:
    """When there are too many objects, drop the older half, and what killed writers have left."""
    names = [name for name in folder.names() if name.endswith(".o")]
    if len(names) > MOST_OBJECTS:
        sweep(folder)
        ages = {name: found.st_mtime for name in names if (found := folder.stat(name)) is not None}
        for name in sorted(ages, key=lambda name: ages[name])[: len(names) // 2]:
            folder.remove(name)
