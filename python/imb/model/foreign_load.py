"""Decides whether other processes disturb a measurement, and words the warning. It imports only the standard library, since
`make run` uses it before anything is installed."""

BUSIER_CPUS = (
    0.2  # CPUs that other processes use while a launch runs; lower use and smaller differences are ignored
)


def leaves_too_few_cpus(others: float, cpus: int, ranks: int) -> bool:
    """Whether other processes, which use `others` of `cpus` CPUs, leave too few for these ranks."""
    return others > max(BUSIER_CPUS, cpus - ranks)


def foreign_load_warning(cpus: float) -> str:
    """The warning, without the name of the program that prints it."""
    return f"warning: other processes used {cpus:.1f} CPUs; repeat on an idle machine"
