"""`imb health --list`: the hosts of all files in a folder."""

from __future__ import annotations

from pathlib import Path

from imb.health import checks
from imb.health.checks import HealthFile
from imb.health.limits import FEWEST
from imb.health.status import BAD
from imb.model.errors import ImbError
from imb.model.statuses import Status
from imb.model.text import natural_key
from imb.report.terminal import columns, say


def print_hosts(path: Path) -> int:
    """Print the hosts whose files are in this folder, or in the folder of this file, the worst first. Returns
    the exit status with --strict. Raises ImbError if there are no files."""
    folder = path if path.is_dir() else path.parent
    hosts: list[HealthFile] = []
    unreadable = False
    for file in sorted(folder.glob("*.json")):
        try:
            hosts += filter(None, [checks.load_file(file, to_execute=False)])
        except (ImbError, OSError) as error:
            say(f"imb: {error}", err=True)
            unreadable = True
    if not hosts:
        raise ImbError(f"no files of imb health in {folder}; measure sessions with `imb health --learn`")
    worst_first = (
        "bad", "suspect", checks.CANNOT_JUDGE, "inconclusive", "not checked", "learning", "healthy",
    )  # fmt: skip

    def state(kept: HealthFile) -> str:
        if kept.last:
            return kept.last.verdict
        if any(watched.suspect for watched in kept.watched.values()):
            return "suspect"
        return "learning" if len(kept.sessions) < FEWEST else "not checked"

    def order(kept: HealthFile) -> tuple[object, ...]:
        name = state(kept)
        return worst_first.index(name) if name in worst_first else -1, natural_key(kept.host)

    rows = [
        (
            state(kept),
            kept.host,
            kept.last.at if kept.last else "",
            str(len(kept.sessions)),
            str(kept.checks),
            str(kept.suspects),
            "; ".join(
                [
                    *(
                        f"{figure} since {watched.suspect}"
                        for figure, watched in kept.watched.items()
                        if watched.suspect
                    ),
                    *filter(None, [kept.last.why if kept.last else ""]),
                ]
            ),
        )
        for kept in sorted(hosts, key=order)
    ]
    say(*columns(("verdict", "host", "checked", "sessions", "checks", "suspects", "metrics"), rows))
    if any(row[0] == "bad" for row in rows):
        return BAD
    if unreadable:
        return Status.USAGE
    return Status.GOOD if all(row[0] == "healthy" for row in rows) else Status.UNDECIDED
