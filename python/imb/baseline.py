"""Baselines: results that later ones are held against; named, per machine and placement, never changed.

ARCHIVE/baselines/NAME/0001.json    version 1, with all its launches: it does not need their runs any more

A new baseline of the same name is a new version. Versions of one name may be of different machines and placements
(intra-node, inter-node), which are kept apart: what is checked is held against the newest version of its own kind.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import socket
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from imb import conditions, session
from imb.archive import Archive, now, user, write_whole
from imb.compare import Comparison, Settings, compare
from imb.errors import ImbError
from imb.launch import Intent
from imb.mpis import Mpi
from imb.records import Record, read, write
from imb.samples import METRICS, Launch, Side, launches_of

FORMAT = "openimb-baseline/1"
_UNHASHED = b'""}'  # at the end of a file whose hash is not known yet
_HASHED = re.compile(rb'"([0-9a-f]{64})"\}\n$')
_NAME = re.compile(r"[A-Za-z0-9][\w.+=:-]*$", re.ASCII)


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """What a baseline is of. Of logs only the hosts may be known, or nothing."""

    nodes: int | None = None
    hosts: list[str] = []
    cpu_model: str | None = None
    cores: int | None = None
    sockets: int | None = None
    threads_per_core: int | None = None

    def kind(self) -> tuple[object, ...]:
        """Machines of a kind may be held against each other, whatever they are called."""
        return self.nodes, self.cpu_model, self.cores, self.sockets, self.threads_per_core

    def same(self, other: Machine) -> bool | None:
        """Whether it is a machine of this kind; where facts are missing, whether the hosts are; None: not known."""
        if self.cpu_model and other.cpu_model:
            return self.kind() == other.kind()
        return set(self.hosts) == set(other.hosts) if self.hosts and other.hosts else None

    def __str__(self) -> str:
        """`2 nodes of 2 x Xeon Gold 6148, 40 cores`, or hosts."""
        many = f"{self.nodes} nodes of " if (self.nodes or 1) > 1 else ""
        if not self.cpu_model:
            return many + (",".join(self.hosts) or "unknown machine")
        return f"{many}{self.cpu_model}, {self.cores} cores" + (
            f", {self.sockets} sockets" if (self.sockets or 1) > 1 else ""
        )


class Kept(msgspec.Struct, frozen=True):
    """One launch: the name of its run or file, facts, and records as JSON lines."""

    name: str
    facts: dict[str, Any]
    records: str


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The file. `tolerances`: metric -> the smallest change that matters, 0.05 is 5 %. `sha256`: of the
    file, in which there is nothing between its quotes; the last field, so that later ones do not change it."""

    format: str = FORMAT
    name: str
    version: int = 0
    created: str
    by: str
    origin: str
    note: str | None = None
    machine: Machine
    placement: str | None
    tolerances: dict[str, float]
    launches: list[Kept]
    sha256: str = ""

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"

    def side(self) -> Side:
        """Its launches, to be compared. Raises ImbError."""
        launches: list[Launch] = []
        for kept in self.launches:
            launches += launches_of(read(kept.records.encode(), kept.name), kept.name, kept.facts)
        return Side(name=f"baseline {self}", launches=launches)


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """What a check says: a comparison per metric, and what is to be said before."""

    name: str
    version: int
    placement: str | None
    machine: Machine
    warnings: list[str]
    comparisons: list[Comparison]


def make(name: str, side: Side, tolerances: Mapping[str, float], *, note: str | None = None) -> Baseline:
    """A baseline of these launches; `add` gives it its version. Raises ImbError where they are of several kinds."""
    if not _NAME.match(name):
        raise ImbError(
            f"{name!r} is no name for a baseline: letters, digits and ._+=:- only, at most one word"
        )
    for metric in tolerances:
        _known(metric)
    placement = placement_of(side)  # of the two reasons to refuse the one that says more
    return Baseline(
        name=name,
        created=now(),
        by=f"{user()}@{socket.gethostname()}",
        origin=side.name,
        note=note,
        machine=machine_of(side),
        placement=placement,
        tolerances=dict(tolerances),
        launches=[_kept(launch) for launch in side.launches if launch.rows],
    )


def _kept(launch: Launch) -> Kept:
    end: list[Record] = [launch.end] if launch.end else []
    records: list[Record] = [launch.run, *launch.rows.values(), *launch.failures.values(), *end]
    return Kept(launch.name, launch.facts, write(records).decode())


def _known(metric: str) -> None:
    if metric not in METRICS:
        raise ImbError(f"no metric {metric}; give one of {', '.join(METRICS)}")


def placement_of(side: Side) -> str | None:
    """`intra-node`, `inter-node`, or None where it is not known. Raises ImbError where it is both."""
    found = {launch.placement() for launch in side.launches if launch.rows} - {None}
    if len(found) > 1:
        raise ImbError(
            f"{side.name} has both intra-node and inter-node launches; give one kind, they are kept apart"
        )
    return next(iter(found), None)


def machine_of(side: Side) -> Machine:
    """The machine of these launches. Raises ImbError where they are of several kinds."""
    found = {machine.kind(): machine for machine in map(_machine, side.launches)}
    if len(found) > 1:
        raise ImbError(
            f"{side.name} is of several machines ({'; '.join(map(str, found.values()))}); give those of one"
        )
    hosts = dict.fromkeys(host for launch in side.launches for host in launch.hosts())
    return msgspec.structs.replace(next(iter(found.values())), hosts=list(hosts))


def _machine(launch: Launch) -> Machine:
    facts = (launch.facts.get("conditions") or {}).get("machine") or {}
    said = {name: facts.get(name) for name in ("cpu_model", "cores", "sockets", "threads_per_core")}
    return Machine(nodes=len(launch.hosts()) or None, hosts=launch.hosts(), **said)


def this_machine(nodes: int) -> Machine:
    """The one that `imb` runs on."""
    here = conditions.gather().machine
    return Machine(
        nodes=nodes,
        hosts=[here.host],
        cpu_model=here.cpu_model,
        cores=here.cores,
        sockets=here.sockets,
        threads_per_core=here.threads_per_core,
    )


# --- Kept in the archive -------------------------------------------------------------------------------


def _folder(archive: Archive) -> Path:
    return archive.folder / "baselines"


def add(archive: Archive, made: Baseline) -> Baseline:
    """Writes it down as the next version of its name. Raises OSError."""
    folder = _folder(archive) / made.name
    folder.mkdir(parents=True, exist_ok=True)
    while True:
        newest = max((int(path.stem) for path in files(archive, made.name)), default=0)
        numbered = msgspec.structs.replace(made, version=newest + 1)
        part = folder / f".{secrets.token_hex(8)}"
        text = msgspec.json.encode(numbered)
        digest = hashlib.sha256(text).hexdigest().encode()
        write_whole(part, text.removesuffix(_UNHASHED) + b'"' + digest + b'"}\n')
        try:
            # A link, unlike a rename, never takes the place of a file that another host has just written.
            with suppress(FileExistsError):
                os.link(part, folder / f"{numbered.version:04d}.json")
                return numbered
        finally:
            part.unlink()


def files(archive: Archive, name: str | None = None) -> list[Path]:
    """Where the baselines are, or those of a name, oldest version first."""
    found = _folder(archive).glob(f"{name or '*'}/*.json")
    return sorted(path for path in found if path.stem.isdecimal())


def load(path: Path) -> Baseline:
    """Raises ImbError, also where the file is not as it was made."""
    try:
        text = path.read_bytes()
        found = msgspec.json.decode(text, type=Baseline)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ImbError(f"{path} is no baseline that can be read ({error})") from error
    said = _HASHED.search(text, max(len(text) - 80, 0))
    whole = text[: said.start()] + _UNHASHED if said else b""
    if not said or hashlib.sha256(whole).hexdigest().encode() != said[1]:
        raise ImbError(
            f"{path} has changed since it was made; bring back a copy, or remove it and set the baseline anew"
        )
    if (found.name, found.version) != (path.parent.name, int(path.stem)):
        raise ImbError(f"{path} is {found}, not what its path says; remove it")
    return found


def named(archive: Archive, name: str) -> list[Baseline]:
    """The versions that NAME or NAME@VERSION means, oldest first. Raises ImbError where there is none."""
    bare, at, version = name.partition("@")
    there = files(archive, bare) if _NAME.match(bare) else []
    found = [load(path) for path in there if not at or str(int(path.stem)) == version]
    if not found:
        known = ", ".join(sorted({path.parent.name for path in files(archive)})) or "none yet"
        raise ImbError(
            f"no baseline {name} in {archive.folder}; there are: {known}; `imb baseline set` makes one"
        )
    return found


def choose(found: Sequence[Baseline], machine: Machine, placement: str | None) -> Baseline:
    """The newest that is of this machine and placement. Raises ImbError where none is."""
    fits = [
        one
        for one in found
        if one.machine.same(machine) is not False
        and (None in (one.placement, placement) or one.placement == placement)
    ]
    if not fits:
        have = "; ".join(
            dict.fromkeys(f"{one.placement or 'unknown placement'} on {one.machine}" for one in found)
        )
        raise ImbError(
            f"baseline {found[-1].name} has nothing for {placement or 'unknown placement'} on {machine}, only: {have};"
            " they are kept apart: `imb baseline set` makes one of this kind, --force judges all the same"
        )
    return fits[-1]


# --- Judging -------------------------------------------------------------------------------------------


def check(
    made: Baseline, side: Side, tolerances: Mapping[str, float] | None = None, *, force: bool = False
) -> Check:
    """Judges a side against a baseline, by each metric that has a tolerance. Raises ImbError."""
    machine = machine_of(side)
    warnings: list[str] = []
    same = made.machine.same(machine)
    if same is None:
        warnings.append("it is not known whether baseline and results are of the same machine")
    elif not same:
        warnings.append(f"the baseline is of another machine: {made.machine} against {machine}")
    if None in (made.placement, placement_of(side)):
        warnings.append("it is not known whether baseline and results are both intra-node or both inter-node")
    reference = made.side()
    limits = {**made.tolerances, **(tolerances or {})}
    for metric in limits:
        _known(metric)
    return Check(
        name=made.name,
        version=made.version,
        placement=made.placement,
        machine=made.machine,
        warnings=warnings,
        comparisons=[
            compare(reference, side, Settings(metric=metric, relevant=relevant, force=force))
            for metric, relevant in limits.items()
        ],
    )


def refuse_if_imported(made: Baseline) -> None:
    """Raises ImbError where it is not known how its launches were made."""
    if any(kept.facts.get("intent") is None or kept.facts.get("arguments") is None for kept in made.launches):
        raise ImbError(
            f"baseline {made} was not launched by imb; give the results to check (check {made.name} SIDE)"
        )


def plan(
    made: Baseline, mpi: Mpi, programs: Path | None, launches: int | None, timeout: float | None
) -> session.Plan:
    """What the baseline was measured with, once more: the same launches, under this MPI. Raises ImbError."""
    refuse_if_imported(made)
    cells: Counter[bytes] = Counter()
    for kept in made.launches:
        names = ("component", "arguments", "intent", "programs")
        cells[msgspec.json.encode({name: kept.facts[name] for name in names})] += 1
    variants: list[session.Variant] = []
    items: list[session.Item] = []
    for cell in cells:
        said = msgspec.json.decode(cell)
        intent = msgspec.convert(said["intent"], Intent)
        variants.append(
            session.Variant(
                name=str(made), mpi=mpi, programs=str(programs or said["programs"]), intent=intent
            )
        )
        items.append(
            session.Item(0, said["component"], said["arguments"], 0, len(variants) - 1, intent.ranks)
        )
    turns = launches or max(cells.values())
    label = f"baseline-check/{made.name}"
    ordered = [
        msgspec.structs.replace(item, turn=turn, labels=[label])
        for turn in range(1, turns + 1)
        for item in items
    ]
    found = session.Plan(
        id=session.new_id(),
        created=now(),
        timeout=timeout,
        variants=variants,
        items=[msgspec.structs.replace(item, number=number) for number, item in enumerate(ordered, 1)],
    )
    session.examine(found)
    return found
