"""Files that describe a network: lines `switch: hosts and switches`, Slurm's topology.conf, or the output of
ibnetdiscover."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from imb.model.errors import ImbError
from imb.model.hostlist import expand_hosts
from imb.model.text import one_line

LARGEST = 64 << 20  # bytes; 10,000 hosts need 2 MB
MOST_SWITCHES = 5000
MOST_LINKS = 200_000
_IB_NODE = re.compile(r'(Switch|Ca|Rt)\s+\d+\s+"([^"]*)"\s*#\s*"([^"]*)"')
_IB_PORT = re.compile(r'\[(\d+)\](?:\([^)]*\))?\s+"([^"]*)"\[(\d+)\]')
_SLURM = re.compile(r"\s*(?:SwitchName|BlockName)\s*=", re.IGNORECASE)
_ASSIGNED = re.compile(r"(\w+)\s*=\s*(\S+)", re.ASCII)


class Network(NamedTuple):
    """A network of named switches and hosts. `attached`: host -> its switch; `links`: pairs of switches, with one element for each of several
    parallel links; `rails`: host with ports at further switches -> number of its ports."""

    attached: dict[str, str]
    links: list[tuple[str, str]]
    rails: dict[str, int]


def parse_topology(text: bytes, name: str) -> Network:
    """The network in the text of a file. `name`: the file, for messages. Raises ImbError."""
    if b"\0" in text[:4096] or not text.strip():
        raise ImbError(f"{name}: {'not text' if text.strip() else 'empty'}; {ACCEPTED}")
    lines = text.decode("utf-8", "replace").splitlines()
    parse = _infiniband if any(map(_IB_NODE.match, lines)) else _tree
    try:
        network = parse(lines)
    except ImbError as error:
        raise ImbError(f"{name}:{error}") from None
    if not network.attached:
        raise ImbError(f"{name}: no host below any switch; {ACCEPTED}")
    switches = {*network.attached.values(), *(end for link in network.links for end in link)}
    if len(switches) > MOST_SWITCHES or len(network.links) > MOST_LINKS:
        raise ImbError(
            f"{name}: {len(switches):,} switches, {len(network.links):,} links; more than is supported"
        )
    return network


ACCEPTED = "give lines such as `leaf1: node[01-16]`, Slurm's topology.conf or the output of ibnetdiscover"


def _tree(lines: Sequence[str]) -> Network:
    """The network in lines that give a switch and what is below it. A switch may be below several others, but
    not below itself."""
    below: dict[str, list[str]] = {}
    where: dict[str, int] = {}
    slurm = any(map(_SLURM.match, lines))
    for number, line in _join_lines(lines):
        words = line.partition("#")[0].strip()
        if not words:
            continue
        try:
            switches, members = _slurm(words) if slurm else _plain_line(words)
        except ImbError as error:
            raise ImbError(f"{number}: {error}") from None
        for switch in switches:
            where.setdefault(switch, number)
            below.setdefault(switch, []).extend(members)
        if len(below) > MOST_SWITCHES or sum(map(len, below.values())) > MOST_LINKS:
            raise ImbError(f"{number}: more switches or links than are supported")
    if looped := _switch_in_loop(below):
        raise ImbError(f"{where[looped]}: switch {one_line(looped)} is below itself")
    attached: dict[str, str] = {}
    rails: dict[str, int] = {}
    links: list[tuple[str, str]] = []
    for switch, members in below.items():
        for member in members:
            if member in below:
                links.append((member, switch))
            elif member not in attached:
                attached[member] = switch
            elif attached[member] != switch:
                rails[member] = rails.get(member, 1) + 1
    return Network(attached, links, rails)


def _join_lines(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    r"""Yield lines with their numbers. A line that ends with \ continues on the next one."""
    start, joined = 1, ""
    for number, line in enumerate(lines, 1):
        if not joined:
            start = number
        if line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        yield start, joined + line
        joined = ""
    if joined:
        yield start, joined


def _plain_line(words: str) -> tuple[list[str], list[str]]:
    """The switches and their members in `leaf1: node[01-16]` or `spine[1-8]: leaf[1-4]`. Each switch has all
    members below it."""
    switches, colon, members = words.partition(":")
    if not colon:
        raise ImbError(f"not `switch: hosts`: {one_line(words[:60])}; {ACCEPTED}")
    names = expand_hosts(switches)
    if not names:
        raise ImbError(f"no name of a switch: {one_line(words[:60])}")
    return names, expand_hosts(members)


def _slurm(words: str) -> tuple[list[str], list[str]]:
    """The switches and their members in `SwitchName=leaf1 Nodes=node[01-16]` or `SwitchName=spine
    Switches=leaf[1-8]`; blocks have `BlockName=`."""
    fields = {key.lower(): value for key, value in _ASSIGNED.findall(words)}
    name = fields.get("switchname") or fields.get("blockname")
    if not name:
        return [], []  # BlockSizes and others
    members = [*expand_hosts(fields.get("nodes", "")), *expand_hosts(fields.get("switches", ""))]
    return expand_hosts(name), members


def _switch_in_loop(below: Mapping[str, Sequence[str]]) -> str | None:
    """A switch that is part of a loop, or None if there is no loop."""
    waiting = {switch: {member for member in members if member in below} for switch, members in below.items()}
    above: dict[str, list[str]] = {}
    for switch, members in waiting.items():
        for member in members:
            above.setdefault(member, []).append(switch)
    ready = [switch for switch, members in waiting.items() if not members]
    while ready:
        lowest = ready.pop()
        waiting.pop(lowest)
        for switch in above.get(lowest, ()):
            waiting[switch].discard(lowest)
            if not waiting[switch]:
                ready.append(switch)
    seen: set[str] = set()
    at = next(iter(waiting), None)
    while at is not None and at not in seen:  # from a switch above the loop into it
        seen.add(at)
        at = next(iter(waiting[at]))
    return at


def _infiniband(lines: Sequence[str]) -> Network:
    """The network in the output of ibnetdiscover: nodes by GUID with a description, each followed by lines
    with its links."""
    names: dict[str, str] = {}
    kinds: dict[str, str] = {}
    ports: list[tuple[str, int, str, int]] = []
    current = ""
    for number, line in enumerate(lines, 1):
        if node := _IB_NODE.match(line):
            kind, current, described = node.groups()
            names[current], kinds[current] = described, kind
        elif port := _IB_PORT.match(line):
            if not current:
                raise ImbError(
                    f"{number}: a port before any node; is this the whole output of ibnetdiscover?"
                )
            ports.append((current, int(port[1]), port[2], int(port[3])))
    switches = _switch_names({guid: names[guid] for guid, kind in kinds.items() if kind == "Switch"})
    attached: dict[str, str] = {}
    rails: dict[str, int] = {}
    links: dict[tuple[tuple[str, int], ...], tuple[str, str]] = {}
    seen: set[tuple[str, int]] = set()
    for first, first_port, second, second_port in ports:
        if first in switches and second in switches:  # listed at both ends
            ends = tuple(sorted([(first, first_port), (second, second_port)]))
            links[ends] = (switches[first], switches[second])
        elif (
            first not in switches
            and second in switches
            and kinds.get(first) == "Ca"
            and (first, first_port) not in seen
        ):
            seen.add((first, first_port))
            host = _host(names[first])
            if host and attached.setdefault(host, switches[second]) != switches[second]:
                rails[host] = rails.get(host, 1) + 1
    return Network(attached, list(links.values()), rails)


def _switch_names(described: Mapping[str, str]) -> dict[str, str]:
    """Names of switches by GUID: the description if it is unique, otherwise the description and the GUID."""
    every = list(described.values())
    return {
        guid: text if text and every.count(text) == 1 else f"{text} {guid}".strip()
        for guid, text in described.items()
    }


def _host(described: str) -> str:
    """The first word of `node001 HCA-1`, `node001 mlx5_0` or `'node001' mlx5_0`. Empty for aggregation nodes
    of switches, which are no hosts."""
    word = described.strip().strip("'").split()[:1]
    if not word or "Aggregation Node" in described:
        return ""
    return word[0].strip("'")
