"""The MPI with which the files of `imb tune` were proven, and whether the installed MPI is another one.

Comment lines of switch.sh record each proof; the last one counts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from imb.model.errors import ImbError
from imb.model.text import now, one_line, shell_word
from imb.mpi.installations import Installation, find, find_again, is_name
from imb.runner import stored_sessions
from imb.runner.session import settings_of
from imb.store.durable_files import write_whole
from imb.store.store import Archive
from imb.tune.tune_planning import TuneSettings
from imb.tune.watch_library import library_of

SWITCH = "switch.sh"
_LINE = re.compile(r"(?m)^# proven (\S+), session (\S*): (.+); library ([0-9a-f]*)$")


class ProofRecord(NamedTuple):
    """One proof. `library`: hash of the MPI's library, or empty if it was not found."""

    date: str
    session: str
    version: str
    library: str


def write_switch(folder: Path, lines: Iterable[str], mpi: Installation, session: str) -> None:
    """Write the file that switches the files of the folder on. Raises OSError."""
    text = "".join(f"{line}\n" for line in (*lines, _line(mpi, session)))
    write_whole(folder / SWITCH, text.encode())


def last_proof(folder: Path) -> ProofRecord | None:
    """The last proof of the files in a folder, or None if there is none."""
    try:
        text = (folder / SWITCH).read_text(errors="replace")
    except OSError:
        return None
    lines = _LINE.findall(text)
    return ProofRecord(*lines[-1]) if lines else None


def prove_again(folder: Path, mpi: Installation, session: str) -> None:
    """Add a line for this session, unless the last line is already its own. Raises OSError."""
    before = last_proof(folder)
    if before and before.session != session:
        text = (folder / SWITCH).read_text(errors="replace")
        write_whole(folder / SWITCH, f"{text.rstrip()}\n{_line(mpi, session)}\n".encode())


def difference(folder: Path, mpi: Installation) -> str | None:
    """How this MPI differs from the one with which the files were proven, or None if it is the same or this
    is unknown."""
    before = last_proof(folder)
    if before is None:
        return None
    if before.version != one_line(mpi.version):
        return f"{folder} was proven with {before.version}; this is {mpi.version}"
    library = _hash_of_library(mpi)
    if before.library and library and before.library != library:
        return f"{folder} was proven with another build of {mpi.version}"
    return None


def outdated_lines(archive: Archive) -> Iterator[str]:
    """Yield lines on files of this user's sessions that were proven with another version or build of their
    MPI than the installed one, with the command that confirms them again. It never starts the launcher of
    another MPI."""
    newest: dict[str, tuple[TuneSettings, Installation]] = {}
    for plan in stored_sessions.command_plans(archive, "tune"):
        try:
            settings = settings_of(plan, TuneSettings)
        except ImbError:
            continue  # of another version
        newest[settings.verify or settings.output] = settings, plan.variants[0].mpi
    for folder, (settings, before) in newest.items():
        if last_proof(Path(folder)) is None:
            continue
        try:
            # A folder or wrapper may be a link that now leads to another version. A name would need a search of all MPIs.
            is_path = settings.mpi is not None and not is_name(settings.mpi)
            mpi = find(settings.mpi) if is_path else find_again(before)
        except ImbError:
            continue  # its module is not loaded, or it was removed
        if mpi.flavor == before.flavor and (why := difference(Path(folder), mpi)):
            option = f" --mpi {shell_word(settings.mpi)}" if settings.mpi else ""
            yield f"{why}: imb tune{option} --verify {shell_word(folder)}"


def _line(mpi: Installation, session: str) -> str:
    return f"# proven {now()}, session {session}: {one_line(mpi.version)}; library {_hash_of_library(mpi)}"


def _hash_of_library(mpi: Installation) -> str:
    try:
        return hashlib.sha256(library_of(mpi).read_bytes()).hexdigest()[:16]
    except (ImbError, OSError):
        return ""
