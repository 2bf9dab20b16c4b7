"""What the routes may explain that a topology does not list: they are known only where there is one shortest route. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from imb.fabric.components import FEWEST, Component
from imb.fabric.location import location
from imb.fabric.pairs import Pairs
from imb.fabric.significance import Effects
from imb.fabric.sweep import Endpoint, Indices, Values
from imb.fabric.topology import Topology
from imb.fabric.verdict import Suspect

_ALIKE = 1.5  # times the effect of a link: what a pair that crosses it may have
_CLEARLY = 4.0  # standard errors


def on_a_slow_route(
    pair: Suspect, suspects: Sequence[Suspect], endpoints: Sequence[Endpoint], topology: Topology
) -> bool:
    """Whether a pair is about as slow as a named link that one of its shortest routes crosses."""
    a, b = (endpoints[one].host for one in pair.endpoints)
    return any(
        one.named and pair.effect <= _ALIKE * one.effect and topology.may_cross(one.name, a, b)
        for one in suspects
    )


def beyond_its_switch(
    host: Component,
    topology: Topology,
    endpoints: Sequence[Endpoint],
    pairs: Pairs,
    alone: Indices,
    away: Values,
    effects: Effects,
    at: int,
) -> list[str]:
    """A slow host is slow below its own switch, too. If it is not, some cable is slow that its other pairs cross by their routes: its name, else
    none. `alone`: its pairs that cross no other slow component; `at`: number of its effect."""
    if len(host.endpoints) != 1:
        return []
    place = {name: int(leaf) for name, leaf in zip(topology.hosts, topology.leaf, strict=True)}
    leaf = np.array([place.get(one.host, -1) for one in endpoints])
    mine = int(leaf[host.endpoints[0]])
    below = alone[(leaf[pairs.a[alone]] == mine) & (leaf[pairs.b[alone]] == mine)]
    if mine < 0 or not FEWEST <= len(below) < len(alone):
        return []
    error = effects.deviation / np.sqrt(len(below))
    if location(away[below], effects.scale) + _CLEARLY * error > effects.effects[at] / 2:
        return []
    return [f"a cable of {topology.leaves[mine] if topology.leaves else 'its switch'} to other switches"]
