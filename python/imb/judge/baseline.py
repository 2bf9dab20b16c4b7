"""Results against a baseline: which one fits, and a comparison per metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from imb.judge.compare import CompareSettings, Comparison, compare
from imb.judge.stats import FEWEST as SESSIONS
from imb.model.baselines import Baseline, Hardware, machine_of, placement_of
from imb.model.errors import ImbError
from imb.model.observations import Launch, Side, refuse_unknown_metric


class BaselineCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a check: a comparison per metric, and notes to print before it."""

    name: str
    version: int
    placement: str | None
    machine: Hardware
    warnings: list[str]
    comparisons: list[Comparison]


def choose(found: Sequence[Baseline], machine: Hardware, placement: str | None) -> Baseline:
    """The newest that is of this machine and placement. Raises ImbError where none is."""
    fits = [
        one
        for one in found
        if one.machine.same(machine) is not False
        and (None in (one.placement, placement) or one.placement == placement)
    ]
    if not fits:
        have = "; ".join(
            dict.fromkeys(f"{one.placement or 'unknown placement'} on {one.machine}" for one in found)
        )
        raise ImbError(
            f"baseline {found[-1].name} has nothing for {placement or 'unknown placement'} on {machine}, only: {have};"
            " set one of this kind with `imb baseline set`, or use --force"
        )
    return fits[-1]


def check(
    made: Baseline,
    side: Side,
    tolerances: Mapping[str, float] | None = None,
    *,
    old: Side | None = None,
    earlier: Sequence[Launch] = (),
    force: bool = False,
    assume_one_session: bool = False,
    assume_stable: bool = False,
) -> BaselineCheck:
    """Judges a side against a baseline, by each metric that has a tolerance; `old`: what the baseline was measured with,
    measured again beside this side, takes the place of its launches. `earlier` launches define the usual state. Raises ImbError."""
    machine = machine_of(side)
    warnings: list[str] = []
    same = made.machine.same(machine)
    if same is None:
        warnings.append("unknown whether baseline and results are of the same machine")
    elif not same:
        warnings.append(f"the baseline is of another machine: {made.machine} against {machine}")
    if None in (made.placement, placement_of(side)):
        warnings.append(
            "unknown whether baseline and results have the same placement (intra-node or inter-node)"
        )
    reference = old or made.side()
    limits = {**made.tolerances, **(tolerances or {})}
    for metric in limits:
        refuse_unknown_metric(metric)
    return BaselineCheck(
        name=made.name,
        version=made.version,
        placement=made.placement,
        machine=made.machine,
        warnings=warnings,
        comparisons=[
            _with_remedy(
                compare(
                    reference,
                    side,
                    CompareSettings(
                        metric=metric,
                        relevant=relevant,
                        force=force,
                        assume_one_session=assume_one_session,
                        assume_stable=assume_stable,
                    ),
                    earlier,
                )
            )
            for metric, relevant in limits.items()
        ],
    )


def _with_remedy(found: Comparison) -> Comparison:
    """What helps where sessions differ: to measure the old build or setting again, beside the new one."""
    if not found.inconclusive:
        return found
    remedy = (
        f"a baseline check needs {SESSIONS} sessions of the baseline and of the results, or the old build or setting"
        " measured again beside the new one: imb baseline check --with-old"
    )
    first, *rest = found.warnings
    return msgspec.structs.replace(found, warnings=[first, remedy, *rest])
