"""The final output of `imb tune`: result and page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from imb.experiments.launch_lines import warn_of_others
from imb.model.errors import ImbError
from imb.model.statuses import Status
from imb.report.terminal import Screen, say, write_json
from imb.tune import tune_text

if TYPE_CHECKING:
    from imb.runner.session import Plan
    from imb.store.store import Archive
    from imb.tune.search import TuneResult
    from imb.tune.tune_planning import TuneSettings


def print_result(archive: Archive, result: TuneResult, plan: Plan, settings: TuneSettings) -> int:
    """Print the result and write the page. Returns the exit status. Raises ImbError."""
    verify = settings.verify is not None
    if settings.format == "json":
        document = tune_text.tuning_json(
            result, settings.margin, plan.id, plan.variants[0].mpi.version, verify=verify
        )
        write_json(document)
    else:
        say(tune_text.headline(result, settings.margin, verify=verify))
        table = list(tune_text.rows(result, every=settings.rows))
        if table:
            Screen().table(tune_text.HEADINGS, table, right=tune_text.RIGHT)
        for line in tune_text.screened_lines(result):
            say(f"left out: {line}")
        for line in tune_text.notes(result):
            say(f"note: {line}")
        if result.switch:
            say(f"files: {settings.output}; switch them on with `. {Path(settings.output) / 'switch.sh'}`:")
            say(*(f"  {name}={value}" for name, value in result.switch.environment.items()))
    warn_of_others(archive, result.evidence)
    if settings.page:
        _write_page(Path(settings.page), result, plan, settings)
    return _status(result, verify=verify)


def _write_page(file: Path, result: TuneResult, plan: Plan, settings: TuneSettings) -> None:
    from datetime import datetime

    from imb.store.durable_files import write_whole
    from imb.tune.tune_page import tuning_page

    text = tuning_page(
        result,
        settings.margin,
        mpi=plan.variants[0].mpi.version,
        session=plan.id,
        verify=settings.verify is not None,
        now=datetime.now().astimezone(),
    )
    try:
        write_whole(file, text.encode())
    except OSError as error:
        raise ImbError(f"cannot write {file}: {error.strerror or error}") from error
    say(f"page: {file}", err=True)


def _status(result: TuneResult, *, verify: bool) -> int:
    if verify and result.slower:
        return Status.WORSE
    if result.failed:
        return Status.FAILED
    if result.stopped:
        return Status.UNDECIDED
    if not result.cells:
        return Status.FAILED
    return Status.GOOD if not verify or result.is_confirmed() else Status.UNDECIDED
