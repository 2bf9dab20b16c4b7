"""What tests expect of the collectives of IMB-MPI1: one row for each. Adding a collective adds its row."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from test_simulated import Switch

Formula = Callable[["Switch", int, int], float]  # of the simulated network, ranks and bytes


def stages(ranks: int) -> int:
    """Of a tree or a butterfly over a power of two."""
    return ranks.bit_length() - 1


def message(net: Switch, ranks: int, n: int) -> float:
    return net.message(n)


def flood(net: Switch, ranks: int, n: int) -> float:
    """One rank with all others at once; or each with each, and all cables are equally busy."""
    return net.together(ranks - 1, n)


def tree(net: Switch, ranks: int, n: int) -> float:
    """A rank that has the message passes it on, once per stage."""
    return stages(ranks) * net.message(n)


def parts(net: Switch, ranks: int, n: int) -> float:
    return flood(net, ranks, n // ranks)


class Collective(NamedTuple):
    seconds: Formula  # of one repetition on the simulated machine
    arguments: int = 0  # of the MPI call that has its name; 0: it has other calls
    nonblocking: Formula | None = None  # the same of its nonblocking form, if it has one
    calls: str = ""  # of one repetition; empty: the call that has its name
    rooted: bool = False
    reduces: bool = False
    in_place: str = (
        ""  # which buffer a call may leave out: "everywhere", "root sends", "root receives"; empty: none
    )
    among_all: bool = False  # P^2 messages at the same moment: half a minute of SimGrid's work with 256 ranks


# Seconds: what SMPI does when it is not told otherwise. All ranks end at the same moment, so that the next repetition of
# the unsynchronized loop begins in step, and least, mean and largest time are the same.
COLLECTIVES = {
    "Bcast": Collective(tree, 5, flood, rooted=True),  # binomial
    "Gather": Collective(flood, 8, flood, rooted=True, in_place="root sends"),
    "Gatherv": Collective(flood, 9, flood, rooted=True, in_place="root sends"),
    "Scatter": Collective(flood, 8, flood, rooted=True, in_place="root receives"),
    "Scatterv": Collective(flood, 9, flood, rooted=True, in_place="root receives"),
    "Reduce": Collective(flood, 7, flood, rooted=True, reduces=True, in_place="root sends"),
    "Allreduce": Collective(  # reduces to 0, broadcasts
        lambda net, ranks, n: flood(net, ranks, n) + tree(net, ranks, n),
        6,
        flood,
        reduces=True,
        in_place="everywhere",
    ),
    "Reduce_scatter": Collective(
        lambda net, ranks, n: flood(net, ranks, n) + parts(net, ranks, n), 6, parts, reduces=True
    ),
    "Reduce_scatter_block": Collective(
        lambda net, ranks, n: flood(net, ranks, n) + parts(net, ranks, n), 6, reduces=True
    ),
    "Reduce_local": Collective(lambda net, ranks, n: 0, 5, reduces=True),
    "Barrier": Collective(  # all to 0, 0 to all
        lambda net, ranks, n: 2 * flood(net, ranks, 0), 1, lambda net, ranks, n: flood(net, ranks, 0)
    ),
    "Allgather": Collective(flood, 7, flood, in_place="everywhere", among_all=True),
    "Allgatherv": Collective(flood, 8, flood, in_place="everywhere", among_all=True),
    "Alltoall": Collective(flood, 7, flood, in_place="everywhere", among_all=True),
    "Alltoallv": Collective(flood, 9, flood, in_place="everywhere", among_all=True),
    "Alltoallw": Collective(flood, 9, flood, in_place="everywhere", among_all=True),
    # Each rank to all above it: rank 0's cable and the last one's are the busiest.
    "Scan": Collective(flood, 6, flood, reduces=True, in_place="everywhere", among_all=True),
    "Exscan": Collective(flood, 6, flood, reduces=True, in_place="everywhere", among_all=True),
}
