"""A network of named switches and hosts, as a topology file describes it."""

from __future__ import annotations

from typing import NamedTuple


class Network(NamedTuple):
    """A network. `attached`: host -> its switch; `links`: pairs of switches, with one element for each of several parallel links;
    `rails`: host with ports at further switches -> number of its ports."""

    attached: dict[str, str]
    links: list[tuple[str, str]]
    rails: dict[str, int]
