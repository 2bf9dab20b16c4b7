"""Options for how rows are measured: in passes or classic."""

from __future__ import annotations

from typing import Annotated

import typer

from imb.measure.passes import Sampling
from imb.model.errors import ImbError
from imb.render.terminal import say

ClassicOption = Annotated[
    bool, typer.Option("--classic", help="Measure each row in one burst, as IMB does, instead of in passes.")
]
PrecisionOption = Annotated[
    str | None,
    typer.Option(
        "--precision",
        metavar="PERCENT",
        help="Measure in passes until the 95 % interval of each row's median is within this.",
        show_default="2%",
    ),
]


def _budget(name: str, *, hidden: bool = False) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        name,
        hidden=hidden,
        min=0.1,
        max=1e7,
        metavar="SECONDS",
        help="Limit the duration of the passes of a launch.",
        show_default="2, or 0.1 per row (IMB-IO: 1 per row)",
    )
    return option


BudgetOption = Annotated[float | None, _budget("--budget")]
LaunchBudgetOption = Annotated[float | None, _budget("--launch-budget", hidden=True)]


def sampling_of(classic: bool, precision: str | None, budget: float | None) -> Sampling:
    """The options combined. Raises ImbError."""
    return Sampling(classic=classic, precision=_share(precision) if precision else None, budget=budget)


def _share(text: str) -> float:
    """0.02 of `2%` or `2`, as far as the suite takes it. Raises ImbError."""
    try:
        share = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        share = 0.0
    if not 1e-5 <= share <= 1:
        raise ImbError(f"--precision: not a percentage from 0.001 to 100: {text}; give one such as 2%")
    return share


def tell_classic(reason: str | None) -> None:
    """Print that IMB arguments exclude passes; None: they do not."""
    if reason:
        say(f"imb: note: measuring classic, one burst per row, because of {reason}", err=True)
