"""Facts about benchmarks that logs do not contain, by name.

schema/benchmarks.json has the names in the suite; this file lists the names that only the real IMB has.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import msgspec

from imb.model.records import PARTS, BenchmarkKind, Component
from imb.model.suite import suite_folder


class Facts(NamedTuple):
    """A benchmark of one component. In the reported time it moves `turnover` times the message size.

    `turnover` is None if the table has no Mbytes/sec column, or if the factor depends on more than the table shows.
    """

    kind: BenchmarkKind
    turnover: int | None = None


class _Benchmark(msgspec.Struct):
    name: str
    kind: BenchmarkKind
    turnover: int | None
    default: bool


class _Component(msgspec.Struct):
    name: Component
    benchmarks: list[_Benchmark]


class _File(msgspec.Struct):
    components: list[_Component]


_NAMESAKES: Component = "P2P"  # some of its benchmarks have the names of IMB-MPI1's, but other table columns

_ONLY_IN_IMB: dict[str, tuple[Component, Facts]] = {
    "Ireduce_scatter_block": ("NBC", Facts("collective")),
    "Ireduce_scatter_block_pure": ("NBC", Facts("collective")),
}


@cache
def suite_benchmarks() -> dict[str, dict[Component, Facts]]:
    """Name -> component -> facts, in the order of the suite. Raises ImbError in a broken installation."""
    by_name: dict[str, dict[Component, Facts]] = {}
    for component in _components():
        for benchmark in component.benchmarks:
            by_name.setdefault(benchmark.name, {})[component.name] = Facts(benchmark.kind, benchmark.turnover)
    return by_name


def default_benchmarks(component: Component) -> list[str]:
    """The benchmarks that an executable runs if the user names none. Raises ImbError in a broken installation."""
    return [
        benchmark.name
        for entry in _components()
        if entry.name == component
        for benchmark in entry.benchmarks
        if benchmark.default
    ]


@cache
def _components() -> list[_Component]:
    text = (suite_folder() / "schema" / "benchmarks.json").read_bytes()
    return msgspec.json.decode(text, type=_File).components


@cache
def all_benchmarks() -> dict[str, dict[Component, Facts]]:
    """All benchmarks that a log may contain: `suite_benchmarks` and the names that only the real IMB has."""
    return {
        **suite_benchmarks(),
        **{name: {component: facts} for name, (component, facts) in _ONLY_IN_IMB.items()},
    }


def facts_of(benchmark: str, component: Component | None) -> Facts | None:
    """Facts about a benchmark, or None if the name is unknown, or if no component is given and components differ."""
    by_component = all_benchmarks().get(benchmark, {})
    if component is None and len(by_component) > 1:
        by_component = {name: facts for name, facts in by_component.items() if name != _NAMESAKES}
    if len(by_component) == 1:
        return next(iter(by_component.values()))
    return by_component.get(component) if component else None


def kind_of(benchmark: str, component: Component | None) -> BenchmarkKind | None:
    """The kind of an IMB benchmark, or None if `facts_of` returns None."""
    facts = facts_of(benchmark, component)
    return facts.kind if facts else None


def component_of(benchmarks: set[str], *, rated: bool = False) -> Component | None:
    """The only component that has all these benchmarks, or None if no component or several have them. `rated`: their tables have
    the columns of IMB-P2P."""
    candidates: set[Component] = {_NAMESAKES} if rated else set(PARTS)
    for name in benchmarks:
        if name in all_benchmarks():
            candidates &= all_benchmarks()[name].keys()
    if len(candidates) > 1:
        candidates.discard(_NAMESAKES)
    return candidates.pop() if len(candidates) == 1 else None
