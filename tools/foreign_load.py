"""Warns before a launch on this host where other processes leave fewer CPUs than its ranks need.

    foreign_load.py RANKS

Measured for a moment: a mean of the last minute would count the build that has just ended.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
from imb.model import foreign_load
from imb.mpi import load

WINDOW = 0.3  # seconds; the kernel counts in steps of 10 ms


def main(ranks: int) -> None:
    before = load.moment()
    time.sleep(WINDOW)
    during = load.load_between(before, load.moment())
    if during and foreign_load.leaves_too_few_cpus(during.other_cpus, os.cpu_count() or 1, ranks):
        print(f"make: {foreign_load.foreign_load_warning(during.other_cpus)}", file=sys.stderr)


if __name__ == "__main__":
    main(int(sys.argv[1]))
