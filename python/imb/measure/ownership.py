"""Whose session it is. A plan has commands, so the plan of another user is not executed unasked."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from imb.model.errors import ImbError


def strangers(file: Path, owner: int | None) -> set[int]:
    """User ids other than that of this process: of the plan's file, of its folder, and `owner`, which the plan states.

    Whoever may rename in the folder can replace the plan, so the owner of both counts. Raises OSError.
    """
    found = {file.lstat().st_uid, file.parent.lstat().st_uid}
    return {uid for uid in (*found, owner) if uid is not None} - {os.geteuid()}


def refuse_strangers(session: str, file: Path, owner: int | None) -> None:
    """Raises ImbError where the session is another user's."""
    if others := strangers(file, owner):
        names = " and ".join(sorted(map(_name, others)))
        raise ImbError(
            f"session {session} belongs to user {names}; --force-owner executes its commands as"
            f" {_name(os.geteuid())}"
        )


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
