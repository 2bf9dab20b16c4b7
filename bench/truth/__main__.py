"""Print false and true rates on data of known truth: python -m bench.truth fabric|compare|history [--draws N] [--seed S]"""

from __future__ import annotations

import argparse
from importlib import import_module


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.truth", description="Print rates on data of known truth."
    )
    parser.add_argument("area", choices=("fabric", "compare", "history"))
    parser.add_argument("--draws", type=int, default=100, metavar="N", help="data sets of each design")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    chosen = parser.parse_args()
    print(import_module(f"bench.truth.{chosen.area}").report(chosen.draws, chosen.seed))


if __name__ == "__main__":
    main()
