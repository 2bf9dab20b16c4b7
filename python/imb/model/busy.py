"""When other processes disturb a measurement, and the warning. Standard library alone: `make run` uses it before
anything is installed."""

BUSIER_CPUS = (
    0.2  # CPUs that other processes use while a launch runs: less, or a smaller difference, is ignored
)


def too_busy(others: float, cpus: int, ranks: int) -> bool:
    """Whether other processes, which use `others` CPUs, take some that these ranks need."""
    return others > max(BUSIER_CPUS, cpus - ranks)


def others_used(cpus: float) -> str:
    """The warning, without the name of the program that prints it."""
    return f"warning: other processes used {cpus:.1f} CPUs; repeat on an idle machine"
