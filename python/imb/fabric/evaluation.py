"""From record files to the output of `imb fabric`: launches, topology, earlier launches, verdict, hosts to
drain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from imb.model.errors import ImbError
from imb.model.notes import note_unread
from imb.model.text import one_line
from imb.model.units import count_of, list_first, percent_text, rounded_size, size
from imb.stats.error_rates import ANY_FALSE
from imb.store.store import Archive

if TYPE_CHECKING:
    from imb.fabric.drain import Drain
    from imb.fabric.fabric_experiment import Sources
    from imb.fabric.fabric_text import SweepReport
    from imb.fabric.judging.sweep import Endpoint
    from imb.fabric.judging.topology import Topology
    from imb.fabric.judging.verdict import SweepState, SweepVerdict
    from imb.fabric.pair_records import PairLaunch
    from imb.fabric.topology_text import Network

MOST_PASSES = 100  # most passes that an advice names
_LISTED = 4  # most names in a line
MOST_DRAINED = 0.25  # share of the hosts; if more are slow, hosts are rarely the cause


class SweepReference(NamedTuple):
    """What a sweep is compared with: the smallest relevant slowdown (`least`, a share), the network, earlier
    launches of its pairs."""

    least: float
    network: Network | None = None
    network_file: Path | None = None
    past: Sequence[PairLaunch] | None = None
    past_name: str | None = None


def network_in(path: Path) -> Network:
    """The network of a topology file. Raises ImbError."""
    from imb.fabric import topology_text
    from imb.store import sources

    try:
        text = sources.read_source(path)
    except sources.UnreadableText as error:
        raise ImbError(f"{path}: {error}") from error
    if len(text) > topology_text.LARGEST:
        raise ImbError(
            f"{path}: {rounded_size(len(text))}; larger than any topology; {topology_text.ACCEPTED}"
        )
    return topology_text.parse_topology(text, str(path))


def sources_named(archive: Archive, names: Sequence[str]) -> Sources:
    """The record files of these runs, labels, files or folders. Raises ImbError."""
    from imb.store.names import record_files

    return record_files(archive, *names)


def launches_of(sources: Sources, notes: list[str]) -> list[PairLaunch]:
    """All launches of IMB-FABRIC in these files. Problems of stored files are added to `notes`; problems of
    other files are printed. Raises ImbError if there are no launches."""
    from imb.fabric import pair_records
    from imb.store.sources import UnreadableText, blocks

    launches: list[PairLaunch] = []
    for name, path in sources:
        is_file = name.startswith(str(path))  # runs of the archive have other names
        try:
            file_launches = pair_records.read_pairs(blocks(path), str(path) if is_file else name)
        except UnreadableText as error:
            raise ImbError(f"{name}: {error}") from error
        if is_file and name != str(path) and len(file_launches) > 1:
            file_launches = [launch for launch in file_launches if launch.name == name]
        for launch in file_launches:
            problems = [*map(str, launch.problems)]
            if (unlisted := launch.wrong - len(launch.problems)) > 0:
                problems.append(f"{launch.name}: {count_of(unlisted, 'more line')} without a record")
            if is_file:
                note_unread(problems)
            else:
                notes += problems
            if launch.end is None:
                notes.append(f"{launch.name}: cut off; what was written is judged")
            elif launch.end.state != "complete":
                notes.append(f"{launch.name}: {launch.end.state}; what was written is judged")
        launches += file_launches
    if not launches:
        raise ImbError(
            f"{', '.join(name for name, _ in sources)}: no records of IMB-FABRIC; run `imb fabric`, or IMB-FABRIC -json FILE"
        )
    return launches


def judge_launches(
    launches: Sequence[PairLaunch], sources: Sources, against: SweepReference, notes: Sequence[str]
) -> tuple[SweepReport, Topology | None]:
    """The verdict on all these launches, and the topology or None. Raises ImbError."""
    from imb.fabric.fabric_text import SweepReport
    from imb.fabric.judging.earlier_sweeps import divide_by_past
    from imb.fabric.judging.elements import FEWEST, hardly_measured_endpoints
    from imb.fabric.judging.inference import judge_sweeps
    from imb.fabric.judging.launch_levels import level_launches
    from imb.fabric.judging.loading import endpoints_of, load_of, sweeps_of
    from imb.fabric.judging.verdict import SweepVerdict

    all_notes = list(notes)
    endpoints = endpoints_of(launches)
    topology = topology_of(against, endpoints, all_notes) if against.network and endpoints else None
    sweeps = measured = sweeps_of(launches, endpoints)
    largest = 0.0
    if against.past is not None:
        all_endpoints = endpoints_of(against.past, endpoints)
        past = [level_launches(sweep, topology) for sweep in sweeps_of(against.past, all_endpoints)]
        sweeps = [level_launches(sweep, topology) for sweep in sweeps]
        # Compare names, because indices differ.
        past_names = {endpoint.name for endpoint in endpoints_of(against.past)}
        new = [endpoint.name for endpoint in endpoints if endpoint.name not in past_names]
        if missing := [endpoint.name for endpoint in all_endpoints[len(endpoints) :]]:
            all_notes.append(f"in {against.past_name}, but not measured now: {list_first(missing, _LISTED)}")
        if new:
            all_notes.append(f"not in {against.past_name}: {list_first(new, _LISTED)}")
        loads = [
            " and ".join(dict.fromkeys(filter(None, map(load_of, side_launches))))
            for side_launches in (launches, against.past)
        ]
        if all(loads) and loads[0] != loads[1]:
            all_notes.append(
                f"measured with {loads[0]}, {against.past_name} with {loads[1]}: the ratios contain this difference"
            )
        sweeps, past_notes, largest = divide_by_past(sweeps, past, against.past_name or "")
        all_notes += past_notes
    verdict = (
        judge_sweeps(
            sweeps,
            _equalize_distances(topology) if against.past is not None else topology,
            level=ANY_FALSE,
            least_effect=against.least,
        )
        if sweeps
        else SweepVerdict("inconclusive", notes=("no pair was measured",))
    )
    few_measured = dict.fromkeys(name for sweep in measured for name in hardly_measured_endpoints(sweep))
    few_in_past = dict.fromkeys(
        name for sweep in sweeps for name in hardly_measured_endpoints(sweep) if name not in few_measured
    )
    for names, clause in (
        (few_measured, "were measured"),
        (few_in_past, f"are in {against.past_name} (omit --baseline, or make a new one)"),
    ):
        if names and len(names) < len(endpoints):
            line = f"not judged, as fewer than {FEWEST} of their pairs {clause}: {list_first(list(names), _LISTED)}"
            verdict = _limit_to_inconclusive(verdict, line)
    if largest >= 1 + against.least and verdict.state == "healthy":
        slower = f"all pairs take {percent_text(largest - 1, 1)} longer than in {against.past_name}; no single part of the fabric does"
        verdict = _limit_to_inconclusive(verdict, slower)
    kinds = {kind for launch in launches if (kind := launch.run.option("endpoint", str))}
    judged = SweepReport(
        verdict=verdict,
        sweeps=sweeps,
        endpoints=endpoints,
        level=ANY_FALSE,
        least=against.least,
        sources=[name for name, _ in sources],
        notes=all_notes,
        baseline=against.past_name,
        endpoint_kind={"rank": "endpoint", "numa": "NUMA node"}.get(kind, kind)
        if len(kinds) == 1 and (kind := str(next(iter(kinds))))
        else "endpoint",
    )
    return add_missing(judged, [(sweep.benchmark, sweep.bytes) for sweep in measured]), topology


def _limit_to_inconclusive(verdict: SweepVerdict, reason: str) -> SweepVerdict:
    """The verdict with the reason as its first note; healthy becomes inconclusive."""
    state: SweepState = "inconclusive" if verdict.state == "healthy" else verdict.state
    return replace(verdict, state=state, notes=(reason, *verdict.notes))


def add_missing(judged: SweepReport, sizes: Sequence[tuple[str, int]]) -> SweepReport:
    """The report; a healthy verdict becomes inconclusive if one of these benchmarks and sizes was not
    measured."""
    judged_sizes = {(measured.benchmark, measured.bytes) for measured in judged.verdict.per_size}
    missing = [f"{name} {size(length)}" for name, length in sizes if (name, length) not in judged_sizes]
    if not missing or judged.verdict.state != "healthy":
        return judged
    past = f", or not in {judged.baseline}" if judged.baseline else ""
    reason = f"not measured{past}: {', '.join(missing)}"
    return judged._replace(verdict=_limit_to_inconclusive(judged.verdict, reason))


def add_next_step(judged: SweepReport) -> SweepReport:
    """The report with a note on what to measure next, if a quick search ended undecided."""
    from imb.fabric.judging.sensitivity import MISSED
    from imb.fabric.judging.stages import next_step_after_quick

    wanted = MISSED * judged.least
    note = next_step_after_quick(judged.verdict, len(judged.endpoints), wanted, MOST_PASSES)
    return judged._replace(notes=[*judged.notes, note]) if note else judged


def topology_of(against: SweepReference, endpoints: Sequence[Endpoint], notes: list[str]) -> Topology:
    """The network, with the host names of the records. A full name and its first part (`n1.example.org`,
    `n1`) are the same host. Raises ImbError if the network has none of the hosts."""
    from imb.fabric.judging.topology import graph

    network = against.network
    assert network is not None
    by_short_name = {host.partition(".")[0]: host for host in network.attached}
    attached = dict(network.attached)
    unknown: list[str] = []
    for host in dict.fromkeys(endpoint.host for endpoint in endpoints):
        if host in attached:
            continue
        network_name = by_short_name.get(host.partition(".")[0])
        if network_name is None or network_name not in attached:
            unknown.append(host)
        else:
            attached[host] = attached.pop(network_name)
    hosts = len({endpoint.host for endpoint in endpoints})
    if len(unknown) == hosts:
        available = list_first(list(network.attached), _LISTED)
        raise ImbError(
            f"{against.network_file}: has none of the hosts that were measured ({one_line(list_first(unknown, _LISTED))}); it has {one_line(available)}"
        )
    if unknown:
        notes.append(f"not in {against.network_file}: {list_first(unknown, _LISTED)}")
    if network.rails:
        notes.append(
            f"{count_of(len(network.rails), 'host')} with ports at several switches: the first one counts"
        )
    try:
        return graph(attached, network.links)
    except ValueError as error:
        raise ImbError(f"{against.network_file}: {error}") from error


def _equalize_distances(topology: Topology | None) -> Topology | None:
    """The topology with equal distances. Pairs are compared with their own earlier times, which already
    contain the effect of distance. So a link that all pairs of a distance cross can be named."""
    return topology and replace(topology, hops=np.ones_like(topology.hops))


def drains_of(judged: SweepReport, network: Network | None) -> tuple[list[Drain], list[str]]:
    """Commands that drain the hosts that are slow or do not answer, with the node names of the topology; and
    hosts whose names cannot be Slurm nodes. A silent host that may only have waited for another one is left
    out."""
    from imb.fabric.drain import drain_of
    from imb.fabric.fabric_text import longer_phrase
    from imb.fabric.judging.pairs import cause_of

    endpoints, verdict = judged.endpoints, judged.verdict
    if verdict.state != "bad":
        return [], []
    reasons: dict[str, str] = {}
    for suspect in verdict.suspects:
        if suspect.named and suspect.kind in ("host", "core") and suspect.endpoints:
            host = endpoints[suspect.endpoints[0]].host
            core = endpoints[suspect.endpoints[0]].place if suspect.kind == "core" else ""
            reason = f"imb fabric: {core + ' ' if core else ''}{suspect.benchmark} {size(suspect.bytes)} {longer_phrase(suspect.effect)}"
            reason += f" as {suspect.way}" if suspect.way else ""
            reasons.setdefault(host, reason)
    waiting = {index for group in verdict.silent_together for index in group}
    for index in (index for index in verdict.silent if index not in waiting):
        cause = cause_of(judged.sweeps, index)
        reasons.setdefault(
            endpoints[index].host, f"imb fabric: {f'failed: {cause}' if cause else 'no answer'}"
        )
    listed = network.attached if network else ()
    drains = {host: drain_of(host, reason, listed=listed) for host, reason in reasons.items()}
    return [drain for drain in drains.values() if drain], [
        host for host, drain in drains.items() if drain is None
    ]


def drain_hosts(judged: SweepReport, drains: Sequence[Drain]) -> dict[Drain, str | None]:
    """Drain the hosts. Returns for each the reason why it was not drained, or None. If there are several, and
    more than MOST_DRAINED of all hosts, no host is drained."""
    from imb.fabric import drain

    hosts = len({endpoint.host for endpoint in judged.endpoints})
    if len(drains) > max(1, MOST_DRAINED * hosts):
        reason = f"not drained: {len(drains)} of {hosts} hosts are more than {percent_text(MOST_DRAINED)}; run the command if you are sure"
        return dict.fromkeys(drains, reason)
    return {host: drain.drain_node(host) for host in drains}
