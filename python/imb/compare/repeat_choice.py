"""Which launches of a session are measured again, because they were outside the dominant state of the machine. Pure.

By their probes alone: no figure of a benchmark is read, and no variant is known here. Launches of all variants that share their
surroundings define the dominant state together (imb.compare.dominant_state). So where nothing differs between variants, each is measured again
with the same probability, and a test between them keeps its level. docs/evidence/validation.md has the rates.
"""

from __future__ import annotations

from collections.abc import Sequence

from imb.compare.dominant_state import launches_outside_dominant_state
from imb.model.observations import Launch


def choose_repeats(batches: Sequence[Sequence[Launch]], launches: Sequence[Launch], most: int) -> list[int]:
    """Indices of the first `batches` that have a launch outside the dominant state, which all `launches` define; up to `most` launches
    together. A batch is what ran at the same time; it is measured again as a whole."""
    outside = {each.launch for each in launches_outside_dominant_state(launches)}
    chosen: list[int] = []
    for at, batch in enumerate(batches):
        if len(batch) <= most and any(launch.name in outside for launch in batch):
            chosen.append(at)
            most -= len(batch)
    return chosen
