"""`imb rails`: the bandwidth between two hosts, and the share of each rail."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import msgspec

from imb.experiments.launch_lines import problem_of, report_incomplete
from imb.model.conditions import Interface
from imb.model.errors import ImbError
from imb.model.path import LOOPBACK
from imb.model.records import Result
from imb.model.statuses import Status
from imb.model.units import NOT_KNOWN, amount, count_of, percent_text, size
from imb.report.terminal import Screen, say
from imb.runner.experiment import ArchivedExperiment, SessionEnd, Shows

if TYPE_CHECKING:
    from imb.model.observations import Launch

LENGTH = 1 << 20
IDLE = 0.5  # a rail with less than this part of an equal share of the bytes is named


class RailsSettings(msgspec.Struct, frozen=True):
    """`rails`: the interfaces that the pairs of ranks should use."""

    rails: list[Interface]


class RailsExperiment(ArchivedExperiment[RailsSettings, "list[Launch]"]):
    """Sessions of `imb rails`."""

    Settings = RailsSettings
    shows = Shows(measured=False)

    def judge(self, executed: SessionEnd) -> list[Launch]:
        """The launches with results. Raises ImbError if there are none."""
        from imb.store.names import launches_in

        measured = [
            launch
            for ended in executed.over
            for launch in launches_in(self.archive, ended.run)
            if _sum(launch)
        ]
        if not measured:
            problem = next(
                (
                    problem
                    for ended in executed.over
                    if (problem := problem_of(self.archive, executed.plan, ended))
                ),
                "no row was measured",
            )
            raise ImbError(f"no launch has results: {problem}", status=Status.FAILED)
        return measured

    def render(self, result: list[Launch], executed: SessionEnd) -> int:
        from itertools import chain
        from statistics import median

        incomplete = report_incomplete(executed)
        rails = {interface.name: interface for interface in self.settings.rails}
        rate = median(map(_sum, result))
        ranks = result[0].run.ranks or []
        sender, receiver = ranks[0].host, ranks[-1].host
        pairs = len(ranks) // 2
        say(
            f"{sender} to {receiver}: {amount(rate)}/s, {count_of(pairs, 'pair')}, Uniband {size(LENGTH)}, median of"
            f" {count_of(len(result), 'launch')}, {executed.plan.variants[0].mpi.version}"
        )
        shares = [_byte_shares(launch.rows.values(), sender, rails) for launch in result]
        if not all(shares):
            say(f"imb: interfaces of {sender} counted nothing: shares of rails are not known", err=True)
            return Status.FAILED
        names = dict.fromkeys((*rails, *chain.from_iterable(shares)))
        rows, idle = [], []
        for name in names:
            share = median(byte_shares.get(name, 0.0) for byte_shares in shares)
            interface = rails.get(name)
            of_link = (
                percent_text(8 * share * rate / interface.speed, 0)
                if interface and interface.speed
                else NOT_KNOWN
            )
            link = interface.link if interface else ""
            rows.append(
                (name, percent_text(share, 0), f"{amount(share * rate)}/s", link or NOT_KNOWN, of_link)
            )
            if share < IDLE / len(names):
                idle.append(name)
        Screen().table(("rail", "share", "rate", "link", "of the link"), rows, right=(1, 2, 3, 4))
        if idle:
            from imb.model.mpis import INTERFACE_SETTINGS

            say(
                f"! {', '.join(idle)} carried less than half of an equal share; {INTERFACE_SETTINGS} choose interfaces"
            )
        return Status.FAILED if incomplete else Status.GOOD


def _sum(launch: Launch) -> float:
    """Bytes per second over all pairs."""
    return max((row.bytes_per_second or 0.0 for row in launch.rows.values()), default=0.0)


def _byte_shares(rows: Iterable[Result], host: str, interfaces: Collection[str]) -> dict[str, float]:
    """Each interface's share of the bytes of a host while these rows were measured. Only `interfaces` count,
    unless others carried all bytes. Empty if no interface counted any."""
    total: dict[str, float] = {}
    for row in rows:
        for traffic in (row.evidence.interfaces if row.evidence else None) or []:
            if traffic.host == host and not LOOPBACK.match(traffic.name):
                total[traffic.name] = (
                    total.get(traffic.name, 0.0) + traffic.sent_bytes + traffic.received_bytes
                )
    # A bond counts the bytes of its members again.
    used = {name: each for name, each in total.items() if name in interfaces} or total
    every = sum(used.values())
    return {name: each / every for name, each in used.items()} if every else {}
