"""What commands that judge by a comparison share."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from imb.judge.compare import Comparison, Verdict

# The worst first.
_ORDER: tuple[Verdict, ...] = ("slower", "mixed", "differs", "inconclusive", "not slower", "faster", "same")


def worst(found: Sequence[Comparison]) -> Verdict:
    """The verdict of several comparisons together."""
    return min((one.verdict for one in found), key=_ORDER.index)


def show(found: Comparison, *, all_rows: bool = False) -> None:
    """On the terminal, as `imb compare` does."""
    from imb.render.comparison import terminal
    from imb.render.terminal import Screen

    width = Screen().width if sys.stdout.isatty() else 100
    terminal(Screen(width=width), found, all_rows=all_rows)
