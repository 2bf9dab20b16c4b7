"""The transports that the MPI of a session reports."""

from __future__ import annotations

import contextlib
from collections.abc import Collection

from imb.measure.session import Item, Plan, asking_command_of
from imb.model.errors import ImbError
from imb.mpi import own_word

_reported: dict[tuple[str, int, int | None], str | None] = {}  # by session, variant and ranks


def reported_transports(made: Plan, item: Item, hide: Collection[str]) -> tuple[str | None, bool]:
    """Asked for once in a session, of each variant and number of ranks; and whether that was interrupted."""
    interrupted = False
    key = made.id, item.variant, item.ranks
    if key not in _reported:
        _reported[key] = None
        with contextlib.suppress(ImbError, OSError):
            if command := asking_command_of(made, item):
                flavor = made.variants[item.variant].mpi.flavor
                _reported[key], interrupted = own_word.answered(flavor, command, hide)
    return _reported[key], interrupted
