"""Executes a session: runs its launches one after another or interleaved, with live progress, and then the launches that its experiment adds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from imb import registry
from imb.experiments.display import Display
from imb.experiments.launch_lines import is_usage_error, launch_line, launch_name, title_of, warn_of_others
from imb.model.errors import ImbError
from imb.model.mpis import ignored_variables
from imb.model.statuses import Status
from imb.model.units import count_of
from imb.report.terminal import say
from imb.runner import lock, session
from imb.runner.experiment import ArchivedExperiment, SessionEnd
from imb.runner.transports import TransportReports
from imb.store.store import Archive, ArchiveFull

if TYPE_CHECKING:
    from imb.model.intent import Intent
    from imb.runner.session import Item, Plan, Variant


def carry_out(experiment: ArchivedExperiment[Any, Any], plan: Plan, *, verbose: bool = False) -> int:
    """Runs the launches that are not over, judges and prints; returns the exit status. Raises ImbError, with status 130 if the user interrupts
    it."""
    try:
        return experiment.conclude(launch_all(experiment, plan, verbose=verbose))
    except KeyboardInterrupt:
        if hint := experiment.hint_on_interrupt():
            say(f"imb: {hint}", err=True)
        raise ImbError(
            f"interrupted; continue with `imb run --resume {plan.id}`", status=Status.INTERRUPTED
        ) from None


def carry_out_plan(archive: Archive, plan: Plan, *, verbose: bool = False) -> int:
    """`carry_out` with the experiment that is registered for the command of the plan, for a new session and for one that is resumed."""
    return carry_out(registry.experiment(plan.command)(archive, plan), plan, verbose=verbose)


def launch_all(experiment: ArchivedExperiment[Any, Any], plan: Plan, *, verbose: bool = False) -> SessionEnd:
    """Runs the launches of the session that are not over, and the launches that the experiment adds. `verbose`: shows complete commands.

    Raises ImbError if another process executes the session."""
    archive = experiment.archive
    try:
        with lock.hold_lock(archive, plan, lambda line: say(f"imb: {line}", err=True)):
            for variant in plan.variants:
                warn_of_ignored_variables(variant)
            # The variants of a session that grows use the same CPUs, so one is examined.
            for variant in plan.variants[:1] if plan.grows else plan.variants:
                ranks = [item.ranks or variant.intent.ranks for item in plan.items]
                most_ranks = max(ranks, default=variant.intent.ranks)
                examine_shared_cpus(variant.intent, most_ranks, variant.name)
            executed = SessionEnd([], 0, None, plan)
            transports = TransportReports()
            if plan.items:
                executed = _launch_planned(experiment, plan, transports, verbose=verbose)
            while not executed.stopped:
                following = experiment.next(executed.plan, executed.over, None, _say)
                if following.stop:
                    session.stop(archive, executed.plan, following.stop)
                    executed = executed._replace(stopped=following.stop)
                if following.plan is None:
                    break
                session.extend(archive, following.plan)
                announced = bool(plan.grows and executed.plan.items)
                executed = _launch_planned(
                    experiment, following.plan, transports, verbose=verbose, announced=announced
                )
            if plan.grows:
                session.stop(archive, executed.plan, "its last stage has ended")
            return executed
    except ArchiveFull as error:
        raise ImbError(f"{error}, then `imb run --resume {plan.id}` continues") from error


def _say(line: str) -> None:
    say(line, err=True)


def _launch_planned(
    experiment: ArchivedExperiment[Any, Any],
    plan: Plan,
    transports: TransportReports,
    *,
    verbose: bool,
    announced: bool = False,
) -> SessionEnd:
    """Runs the launches of the plan that are not over. `announced`: a line about them was printed already."""
    from imb.model import records
    from imb.report.run_tables import print_tables
    from imb.runner import execution, stored_sessions
    from imb.runner.setup_teardown import SetupState

    archive, shows = experiment.archive, experiment.shows
    execution.settle(archive, plan)
    before = session.finished_launches(archive, plan)
    todo = [item for item in plan.items if item.number not in before]
    session.refuse_without_secrets(plan, todo)
    versions = ", ".join(dict.fromkeys(variant.mpi.version for variant in plan.variants))
    limit = " at most" if plan.until else ""
    may_repeat = plan.repeats and not any(item.repeats for item in plan.items)
    limit += f", at most {count_of(plan.repeats, 'repeat')}" if may_repeat else ""
    if announced:
        pass
    elif todo:
        count = (
            count_of(len(todo), "launch")
            if plan.grows
            else f"{len(todo)} of {count_of(len(plan.items), 'launch')}"
        )
        say(f"{title_of(plan)}: {count} to run{' first' if plan.grows else ''}{limit}, {versions}", err=True)
    else:
        nothing_left = "" if plan.grows else "nothing left to run, "
        say(f"{title_of(plan)}: {nothing_left}{count_of(len(plan.items), 'launch')} done", err=True)
    over = list(before.values())
    left_out = 0
    refused: set[tuple[object, ...]] = set()  # keys of launches whose arguments the suite refuses
    missing: set[tuple[object, ...]] = set()  # keys of launches that cannot be started
    skipped = 0
    stopped: str | None = None

    with_table = shows.tables and len(plan.items) == 1
    tables_shown = 0

    def show_table(item: Item, file: Path) -> None:
        nonlocal tables_shown
        if with_table:
            tables_shown += 1
            display.end()
            print_tables(records.read(file.read_bytes(), file.name), failures=False)

    with (
        Display(
            plan,
            stored_sessions.expected_seconds(archive, plan),
            commands=shows.measured,
            verbose=verbose,
        ) as display,
        SetupState(archive, plan, display.say) as setup_state,
    ):
        if not plan.until:  # else the comparison may be decided already
            display.show_time_left(over, todo[0].turn if todo else None)
        for items in session.launch_batches(plan, todo):
            if stopped := experiment.next(plan, over, items[0].turn, display.say).stop:
                break
            if any(item.work_key() in refused for item in items):
                skipped += len(items)
                continue
            if any(item.work_key() in missing for item in items):
                left_out += len(items)
                continue
            if not setup_state.switch(items[0].variant):  # interleaved launches have no setup
                left_out += len(items)
                continue
            display.begin(items, over)
            try:
                now_over = execution.execute(
                    archive,
                    plan,
                    items,
                    transports=transports,
                    on_start=display.show_command,
                    on_progress=display.show,
                    on_problem=lambda item, line: display.warn(f"imb: {launch_name(plan, item)}: {line}"),
                    on_measured=show_table,
                )
            except session.StartError as error:
                missing |= {item.work_key() for item in items}
                if not over and missing.issuperset(item.work_key() for item in todo):
                    raise
                display.say(f"imb: {launch_name(plan, items[0])}: {error}; skipped, also in later rounds")
                left_out += len(items)
                continue
            finally:
                display.end()
            over += now_over
            for ended in now_over:
                if with_table and not tables_shown:  # the launch is incomplete
                    print_tables(archive.run(ended.run).records(), failures=False)
                if shows.measured if ended.outcome == "measured" else shows.failures:
                    say(launch_line(archive, plan, ended), err=not shows.on_stdout)
            refused |= {
                plan.items[ended.number - 1].work_key()
                for ended in now_over
                if is_usage_error(archive, ended)
            }
            if any(ended.outcome == "interrupted" for ended in now_over):
                raise KeyboardInterrupt
        if skipped:
            display.say(f"imb: {count_of(skipped, 'launch')} skipped after a usage error")
    if stopped:
        session.stop(archive, plan, stopped)
    # With `until`, the last line is the reason for stopping.
    if not plan.until and shows.failures and not announced:
        warn_of_others(archive, (ended.run for ended in over if ended.number not in before))
    all_refused = bool(over) and all(plan.items[ended.number - 1].work_key() in refused for ended in over)
    return SessionEnd(over, left_out, stopped, plan, all_refused)


def warn_of_ignored_variables(variant: Variant) -> None:
    """Warns if a variant sets variables that only other MPIs read."""
    variant_text = f"variant {variant.name}: " if variant.name else ""
    if names := ignored_variables(variant.mpi.product, variant.intent.env):
        say(
            f"imb: warning: {variant_text}{variant.mpi.version} ignores {', '.join(names)}; choose the MPI by --mpi",
            err=True,
        )


_MOST_PER_CORE = 100  # ranks per core


def examine_shared_cpus(intent: Intent, ranks: int, name: str = "") -> None:
    """Warns if --cpus pins several of `ranks` ranks on this host to one CPU, or if the host has fewer cores than ranks. Raises ImbError if
    there are so many ranks that the host would not respond."""
    from imb.mpi import host
    from imb.runner import session

    if session.is_remote(intent):
        return
    prefix = f"variant {name}: " if name else ""
    pinned = [intent.cpus[rank % len(intent.cpus)] for rank in range(ranks)] if intent.cpus else []
    cores = host.cores()
    if ranks > _MOST_PER_CORE * cores:
        raise ImbError(
            f"{prefix}{ranks} ranks on {count_of(cores, 'core')} would stall this host; give --np of at most {_MOST_PER_CORE * cores},"
            " or --hosts"
        )
    if not pinned and ranks > cores:
        say(f"imb: warning: {prefix}{ranks} ranks on {count_of(cores, 'core')}: ranks share cores", err=True)
    if len(set(pinned)) == len(pinned):
        return
    shared = next(cpu for cpu in pinned if pinned.count(cpu) > 1)
    sharing = [str(rank) for rank, cpu in enumerate(pinned) if cpu == shared]
    listed = " and ".join(sharing) if len(sharing) < 4 else f"{sharing[0]} and {len(sharing) - 1} others"
    say(f"imb: warning: {prefix}ranks {listed} share CPU {shared}; times include waiting for it", err=True)
