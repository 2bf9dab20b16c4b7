"""Checks who may have written commands before imb executes them. Plans and baselines contain commands. If another user has written one, or
may have, imb executes it only on request. No other module checks owners and modes.

A plan's folder has other files of its session, so no other user may write in the folder either. A baseline is a single file: a user
who may write in its folder can put a file there, but that file does not belong to this user.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from imb.model.errors import UNDECODABLE, ImbError
from imb.model.text import user_name
from imb.model.units import count_of

_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class WrittenFile(NamedTuple):
    """A file. `text`: its content; `strangers`: other users who own it or its folder; `open_to_others`: which of the two other users may
    write, with their modes."""

    text: bytes
    strangers: frozenset[int]
    open_to_others: tuple[str, ...]

    @property
    def is_own(self) -> bool:
        """Whether only this user can have written the file."""
        return not self.strangers and not self.open_to_others


_UNREADABLE: tuple[type[Exception], ...] = (OSError, *UNDECODABLE)


def examine_file(file: Path, *, folder: bool = False, own: bool = False) -> WrittenFile:
    """Examines and reads a file. `folder`: also examines its folder. `own`: does not read a file of another user, which may be anything. The
    examined file is the one that is read, even if it is replaced meanwhile. Raises OSError."""
    where = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | (os.O_NOFOLLOW if folder else 0))
    try:
        number = os.open(file.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=where)
        with os.fdopen(number, "rb") as opened:
            statuses = [(file, os.fstat(number))]
            statuses += [(file.parent, os.fstat(where))] if folder else []
            if not stat.S_ISREG(statuses[0][1].st_mode):
                raise OSError(errno.EINVAL, "not a regular file", str(file))
            strangers = frozenset(status.st_uid for _, status in statuses) - {os.geteuid()}
            text = b"" if own and strangers else opened.read()
    finally:
        os.close(where)
    open_to_others = tuple(
        f"{path} (mode {status.st_mode & 0o7777:04o})"
        for path, status in statuses
        if status.st_mode & _OTHERS
    )
    return WrittenFile(text, strangers, open_to_others)


def is_own(folder: Path, facts: Mapping[str, Any]) -> bool:
    """Whether only this user can have written the facts of the run in this folder, or whether they contain nothing to execute. `facts`: the
    facts as they were read before. Raises ImbError if the file cannot be read."""
    file = folder / "facts.json"
    if facts.get("intent") is None:
        return True
    try:
        written = examine_file(file, own=True)
        return written.is_own and msgspec.json.decode(written.text) == facts
    except FileNotFoundError:  # removed meanwhile
        return False
    except _UNREADABLE as error:
        raise ImbError(f"{file} cannot be read ({error}); see `imb archive verify`") from error


def refuse_others(
    subject: str, written: WrittenFile, stated: Collection[int | None] = (), runs: Sequence[str] = ()
) -> None:
    """Raises ImbError if another user has or may have written the file. `stated`: user ids that the file names as its authors; `runs`: runs
    in it that another user may have written."""
    if others := (written.strangers | {uid for uid in stated if uid is not None}) - {os.geteuid()}:
        names = " and ".join(sorted(map(user_name, others)))
        raise ImbError(
            f"{subject} belongs to user {names}; --force-owner executes its commands as {user_name(os.geteuid())}"
        )
    if written.open_to_others:
        raise ImbError(
            f"{subject}: other users may write {' and '.join(written.open_to_others)}; unless they have,"
            f" `chmod go-w` {'both' if len(written.open_to_others) > 1 else 'it'}, or give --force-owner"
        )
    if runs:
        raise ImbError(
            f"{subject} has {count_of(len(runs), 'run')} that other users may have written, such as {runs[0]};"
            f" --force-owner executes their commands as {user_name(os.geteuid())}"
        )


def make_session_folder(folder: Path) -> None:
    """Creates a folder in which only this user may read and write. If it creates the parent folder and other users may write there, it
    sets the sticky bit, so that users cannot rename each other's folders. Raises OSError."""
    new = not folder.parent.exists()
    folder.parent.mkdir(parents=True, exist_ok=True)
    if new and (mode := folder.parent.stat().st_mode) & _OTHERS:
        folder.parent.chmod(stat.S_IMODE(mode) | stat.S_ISVTX)
    folder.mkdir(mode=0o700)
