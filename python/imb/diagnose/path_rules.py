"""Rules about the path of messages (imb.model.path), compared with the interfaces of the machine."""

from __future__ import annotations

import re
from collections.abc import Iterator

from imb.diagnose.case import Case, Finding
from imb.model import path
from imb.model.conditions import Interface, interfaces_in, transport_settings, usable_interfaces
from imb.model.mpis import INTERFACE_SETTINGS, SHARED_MEMORY
from imb.model.observations import Launch
from imb.model.path import LOOPBACK, MessagePath
from imb.model.units import amount, count_of, percent_text

# Usual names of RDMA devices, for launches whose conditions do not list them.
_RDMA = re.compile(
    r"(mlx\d|hfi|qib|bnxt_re|irdma|efa|cxgb|rocep|ibp|mthca|hns|erdma|ocrdma|rdmap)\w*(:\d+)?$"
)


def used_paths(case: Case) -> Iterator[Finding]:
    """Yield paths that ignore what the machine offers, and launches that did not take the same path."""
    by_placement: dict[str, list[tuple[Launch, MessagePath]]] = {}
    for launch, series in zip(case.side.launches, case.series, strict=True):
        rows = path.set_repetitions(launch.rows.values(), series.repetitions if series else {})
        for message_path in path.message_paths(launch.run, rows):
            if message_path.kind != "unknown":
                by_placement.setdefault(message_path.placement, []).append((launch, message_path))
    for placement, message_paths in by_placement.items():
        by_name: dict[str, list[tuple[Launch, MessagePath]]] = {}
        for launch, message_path in message_paths:
            by_name.setdefault(message_path.name, []).append((launch, message_path))
        if len(by_name) > 1:
            yield _finding_of_several(placement, by_name)
        for same in by_name.values():
            launch, message_path = same[0]
            problem = (
                _advice_within_host(message_path)
                if placement == "intra-node"
                else _advice_between_hosts(launch, message_path)
            )
            if problem:
                yield _finding(
                    problem[0], problem[1], launch, message_path, len(same), len(case.side.launches)
                )


def offered_interfaces(launch: Launch) -> list[Interface]:
    """Interfaces that could carry messages: the usable ones in the launch's conditions, which describe the
    launching host, and RDMA devices that only the hosts of ranks listed. Of the latter only the names are
    known."""
    interfaces = interfaces_in(launch.facts.get("conditions"))
    offered = usable_interfaces(interfaces)
    names = {name for rank in launch.run.ranks or [] for name in rank.interfaces or []}
    offered += [
        Interface(name=name, rdma=True, up=True)
        for name in sorted(names - {interface.name for interface in interfaces})
        if _RDMA.match(name)
    ]
    return offered


def _advice_within_host(message_path: MessagePath) -> tuple[str, str] | None:
    """Title and advice if messages within a host passed interfaces, else None."""
    names = list(message_path.interfaces)
    if not names:
        return None
    transport = "TCP over loopback" if all(map(LOOPBACK.match, names)) else message_path.name
    part = "in part " if message_path.kind == "in part" else ""
    return (
        f"{part}{transport} between ranks of one node",
        f"switch shared memory on ({SHARED_MEMORY}), and see whether containers or namespaces divide the ranks",
    )


def _advice_between_hosts(launch: Launch, message_path: MessagePath) -> tuple[str, str] | None:
    """Title and advice if messages between hosts left interfaces idle that are as fast or faster, else None."""
    offered = offered_interfaces(launch)
    carrying = [interface for interface in offered if interface.name in message_path.interfaces]
    idle = [
        interface
        for interface in offered
        if interface.name not in {*message_path.interfaces, *message_path.above}
    ]
    fabric = [interface for interface in idle if interface.rdma]
    if fabric and not any(interface.rdma for interface in carrying):
        return (
            f"{message_path.name} though {fabric[0].name} is there",
            "the RDMA device carried nothing: does the MPI have its transport (imb doctor), is the port active (ibstat), is "
            "the device in the container? UCX_NET_DEVICES, FI_PROVIDER and the MPI's settings choose it",
        )
    speed = max((interface.speed or 0 for interface in carrying), default=0.0)
    faster = [interface for interface in idle if speed and (interface.speed or 0) > speed]
    if faster:
        return (
            f"{message_path.name} though {faster[0]} is faster",
            f"choose the interface: {INTERFACE_SETTINGS}",
        )
    rails = [
        interface
        for interface in idle
        if speed and interface.speed == speed and any(interface.rdma == other.rdma for other in carrying)
    ]
    if rails:
        all_rails = len(carrying) + len(rails)
        return (
            f"{_number(len(carrying))} of {_number(all_rails)} rails: {message_path.name}, not {', '.join(interface.name for interface in rails)}",
            "interfaces of the same speed carried nothing: use all (UCX_MAX_RNDV_RAILS, UCX_NET_DEVICES, btl_tcp_if_include), "
            "unless they belong to other networks",
        )
    return None


def _finding(
    title: str, advice: str, launch: Launch, message_path: MessagePath, same: int, launches: int
) -> Finding:
    settings = transport_settings(launch.run, launch.facts)
    settings_text = ", ".join(f"{name}={value}" for name, value in settings.items())
    reported = path.transports_reported(launch.facts)
    in_launches = f" in {same} of {count_of(launches, 'launch')}" if launches > 1 else ""
    return Finding(
        level="warning",
        rule="path",
        where=_placement_phrase(message_path.placement),
        found=f"{title}{in_launches}: interfaces counted {amount(message_path.counted)} of the {amount(message_path.asked)} that "
        f"{count_of(message_path.rows, 'row')} asked for ({percent_text(message_path.share, 0)} in the median row)"
        + (f"; {reported}" if reported else "")
        + (f"; settings of the MPI: {settings_text}" if settings_text else ""),
        advice=advice,
        evidence={
            "path": message_path.name,
            "launches": same,
            "asked_bytes": message_path.asked,
            "counted_bytes": message_path.counted,
            "shares": message_path.interfaces,
            "settings": settings,
        },
        weight=max(message_path.share, 1.0),
    )


def _finding_of_several(placement: str, by_name: dict[str, list[tuple[Launch, MessagePath]]]) -> Finding:
    counts = {name: len(same) for name, same in by_name.items()}
    return Finding(
        level="warning",
        rule="path",
        where=_placement_phrase(placement),
        found="launches took different paths: "
        + ", ".join(
            f"{name} in {number}" for name, number in sorted(counts.items(), key=lambda item: -item[1])
        ),
        advice="compare launches of one path only; look what differs between them (imb compare, the settings of the MPI)",
        evidence={"launches": counts},
        weight=2.0,
    )


def _placement_phrase(placement: str) -> str:
    return "messages within a host" if placement == "intra-node" else "messages between hosts"


def _number(count: int) -> str:
    return {1: "one", 2: "two", 3: "three", 4: "four"}.get(count, str(count))
