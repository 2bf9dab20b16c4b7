"""Choice of launches to repeat because they were outside the dominant state of the machine. Pure.

Only probes decide. The choice reads no benchmark result and knows no variant: launches of all variants with
the same surroundings define the dominant state together (imb.compare.dominant_state). So if variants do not
differ, each is repeated with the same probability, and a test between them keeps its error rate.
docs/evidence/validation.md has the rates.
"""

from __future__ import annotations

from collections.abc import Sequence

from imb.compare.dominant_state import launches_outside_dominant_state
from imb.model.observations import Launch


def choose_repeats(batches: Sequence[Sequence[Launch]], launches: Sequence[Launch], most: int) -> list[int]:
    """Indices of the first `batches` that contain a launch outside the dominant state, with at most `most`
    launches in total. All `launches` define that state. The launches of a batch ran at the same time, so a
    batch is repeated as a whole."""
    outside = {each.launch for each in launches_outside_dominant_state(launches)}
    chosen: list[int] = []
    for at, batch in enumerate(batches):
        if len(batch) <= most and any(launch.name in outside for launch in batch):
            chosen.append(at)
            most -= len(batch)
    return chosen
