"""Exit statuses of `imb`, which the help of each command explains, and of the suite."""

from enum import IntEnum


class Status(IntEnum):
    """Exit statuses of `imb`."""

    GOOD = 0
    FAILED = 1  # a launch or a build failed, something is damaged, there are findings, or the host is bad
    USAGE = 2  # the request cannot be carried out; imb doctor: this machine cannot measure
    INTERNAL = 3  # an error in imb itself, if 1 has another meaning
    WORSE = 10  # slower, mixed or bad
    UNDECIDED = 11
    DIFFERS = 12  # by less than the relevant change
    INTERRUPTED = 130  # after Ctrl-C, as in a shell


class SuiteStatus(IntEnum):
    """Exit statuses of the suite's executables (docs/methodology.md). A launcher may replace USAGE by 1."""

    GOOD = 0
    USAGE = 2
    ROWS = 3  # some rows could not be measured
    WRONG_DATA = 4
