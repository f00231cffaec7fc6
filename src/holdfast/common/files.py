"""The one writer: everything that Holdfast writes goes through here, and is there as a whole or not at all.

name        random, `.holdfast-<16 hex digits>.part<suffix>`, made exclusively in the folder of the target
folder      opened once; all that follows is relative to it, whatever happens to its name meanwhile
links       never followed: a link at the place of the target is replaced, what it points to is untouched
mode        of an existing target kept; of a new one as the umask says
order       write, fsync, rename, fsync of the folder: a reader sees the old file or the whole new one
leftovers   of writers that were killed: those of our own user and an hour old are removed by the next writer
errors      words, and the old file as it was

`CALLS` is what is asked of the operating system: the seam where tests let every single call fail in turn.
Reading has its counterpart: `read_bytes` takes ordinary files up to a stated size, and waits for no pipe.
"""

from __future__ import annotations

import errno
import io
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from holdfast.errors import BadRequest, HoldfastError

LEFTOVER = re.compile(r"\.holdfast-[0-9a-f]{16}\.part(?:\.[a-z]{1,5})?")
OLD = 3600.0  # seconds: a file that nobody has written to for so long has no writer
CHUNK = 2**20  # bytes given to the system at once
RELATIVE = {os.open, os.rename, os.unlink, os.stat} <= os.supports_dir_fd
TEMPORARY = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
PLACE = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)

WORDS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "your quota of the disk is used up",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "writing is not permitted there",
    errno.EPERM: "writing is not permitted there",
    errno.ENOENT: "there is no such folder",
    errno.ENOTDIR: "there is no such folder",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EISDIR: "it is a folder",
    errno.EIO: "the disk reports an error",
    errno.EFBIG: "the file is too large for this place",
    errno.EMFILE: "too many files are open",
    errno.ENFILE: "too many files are open",
    errno.ELOOP: "there are too many links on the way",
}


class Calls:
    """What the writer asks of the operating system."""

    open = staticmethod(os.open)
    write = staticmethod(os.write)
    fsync = staticmethod(os.fsync)
    rename = staticmethod(os.replace)
    mode = staticmethod(getattr(os, "fchmod", lambda handle, mode: None))
    unlink = staticmethod(os.unlink)
    close = staticmethod(os.close)

    @staticmethod
    def allocate(size: int) -> bytearray:
        """The room between a library and the file."""
        return bytearray(size)


CALLS = Calls()


class Folder:
    """A folder, opened once: what is done in it is done there, even if its name is given to another."""

    def __init__(self, path: Path | str, *, follow: bool = True) -> None:
        self.path = Path(path)
        flags = PLACE if follow else PLACE | getattr(os, "O_NOFOLLOW", 0)
        self.handle = CALLS.open(self.path, flags) if RELATIVE else -1

    def place(self, name: str, key: str = "dir_fd") -> tuple[str | Path, dict[str, Any]]:
        """How the system is told of a name in this folder."""
        return (name, {key: self.handle}) if RELATIVE else (self.path / name, {})

    def open(self, name: str, flags: int, mode: int = 0o600) -> int:
        where, more = self.place(name)
        return CALLS.open(where, flags, mode, **more)

    def stat(self, name: str) -> os.stat_result | None:
        """What lies there, links not followed; None where there is nothing."""
        where, more = self.place(name)
        try:
            return os.stat(where, follow_symlinks=False, **more)
        except FileNotFoundError:
            return None

    def rename(self, old: str, new: str) -> None:
        where, more = self.place(old, "src_dir_fd")
        there, further = self.place(new, "dst_dir_fd")
        CALLS.rename(where, there, **more, **further)

    def claim(self, old: str, new: str) -> None:
        """Rename to a name that nobody has taken; if somebody has, theirs stays."""
        where, more = self.place(old, "src_dir_fd")
        there, further = self.place(new, "dst_dir_fd")
        with suppress(FileExistsError):
            os.link(where, there, follow_symlinks=False, **more, **further)
        self.remove(old)

    def remove(self, name: str) -> None:
        """Without complaint: what cannot be removed stays, and is swept later."""
        where, more = self.place(name)
        with suppress(OSError):
            CALLS.unlink(where, **more)

    def names(self) -> list[str]:
        return os.listdir(self.handle if RELATIVE else self.path)

    def sync(self) -> None:
        """The rename itself, on the disk; some file systems have no such thing for folders."""
        if RELATIVE:
            try:
                CALLS.fsync(self.handle)
            except OSError as error:
                if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
                    raise

    def close(self) -> None:
        handle, self.handle = self.handle, -1
        if handle >= 0:
            with suppress(OSError):
                CALLS.close(handle)

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *nothing: object) -> None:
        self.close()


class FileStream(io.RawIOBase):
    """A new file as libraries want it: to be written to and sought in, the descriptor not theirs to close."""

    def __init__(self, handle: int) -> None:
        super().__init__()
        self.handle = handle

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        view = memoryview(content).cast("B")
        done = 0
        while done < len(view):
            done += CALLS.write(self.handle, view[done : done + CHUNK])
        return done

    def readinto(self, buffer: Any) -> int:
        found = os.read(self.handle, len(buffer))
        buffer[: len(found)] = found
        return len(found)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return os.lseek(self.handle, offset, whence)

    def truncate(self, size: int | None = None) -> int:
        wanted = self.tell() if size is None else size
        os.ftruncate(self.handle, wanted)
        return wanted


def named(path: object) -> Path:
    """The path of a file by its name; what is no name is refused before any work."""
    if not isinstance(path, str | os.PathLike):
        raise BadRequest(f"{str(path)[:40]} is not the name of a file", where="path", fix="give it as a text or a Path")
    return Path(path)


# ── writing ───────────────────────────────────────────────────────────────────────────────────────


def write(target: str | os.PathLike[str], content: bytes | str) -> Path:
    """Write a file from what it shall hold."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    return write_stream(target, lambda file: file.write(data))


def write_stream(target: str | os.PathLike[str], writer: Callable[[IO[bytes]], object]) -> Path:
    """Write a file by a function that takes an open one."""

    def fill(handle: int, name: str, folder: Folder) -> None:
        CALLS.allocate(CHUNK)
        with io.BufferedRandom(FileStream(handle), CHUNK) as file:
            writer(file)

    return _written(named(target), fill)


def _written(target: Path, fill: Callable[[int, str, Folder], object]) -> Path:
    with in_words(target), Folder(target.parent) as folder:
        if target.name in ("", ".."):
            raise IsADirectoryError(errno.EISDIR, "Is a directory")
        publish(folder, target.name, fill)
        _sweep(folder)
    return target


def publish(
    folder: Folder,
    name: str,
    fill: Callable[[int, str, Folder], object],
    *,
    durable: bool = True,
    replace: bool = True,
) -> None:
    """Fill a new file and let it take the place of the old one: all the steps, in their order.

    With `replace=False` it takes a free place only, and what is there already stays.
    """
    mode = _mode(folder, name)
    suffix = Path(name).suffix.lower()
    temporary = f".holdfast-{secrets.token_hex(8)}.part{suffix if LEFTOVER.fullmatch(_any(suffix)) else ''}"
    handle = folder.open(temporary, TEMPORARY, 0o666 if mode is None else mode)
    try:
        try:
            fill(handle, temporary, folder)
            if mode is not None:
                CALLS.mode(handle, mode)
            if durable:
                CALLS.fsync(handle)
        finally:
            with suppress(OSError):
                CALLS.close(handle)
        if replace:
            folder.rename(temporary, name)
        else:
            folder.claim(temporary, name)
    except BaseException:
        folder.remove(temporary)
        raise
    if durable:
        folder.sync()


def _any(suffix: str) -> str:
    return f".holdfast-{'0' * 16}.part{suffix}"


def _mode(folder: Folder, name: str) -> int | None:
    """The mode of the file that is there already; what is neither a file nor a link is not written over."""
    found = folder.stat(name)
    if found is None or stat.S_ISLNK(found.st_mode):
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "Is a directory")
    if not stat.S_ISREG(found.st_mode):
        raise BadRequest(f"{folder.path / name} is not an ordinary file", fix="choose another place")
    return stat.S_IMODE(found.st_mode) & 0o777


@contextmanager
def in_words(target: Path) -> Iterator[None]:
    """Whatever the system, the library or the memory refuses while `target` is written, as one of our own errors."""
    try:
        yield
    except HoldfastError:
        raise
    except OSError as error:
        reason = WORDS.get(error.errno or 0, (error.strerror or str(error) or type(error).__name__).lower())
        raise _refusal(target, reason) from error
    except MemoryError as error:
        raise _refusal(target, "the memory is used up") from error
    except (RuntimeError, ValueError) as error:  # a library while a disk fills; a name with a null character
        reason = "the disk is full" if _full(target) else str(error)[:200] or type(error).__name__
        raise _refusal(target, reason) from error


def _refusal(target: Path, reason: str) -> BadRequest:
    shown = str(target) if len(str(target)) <= 200 else f"{str(target)[:200]}..."
    return BadRequest(f"cannot write {shown}: {reason}", where=shown, fix="choose another place")


def _full(target: Path) -> bool:
    with suppress(OSError, ValueError, AttributeError):
        return os.statvfs(target.parent).f_bavail * os.statvfs(target.parent).f_frsize < CHUNK
    return False


_SWEPT: set[tuple[int, int]] = set()


def _sweep(folder: Folder) -> None:
    """Remove what killed writers have left, once for each folder."""
    with suppress(OSError):
        here = os.fstat(folder.handle) if RELATIVE else os.stat(folder.path)
        if (here.st_dev, here.st_ino) not in _SWEPT:
            _SWEPT.add((here.st_dev, here.st_ino))
            sweep(folder)


def sweep(folder: Folder) -> None:
    """Remove leftovers: our own pattern, our own user, an hour old."""
    ours = os.getuid() if hasattr(os, "getuid") else None
    for name in folder.names():
        if LEFTOVER.fullmatch(name):
            found = folder.stat(name)
            if found and found.st_mtime < time.time() - OLD and (ours is None or found.st_uid == ours):
                folder.remove(name)


# ── reading ───────────────────────────────────────────────────────────────────────────────────────


def ordinary(path: str | os.PathLike[str], largest: int, what: str) -> IO[bytes]:
    """An ordinary file, open for reading; anything else, and anything larger, is refused before it is read."""
    shown = str(path)[:200]
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        raise BadRequest(f"there is no file {shown}", fix="check the name") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadRequest(f"{shown} cannot be read: {reason}", fix="check the name") from None
    found = os.fstat(handle)
    problem = None
    if stat.S_ISDIR(found.st_mode):
        problem = f"{shown} cannot be read: Is a directory"
    elif not stat.S_ISREG(found.st_mode):
        problem = f"{shown} is not an ordinary file"
    elif found.st_size > largest:
        problem = f"{shown} has {found.st_size:,} bytes; {what} has at most {largest:,}"
    if problem is not None:
        os.close(handle)
        raise BadRequest(problem, fix="check the name")
    return os.fdopen(handle, "rb")


def read_bytes(path: str | os.PathLike[str], largest: int, what: str) -> bytes:
    """All of an ordinary file."""
    with ordinary(path, largest, what) as file:
        try:
            return file.read(largest + 1)
        except OSError as error:
            raise BadRequest(f"{str(path)[:200]} cannot be read: {error.strerror}", fix="check the disk") from None
