"""imb run"""

from __future__ import annotations

from typing import Annotated

import typer

from imb.cli.common import (
    RESUMED,
    ArchiveOption,
    LabelOption,
    ResumeOption,
    names_and_arguments,
    session_named,
)
from imb.cli.launching import (
    BindOption,
    ClassicOption,
    ClassOption,
    CpusOption,
    EnvOption,
    GpuOption,
    HostsOption,
    LaunchBudgetOption,
    LauncherOption,
    MemoryOption,
    MpiOption,
    PpnOption,
    PrecisionOption,
    ProgramsOption,
    TimeoutOption,
    VerboseOption,
    build_for,
    intent_of,
    note_classic,
    prepare,
    print_launches_left,
    refuse_missing_cpus,
    sampling_of,
)
from imb.cli.option_groups import ACTING, METHOD, SESSION, SUBJECT
from imb.cli.submitting import (
    AccountOption,
    Job,
    MinutesOption,
    QueueOption,
    SubmitOption,
    hand_over,
)
from imb.model.errors import ImbError
from imb.store.store import Archive


def command(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME...] [-- IMB arguments]",
            help="Benchmarks (PingPong, rma:accumulate) or components (mpi1, ext, rma, nbc, io, mpi4, p2p, mt); with --resume a session.",
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
            show_default="2, or from --map, --hosts, --ppn, --cpus",
            rich_help_panel=SUBJECT,
        ),
    ] = None,
    launches: Annotated[
        int,
        typer.Option(
            "--launches", min=1, metavar="N", help="Launch each component N times.", rich_help_panel=METHOD
        ),
    ] = 1,
    kind: ClassOption = None,
    map_: Annotated[
        str | None,
        typer.Option(
            "--map",
            metavar="PxQ",
            help="Number ranks along the rows of a P x Q matrix (IMB -map).",
            rich_help_panel=SUBJECT,
        ),
    ] = None,
    memory: MemoryOption = None,
    gpu: GpuOption = None,
    classic: ClassicOption = False,
    precision: PrecisionOption = None,
    launch_budget: LaunchBudgetOption = None,
    mpi: MpiOption = None,
    programs: ProgramsOption = None,
    bind: BindOption = None,
    hosts: HostsOption = None,
    ppn: PpnOption = None,
    env: EnvOption = None,
    cpus: CpusOption = None,
    launcher: LauncherOption = "mpiexec",
    timeout: Annotated[TimeoutOption, RESUMED] = None,
    verbose: Annotated[VerboseOption, RESUMED] = False,
    label: LabelOption = None,
    resume: ResumeOption = False,
    force_owner: Annotated[
        bool,
        typer.Option(
            "--force-owner", help="With --resume: execute a session of another user.", rich_help_panel=SESSION
        ),
        RESUMED,
        ACTING,
    ] = False,
    submit: Annotated[SubmitOption, RESUMED] = None,
    minutes: Annotated[MinutesOption, RESUMED] = None,
    queue: Annotated[QueueOption, RESUMED] = None,
    account: Annotated[AccountOption, RESUMED] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print the commands and launch nothing.", rich_help_panel=SESSION),
        RESUMED,
    ] = False,
    archive: ArchiveOption = None,
) -> None:
    """Run benchmarks and keep records, output, errors, exit status and conditions.

    Every launch becomes a run of the archive. The suite is built first if needed. The exact command is printed and
    recorded. IMB arguments follow --; `IMB-MPI1 -help all` lists them. Rows are measured in passes; --classic measures
    each in one burst, as IMB does. After Ctrl-C or a crash, `imb run --resume` continues.

    \b
    Examples:
      imb run PingPong Allreduce --np 2 --launches 5 --label baseline
      imb run PingPong --cpus 0,3 --precision 1% -- -msglog 16
      imb run PingPong --hosts node1,node2 --ppn 1 --env UCX_TLS=rc --timeout 300
      imb run PingPong Allreduce --memory cuda --gpu local_rank

    Exit status: 0 all measured; 1 a launch failed, hung, or had failure rows; 2 usage error; 130 interrupted.
    \f
    A launch that exceeds --timeout is killed with all its processes; its rows are kept, and the other launches follow.
    --resume repeats the launch that was cut off, ends with the report of the command that began the session, and takes a
    new --timeout.

    A launch in passes takes a short sample of every row, pass after pass, until the 95 % interval of each row's median
    is within 2 % (--precision) or --launch-budget is spent. The IMB arguments -show_tail, -dumpfile, -msg_pause and -pause imply --classic;
    -passes, -precision and -budget override the options of imb.

    Ranks are pinned only by --bind, --cpus or the launcher's default. With more ranks than cores, Open MPI gets its
    option to oversubscribe; as root, its option to allow root.

    With --submit a job executes the session, with an archive that it can access. Several jobs, and a
    job per pair of hosts: see imb campaign.
    """
    from imb.experiments import session_loop
    from imb.model import gpus
    from imb.runner import passes, selection, session, stored_sessions

    store = Archive(archive)
    words = list(names or [])
    job = Job(submit, minutes, queue, account, timeout if resume else None)
    job.examine(context)
    if force_owner and not resume:
        raise ImbError("--force-owner is an option of --resume; omit it, or add --resume")
    if resume:
        RESUMED.refuse_others(context)
        plan = stored_sessions.find_session(store, session_named(words), force_owner=force_owner)
        plan = stored_sessions.set_timeout(plan, timeout)
    else:
        benchmarks, arguments = names_and_arguments(words)
        if map_:
            rows, cross, columns = map_.lower().partition("x")
            if not (cross and rows.isdecimal() and columns.isdecimal()):
                raise ImbError(f"--map: not PxQ: {map_}; give one such as 2x4")
            np = np or int(rows) * int(columns)
            arguments = ["-map", f"{rows}x{columns}", *arguments]
        gpus.refuse_twice(memory, gpu, arguments)
        arguments = [*gpus.arguments(memory, gpu), *arguments]
        by_component = selection.select(benchmarks, kind)
        if memory or gpu:
            selection.refuse_files(by_component, "--memory and --gpu")
        intent = intent_of(np, hosts, ppn, bind, cpus, env, launcher)
        if not submit:
            refuse_missing_cpus(intent)
        sampling = sampling_of(classic, precision, launch_budget)
        installation, folder = prepare(mpi, programs)
        plan = session.plan_launches(
            mpi=installation,
            programs=folder,
            intent=intent,
            selection=by_component,
            arguments=arguments,
            launches=launches,
            timeout=timeout,
            labels=label or [],
            sampling=sampling,
        )
        note_classic(None if classic else passes.classic_reason(arguments))
    if dry_run:
        if programs:
            session.refuse_missing_programs(plan)
        print_launches_left(store, plan)
        return
    if not resume:
        build_for([plan], installation, programs)
        session.save(store, plan)
    if submit:
        raise typer.Exit(hand_over(store, [plan], job))
    raise typer.Exit(session_loop.carry_out_plan(store, plan, verbose=verbose))
