"""From the columns of launches to sweeps: endpoints by name, one sweep for each benchmark and size. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from imb.fabric.sweep import Endpoint, Rails, Sweep
from imb.model.errors import ImbError
from imb.model.pairs import LOOPBACK, PairLaunch
from imb.model.records import Endpoint as Place
from imb.model.records import Run
from imb.stats.arrays import Numbers


def endpoints_of(launches: Sequence[PairLaunch], known: Sequence[Endpoint] = ()) -> tuple[Endpoint, ...]:
    """Of all launches; an endpoint is the same in two where host and place are. `known` ones keep their indices."""
    found = {(one.host, one.place): one for one in known}
    for launch in launches:
        for host, place in named(launch.run):
            found.setdefault((host, place), Endpoint(len(found), host, place))
    return tuple(found.values())


def sweeps_of(launches: Sequence[PairLaunch], endpoints: tuple[Endpoint, ...]) -> list[Sweep]:
    """All launches together, of these endpoints; passes and rounds of a later one are counted on. Empty where no pair was
    measured. Raises ImbError where launches of one benchmark and size have different loads."""
    index = {(one.host, one.place): one.index for one in endpoints}
    tables = [np.array([index[name] for name in named(launch.run)], dtype=np.int32) for launch in launches]
    keys = {
        (name, int(length))
        for launch in launches
        for code, name in enumerate(launch.columns.names)
        for length in np.unique(launch.columns.bytes[launch.columns.benchmark == code])
    }
    return [_sweep(endpoints, key, launches, tables) for key in sorted(keys)]


def _sweep(
    endpoints: tuple[Endpoint, ...],
    key: tuple[str, int],
    launches: Sequence[PairLaunch],
    tables: Sequence[Numbers],
) -> Sweep:
    parts: list[tuple[npt.NDArray[np.generic], ...]] = []
    used: list[PairLaunch] = []
    causes: dict[tuple[int, int], str] = {}
    passes = rounds = 0
    for number, (launch, table) in enumerate(zip(launches, tables, strict=True)):
        columns = launch.columns
        if key[0] not in columns.names:
            continue
        mine = (columns.benchmark == columns.names.index(key[0])) & (columns.bytes == key[1])
        if not mine.any():
            continue
        used.append(launch)
        for (name, length, *ends), cause in launch.causes.items():
            if (name, length) == key and max(ends) < len(table):
                low, high = sorted(int(table[end]) for end in ends)
                causes[low, high] = cause.replace("_", " ")
        own_passes, own_rounds = columns.passes[mine] + passes, columns.rounds[mine] + rounds
        a, b = table[columns.a[mine]], table[columns.b[mine]]
        parts.append(
            (a, b, own_passes, own_rounds, columns.seconds[mine], np.full(len(a), number, dtype=np.int32))
        )
        passes, rounds = int(own_passes.max()) + 1, int(own_rounds.max()) + 1
    _refuse_mixed(used)
    rails = _rails(key, launches, tables, endpoints)
    a, b, every_pass, every_round, seconds, numbers = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    return Sweep(
        endpoints,
        benchmark=key[0],
        bytes=key[1],
        a=np.asarray(a, dtype=np.int32),
        b=np.asarray(b, dtype=np.int32),
        passes=np.asarray(every_pass, dtype=np.int32),
        rounds=np.asarray(every_round, dtype=np.int32),
        seconds=np.asarray(seconds, dtype=np.float64),
        rails=rails,
        launches=np.asarray(numbers, dtype=np.int32) if len(parts) > 1 else None,
        causes=causes,
    )


def load_of(launch: PairLaunch) -> str:
    """What was under way beside a pair, in words; empty where the records do not have it. Rounds of -pairs_file and those of all
    pairs are the same load: --quick has both."""
    run = launch.run
    if run.option("endpoint", str) is None:
        return ""
    if run.option("serial", bool):
        return "-serial"
    if run.option("halves", bool):
        return "-halves"
    hub = run.option("rounds", str)
    return f"-rounds {hub}" if hub else "concurrent pairs"


def _refuse_mixed(launches: Sequence[PairLaunch]) -> None:
    """Times of a hub, across the middle, or of one pair alone are no times of pairs in their rounds. Raises ImbError."""
    known = {load: one.name for one in launches if (load := load_of(one))}
    if len(known) > 1:
        (first, name), (second, other), *_ = known.items()
        raise ImbError(
            f"{name} was measured with {first}, {other} with {second}: times under different load are not one sweep; judge them apart"
        )


def _rails(
    key: tuple[str, int],
    launches: Sequence[PairLaunch],
    tables: Sequence[Numbers],
    endpoints: Sequence[Endpoint],
) -> Rails | None:
    """Of all launches together; None where nothing is known."""
    names: dict[str, int] = {}
    listed: dict[str, dict[str, None]] = {one.host: {} for one in endpoints}
    parts: list[tuple[npt.NDArray[Any], ...]] = []
    for launch, table in zip(launches, tables, strict=True):
        traffic = launch.traffic
        if traffic is None or key[0] not in launch.columns.names:
            continue
        number = launch.columns.names.index(key[0])
        mine = (traffic.benchmark == number) & (traffic.bytes == key[1])
        rail = np.array([names.setdefault(name, len(names)) for name in traffic.names], dtype=np.int32)
        end, other = table[traffic.end[mine]], table[traffic.other[mine]]
        parts.append((end, other, rail[traffic.interface[mine]], traffic.carried[mine]))
        for rank in launch.run.ranks or []:
            if isinstance(rank.interfaces, list):
                own = (name for name in rank.interfaces if not LOOPBACK.match(name))
                listed.setdefault(rank.host, {}).update(dict.fromkeys(own))
    if not parts or not any(len(one[0]) for one in parts):
        return None
    end, other, rail, carried = (np.concatenate(column) for column in zip(*parts, strict=True))
    have = tuple(tuple(listed[one.host]) for one in endpoints)
    return Rails(tuple(names), have, end, other, rail, carried)


def named(run: Run) -> list[tuple[str, str]]:
    """Host and place of each endpoint; the place is empty where a host has one endpoint."""
    found = run.endpoints or []
    kind = run.option("endpoint", str) or "rank"
    places = [_place(one, kind) for one in found]
    names = list(zip((one.host for one in found), places, strict=True))
    if len(set(names)) < len(names):  # two ranks of one place
        return [(one.host, f"rank {one.rank}") for one in found]
    return names


def _place(one: Place, kind: str) -> str:
    if kind == "host":
        return ""
    if kind == "core" and one.cpus:
        return f"core {one.cpus[0]}"
    number = {"numa": one.numa, "socket": one.socket}.get(kind)
    return f"rank {one.rank}" if number is None else f"{kind} {number}"
