"""imb run"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from imb.archive.store import Archive
from imb.cli.common import ArchiveOption, LabelOption
from imb.cli.launching import (
    BindOption,
    CpusOption,
    EnvOption,
    HostsOption,
    LauncherOption,
    MpiOption,
    PpnOption,
    ProgramsOption,
    carry_out,
    intent_of,
    prepare,
)
from imb.cli.sampling import BudgetOption, ClassicOption, PrecisionOption, sampling_of, tell_classic
from imb.cli.submitting import (
    AccountOption,
    Job,
    JobsOption,
    MinutesOption,
    PairsOption,
    QueueOption,
    SubmitOption,
    hand_over,
    pairs_of,
)
from imb.model.errors import ImbError

# What a session's plan does not hold; all else was said when it was made.
_OF_ONE_CALL = {
    "names",
    "resume",
    "force_owner",
    "submit",
    "minutes",
    "queue",
    "account",
    "jobs",
    "dry_run",
    "archive",
}


def command(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]... [-- IMB arguments]",
            help="Benchmarks (PingPong, rma:accumulate) or components (mpi1, ext, rma, nbc, io).",
            show_default="mpi1",
        ),
    ] = None,
    np: Annotated[
        int | None,
        typer.Option(
            "--np",
            "-n",
            min=1,
            metavar="N",
            help="Ranks.",
            show_default="2, or what --map, --cpus, --ppn say",
        ),
    ] = None,
    launches: Annotated[
        int,
        typer.Option(
            "--launches",
            min=1,
            metavar="N",
            help="Launch each N times: launches differ more than repetitions.",
        ),
    ] = 1,
    kind: Annotated[
        Literal["single", "parallel", "collective"] | None,
        typer.Option("--class", help="Of a component, only benchmarks of this class."),
    ] = None,
    map_: Annotated[
        str | None,
        typer.Option(
            "--map", metavar="PxQ", help="IMB's -map: number ranks along the rows of a P x Q matrix."
        ),
    ] = None,
    classic: ClassicOption = False,
    precision: PrecisionOption = None,
    budget: BudgetOption = None,
    mpi: MpiOption = None,
    programs: ProgramsOption = None,
    bind: BindOption = None,
    hosts: HostsOption = None,
    ppn: PpnOption = None,
    env: EnvOption = None,
    cpus: CpusOption = None,
    launcher: LauncherOption = "mpiexec",
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout", min=0.1, metavar="SECONDS", help="End a launch that takes longer, and go on."
        ),
    ] = None,
    label: LabelOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with your newest session, or with session NAME.")
    ] = False,
    force_owner: Annotated[
        bool, typer.Option("--force-owner", help="With --resume: carry out a session of another user.")
    ] = False,
    submit: SubmitOption = None,
    minutes: MinutesOption = None,
    queue: QueueOption = None,
    account: AccountOption = None,
    jobs: JobsOption = 1,
    host_pairs: PairsOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the commands and launch nothing.")] = False,
    archive: ArchiveOption = None,
) -> None:
    """Launches benchmarks and keeps everything: records, output, errors, exit status, conditions.

    Every launch becomes a run of the archive. The suite is built first where `imb build` has not built it for this
    MPI. The exact command is shown and recorded. Words after -- go to IMB; `IMB-MPI1 -help` tells them.

    A launch that exceeds --timeout is ended with all its processes, kept with what it had measured, and the others
    follow. Ctrl-C keeps what is done; `imb run --resume` repeats the launch that was cut off and goes on; so it does
    after `imb` was killed.

    Rows are measured in passes: a launch walks all its rows again and again, a short sample of each, until the 95 % interval
    of every row's median is within 2 %, or its budget is spent. --classic measures each row in one burst, as IMB does.
    So do, with a line that says so, -show_tail, -dumpfile and -msg_pause after --. -passes, -precision or -budget there
    take the place of these options. Results of both kinds are not compared with each other.

    Nothing is pinned unless --bind or --cpus says so or the launcher does it by itself. With more ranks than cores,
    Open MPI is told to oversubscribe; as root, to run all the same.

    With --submit the session is written down and a job goes through it in the same way. The archive must be on a file
    system that the job sees. A local job prints what it did; of a batch job the runs appear in `imb ls` as they end. With
    --jobs 3 two more jobs wait for the first and resume what its time limit cut off. --host-pairs n1,n2,n3 submits a session
    and a job for each pair of hosts.

    Exit status: 0 all measured; 1 a launch failed, hung, or had failure rows; 2 a mistake; 130 interrupted.

    \b
    Examples:
      imb run PingPong Allreduce --np 2 --launches 5
      imb run mpi1 --class collective --map 2x2 --label baseline
      imb run PingPong --cpus 0,3 --precision 1% --budget 60 -- -msglog 16
      imb run PingPong --classic -- -msglog 16 -time 1
      imb run PingPong --hosts node1,node2 --ppn 1 --env UCX_TLS=rc --timeout 300
      imb run --resume
    """
    from imb.measure import passes, selection, session

    store = Archive(archive)
    words = list(names or [])
    job = Job(submit, minutes, queue, account, jobs)
    job.examine(host_pairs)
    if resume:
        _refuse_others(context)
        if len(words) > 1:
            raise ImbError(f"--resume {' '.join(words)}: one session at a time, and no words for IMB")
        plans = [session.find(store, words[0] if words else None, force_owner=force_owner)]
    else:
        split = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
        arguments, words = words[split:], words[:split]
        if map_:
            rows, x, columns = map_.lower().partition("x")
            if not (x and rows.isdecimal() and columns.isdecimal()):
                raise ImbError(f"--map {map_}: give PxQ, such as 2x4")
            np = np or int(rows) * int(columns)
            arguments = ["-map", f"{rows}x{columns}", *arguments]
        if host_pairs and hosts:
            raise ImbError(
                "--hosts and --host-pairs exclude each other; --host-pairs launches on two hosts per job"
            )
        chosen = selection.select(words, kind)
        places = [",".join(pair) for pair in pairs_of(host_pairs)] if host_pairs else [hosts]
        intents = [intent_of(np, place, ppn, bind, cpus, env, launcher) for place in places]
        sampling = sampling_of(classic, precision, budget)
        found, folder = prepare(mpi, programs)
        plans = [
            session.plan(
                mpi=found,
                programs=folder,
                intent=intent,
                selection=chosen,
                arguments=arguments,
                launches=launches,
                timeout=timeout,
                labels=label or [],
                sampling=sampling,
            )
            for intent in intents
        ]
        tell_classic(None if classic else passes.why_classic(arguments))
    if dry_run:
        for made in plans:
            for item in made.items:
                typer.echo(str(session.command_of(made, item, Path(), shown=True)))
        return
    if not resume:
        for made in plans:
            session.save(store, made)
    if submit:
        raise typer.Exit(hand_over(store, plans, job))
    carry_out(store, plans[0])


def _refuse_others(context: typer.Context) -> None:
    """Raises ImbError for options that would be ignored by --resume."""
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if option.name not in _OF_ONE_CALL and source is not None and source.name == "COMMANDLINE":
            raise ImbError(
                f"{option.opts[0]} does not go with --resume, which launches what was planned;"
                " without --resume a new session begins"
            )
