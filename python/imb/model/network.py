"""A network of switches and hosts by name, as a topology file describes it."""

from __future__ import annotations

from typing import NamedTuple


class Network(NamedTuple):
    """`attached`: the switch of each host; `links`: between switches, one element for each of several parallel links;
    `rails`: hosts with ports at further switches, and how many ports each has."""

    attached: dict[str, str]
    links: list[tuple[str, str]]
    rails: dict[str, int]
