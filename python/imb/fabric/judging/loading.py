"""From columns of launches to sweeps: endpoints by name, one sweep for each benchmark and size. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from imb.compare.kinds import library_of
from imb.fabric.judging.sweep import Endpoint, Sweep
from imb.fabric.pair_records import PairLaunch
from imb.model.errors import ImbError
from imb.model.records import EndpointRecord as Place
from imb.model.records import Run
from imb.stats.arrays import Numbers


def endpoints_of(launches: Sequence[PairLaunch], earlier: Sequence[Endpoint] = ()) -> tuple[Endpoint, ...]:
    """The distinct endpoints of all launches, identified by host and place. Endpoints in `earlier` keep their
    indices."""
    by_name = {(endpoint.host, endpoint.place): endpoint for endpoint in earlier}
    for launch in launches:
        for host, place in endpoint_names(launch.run):
            by_name.setdefault((host, place), Endpoint(len(by_name), host, place))
    return tuple(by_name.values())


def sweeps_of(launches: Sequence[PairLaunch], endpoints: tuple[Endpoint, ...]) -> list[Sweep]:
    """One sweep for each benchmark and size, over all launches. Numbers of passes and rounds of later
    launches continue those of earlier ones. Empty if no pair was measured. Raises ImbError if launches of one
    benchmark and size have different loads."""
    index = {(endpoint.host, endpoint.place): endpoint.index for endpoint in endpoints}
    tables = [
        np.array([index[name] for name in endpoint_names(launch.run)], dtype=np.int32) for launch in launches
    ]
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
        selected = (columns.benchmark == columns.names.index(key[0])) & (columns.bytes == key[1])
        if not selected.any():
            continue
        used.append(launch)
        for (name, length, *ends), cause in launch.causes.items():
            if (name, length) == key and max(ends) < len(table):
                low, high = sorted(int(table[end]) for end in ends)
                causes[low, high] = cause
        own_passes, own_rounds = columns.passes[selected] + passes, columns.rounds[selected] + rounds
        a, b = table[columns.a[selected]], table[columns.b[selected]]
        parts.append(
            (a, b, own_passes, own_rounds, columns.seconds[selected], np.full(len(a), number, dtype=np.int32))
        )
        passes, rounds = int(own_passes.max()) + 1, int(own_rounds.max()) + 1
    _refuse_mixed(used)
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
        launches=np.asarray(numbers, dtype=np.int32) if len(parts) > 1 else None,
        causes=causes,
    )


def load_of(launch: PairLaunch) -> str:
    """The load beside a pair, as text; empty if the records lack it. Rounds of -pairs_file and rounds of all
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
    """Raises ImbError for launches of several MPI libraries or of different loads. Times of a hub (-rounds),
    across the middle (-halves) or of one pair alone (-serial) cannot be mixed with times of concurrent pairs."""
    by_library = {library: launch.name for launch in launches if (library := library_of(launch.run))}
    if len(by_library) > 1:
        (first, name), (second, other), *_ = by_library.items()
        raise ImbError(
            f"{name} was measured with {first}, {other} with {second}: times of several MPI libraries are not one sweep; judge them apart"
        )
    by_load = {load: launch.name for launch in launches if (load := load_of(launch))}
    if len(by_load) > 1:
        (first, name), (second, other), *_ = by_load.items()
        raise ImbError(
            f"{name} was measured with {first}, {other} with {second}: times under different load are not one sweep; judge them apart"
        )


def endpoint_names(run: Run) -> list[tuple[str, str]]:
    """Host and place of each endpoint; the place is empty if a host has one endpoint."""
    endpoints = run.endpoints or []
    kind = run.option("endpoint", str) or "rank"
    places = [_place(endpoint, kind) for endpoint in endpoints]
    names = list(zip((endpoint.host for endpoint in endpoints), places, strict=True))
    if len(set(names)) < len(names):  # two ranks share a place
        return [(endpoint.host, f"rank {endpoint.rank}") for endpoint in endpoints]
    return names


def _place(endpoint: Place, kind: str) -> str:
    if kind == "host":
        return ""
    if kind == "core" and endpoint.cpus:
        return f"core {endpoint.cpus[0]}"
    number = {"numa": endpoint.numa, "socket": endpoint.socket}.get(kind)
    return f"rank {endpoint.rank}" if number is None else f"{kind} {number}"
