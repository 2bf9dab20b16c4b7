"""Exit statuses: those of `imb`, which the help of a command explains, and those of the suite."""

from enum import IntEnum


class Status(IntEnum):
    """Of `imb`."""

    GOOD = 0
    FAILED = 1  # a launch or a build failed, something is damaged, there are findings, or the host is bad
    USAGE = 2  # what was asked for cannot be done
    INTERNAL = 3  # an error of imb itself, where 1 has another meaning
    WORSE = 10  # slower, mixed or bad
    UNDECIDED = 11
    DIFFERS = 12  # by less than what matters
    INTERRUPTED = 130  # after Ctrl-C, as in a shell


class SuiteStatus(IntEnum):
    """Of an executable of the suite (docs/methodology.md). A launcher may replace USAGE by 1."""

    GOOD = 0
    USAGE = 2
    ROWS = 3  # some rows could not be measured
    WRONG_DATA = 4
