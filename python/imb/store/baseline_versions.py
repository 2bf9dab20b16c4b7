"""Baselines in the archive.

ARCHIVE/baselines/NAME/0001.json    version 1 with all its launches, so that it does not depend on their runs

A new baseline with the same name is a new version. The versions of a name may come from different machines and placements
(intra-node, inter-node): results are compared with the newest version for their machine and placement.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from imb.model.baseline_record import Baseline, BaselineLaunch, machine_of, placement_of
from imb.model.errors import ImbError
from imb.model.observations import Launch, Side, refuse_unknown_metric
from imb.model.records import Record, write
from imb.model.text import now
from imb.store.durable_files import write_whole
from imb.store.labels import writer
from imb.store.reading import UnreadableFile, json_of, names_in, read_part
from imb.store.store import Archive

_UNHASHED = b'""}'  # the end of a file before its hash is filled in
_HASHED = re.compile(rb'"([0-9a-f]{64})"\}\n$')
_NAME = re.compile(r"[A-Za-z0-9][\w.+=:-]*$", re.ASCII)


def make(
    name: str,
    side: Side,
    tolerances: Mapping[str, float],
    *,
    note: str | None = None,
    foreign: Collection[str] = (),
) -> Baseline:
    """A baseline of these launches; `add` sets its version. `foreign`: full names of the runs whose facts another user may have written.
    Raises ImbError if the launches have several placements or kinds of machines."""
    if not _NAME.match(name):
        raise ImbError(f"invalid baseline name: {name!r}; use letters, digits and ._+=:-, no blanks")
    for metric in tolerances:
        refuse_unknown_metric(metric)
    placement = placement_of(side)  # before the machine, since its error message is more specific
    return Baseline(
        name=name,
        created=now(),
        by=writer(),
        origin=side.name,
        note=note,
        machine=machine_of(side),
        placement=placement,
        tolerances=dict(tolerances),
        launches=[
            _keep(launch, launch.content.partition("#")[0] in foreign)
            for launch in side.launches
            if launch.rows
        ],
    )


def _keep(launch: Launch, foreign: bool) -> BaselineLaunch:
    end: list[Record] = [launch.end] if launch.end else []
    run = replace(launch.run, options=None)
    records: list[Record] = [run, *launch.rows.values(), *launch.failures.values(), *end]
    text = write(records).decode()
    return BaselineLaunch(launch.name, launch.facts, text, foreign, launch.content, launch.run.options)


def add(archive: Archive, baseline: Baseline) -> Baseline:
    """Writes a baseline as the next version of its name. Raises OSError."""
    folder = archive.baselines / baseline.name
    folder.mkdir(parents=True, exist_ok=True)
    while True:
        newest = max((int(path.stem) for path in files(archive, baseline.name)), default=0)
        numbered = msgspec.structs.replace(baseline, version=newest + 1)
        part = folder / f".{secrets.token_hex(8)}"
        text = msgspec.json.encode(numbered)
        digest = hashlib.sha256(text).hexdigest().encode()
        write_whole(part, text.removesuffix(_UNHASHED) + b'"' + digest + b'"}\n', mode=0o644)
        try:
            # A link, unlike a rename, never replaces a file that another host has just written.
            with suppress(FileExistsError):
                os.link(part, path_of_baseline(archive, numbered))
                return numbered
        finally:
            part.unlink()


def files(archive: Archive, name: str | None = None) -> list[Path]:
    """The files of all baselines, or of the baselines with this name, oldest version first."""
    folder = archive.baselines
    names = [name] if name else names_in(folder)
    paths = (
        folder / each / file for each in names if (folder / each).is_dir() for file in names_in(folder / each)
    )
    return [path for path in paths if path.suffix == ".json" and path.stem.isdecimal()]


def path_of_baseline(archive: Archive, baseline: Baseline) -> Path:
    """The file of a baseline."""
    return archive.baselines / baseline.name / f"{baseline.version:04d}.json"


def load_baseline(path: Path, text: bytes | None = None) -> Baseline:
    """The baseline in a file. `text`: the content of the file, if it was read already. Raises ImbError if it is no baseline or was modified."""
    try:
        text = read_part(path) if text is None else text
        baseline = json_of(path, text, Baseline)
    except UnreadableFile as error:
        raise error.error_with_advice("restore a copy, or remove it") from error
    match = _HASHED.search(text, max(len(text) - 80, 0))
    whole = text[: match.start()] + _UNHASHED if match else b""
    if not match or hashlib.sha256(whole).hexdigest().encode() != match[1]:
        raise ImbError(
            f"{path} was modified after it was written; restore a copy, or remove it and set the baseline again"
        )
    if (baseline.name, baseline.version) != (path.parent.name, int(path.stem)):
        raise ImbError(f"{path} contains baseline {baseline}, which does not match its path; remove it")
    return baseline


def baseline_versions(archive: Archive, name: str) -> list[Baseline]:
    """The versions that match NAME or NAME@VERSION, oldest first. Raises ImbError if none does."""
    bare, at, version = name.partition("@")
    paths = files(archive, bare) if _NAME.match(bare) else []
    versions = [load_baseline(path) for path in paths if not at or str(int(path.stem)) == version]
    if not versions:
        known = ", ".join(sorted({path.parent.name for path in files(archive)})) or "none yet"
        raise ImbError(
            f"no baseline {name} in {archive.folder}; existing: {known}; create one with `imb baseline set`"
        )
    return versions
