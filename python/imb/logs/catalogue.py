"""What is known of benchmarks by name: logs do not say it."""

from __future__ import annotations

from typing import NamedTuple

from imb.records import Component, Kind


class Known(NamedTuple):
    """Components that have a benchmark of this name, its kind there, and bytes moved / (X per reported time).

    `turnover` is None where there is no Mbytes/sec, or where it depends on more than the table says.
    """

    components: tuple[Component, ...]
    kind: Kind
    turnover: int | None = None


_SINGLE = (
    "PingPong PingPongSpecificSource PingPongAnySource PingPing PingPingSpecificSource PingPingAnySource"
)
_COLLECTIVE = [
    "Allreduce",
    "Reduce",
    "Reduce_scatter",
    "Reduce_scatter_block",
    "Allgather",
    "Allgatherv",
    "Gather",
    "Gatherv",
    "Scatter",
    "Scatterv",
    "Alltoall",
    "Alltoallv",
    "Bcast",
]
_ONE_SIDED = "Unidir_put Unidir_get Bidir_put Bidir_get Put_local Get_local Fetch_and_op Compare_and_swap Get_accumulate"


def _catalogue() -> dict[str, Known]:
    known: dict[str, Known] = {name: Known(("MPI1",), "single_transfer", 1) for name in _SINGLE.split()}
    known |= {name: Known(("MPI1",), "collective") for name in [*_COLLECTIVE, "Reduce_local"]}
    for name, turnover in (("Sendrecv", 2), ("Exchange", 4), ("Uniband", None), ("Biband", None)):
        known[name] = Known(("MPI1",), "parallel_transfer", turnover)
    for name in _COLLECTIVE:
        for suffix in ("", "_pure"):
            known[f"I{name.lower()}{suffix}"] = Known(("NBC",), "collective")
    for name, component in (
        ("Barrier", "MPI1"),
        ("Ibarrier", "NBC"),
        ("Ibarrier_pure", "NBC"),
        ("Open_Close", "IO"),
    ):
        known[name] = Known((component,), "synchronisation")  # type: ignore[arg-type]
    for name in ("Unidir_Get", "Unidir_Put", "Bidir_Get", "Bidir_Put"):
        known[name] = Known(("EXT",), "single_transfer", 1)
    known["Window"] = Known(("EXT",), "collective")
    known["Accumulate"] = Known(("EXT", "RMA"), "collective")  # in RMA a single transfer
    known |= {name: Known(("RMA",), "single_transfer") for name in (*_ONE_SIDED.split(), "Truly_passive_put")}
    for way in ("put", "get"):
        known[f"{way.title()}_all_local"] = known[f"One_{way}_all"] = Known(("RMA",), "multiple_transfer")
        known[f"All_{way}_all"] = known[f"Exchange_{way}"] = Known(("RMA",), "parallel_transfer")
    for access in ("Write", "IWrite", "Read", "IRead"):
        for group, pointers in (
            ("S", "Indv Expl"),
            ("P", "Indv Expl Shared Priv"),
            ("C", "Indv Expl Shared"),
        ):
            kind: Kind = {"S": "single_transfer", "P": "parallel_transfer", "C": "collective"}[group]  # type: ignore[assignment]
            known |= {f"{group}_{access}_{pointer}": Known(("IO",), kind) for pointer in pointers.split()}
    return known


KNOWN = _catalogue()


def kind_of(benchmark: str, component: Component | None) -> Kind | None:
    """The kind of an IMB benchmark; None where the name is not known."""
    if benchmark == "Accumulate":
        return {"EXT": "collective", "RMA": "single_transfer"}.get(component or "")  # type: ignore[return-value]
    known = KNOWN.get(benchmark)
    return known.kind if known else None


def component_of(benchmarks: set[str]) -> Component | None:
    """The one component that has all these benchmarks; None where there is none, or several."""
    candidates: set[Component] = {"MPI1", "EXT", "IO", "NBC", "RMA"}
    for name in benchmarks:
        if name in KNOWN:
            candidates &= set(KNOWN[name].components)
    return candidates.pop() if len(candidates) == 1 else None
