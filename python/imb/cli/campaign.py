"""imb campaign"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imb.archive.store import Archive
from imb.cli.common import ArchiveOption
from imb.cli.display import in_time
from imb.cli.launching import carry_out, prepare_variant
from imb.cli.sampling import tell_classic
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

if TYPE_CHECKING:
    from imb.measure import session


def command(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="The campaign, in TOML.")] = None,
    launches: Annotated[
        int | None, typer.Option("--launches", min=1, metavar="N", help="Instead of the file's.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", metavar="N", help="Of the random order.", show_default="the file's, or a new one"
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with FILE's newest session; without FILE, with the newest."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show commands and predicted time, and launch nothing.")
    ] = False,
    submit: SubmitOption = None,
    minutes: MinutesOption = None,
    queue: QueueOption = None,
    account: AccountOption = None,
    jobs: JobsOption = 1,
    host_pairs: PairsOption = None,
    archive: ArchiveOption = None,
) -> None:
    """Launches a matrix of variants, benchmarks and process counts, in random order, and keeps everything.

    FILE names variants - MPI, environment, launcher options, binding, CPUs, hosts, compiler, arguments, commands that
    set something up and tear it down - and what to measure with each. Every round launches each cell of the matrix
    once, in random order, so that drift of the machine hits all of them alike; `launches` says how many rounds. The
    seed of the order is shown and recorded. Every run is labelled CAMPAIGN/VARIANT, which `imb compare` takes.

    Commands in `setup` run before launches of their variant, those in `teardown` behind them, also when a command
    fails, a launch hangs, or at Ctrl-C and SIGTERM. A variant whose set-up fails is left out; the others go on. When
    imb itself was killed, --resume begins with the tear-down. Both kinds of commands should do no harm twice.

    With --submit the session is written down and a job runs it, as of imb run; --resume --submit goes on in the next one, and
    --jobs 3 submits two more jobs that do so. --host-pairs n1,n2,n3 submits the campaign once per pair of hosts, under the names
    CAMPAIGN/n1-n2 ...

    Ctrl-C keeps what is done, and --resume goes on. docs/companion.md has all keys of FILE; examples/ has campaigns.

    \b
    A FILE:
      benchmarks = ["PingPong", "Allreduce"]
      processes = 2                              # or a list
      launches = 10                              # of each variant
      # until_decided = true                     # stop when every band is; then launches is the most (20)
      # budget = 3600                            # ... or after so many seconds
      # parts = 100                              # launches of all variants interleaved (no setup then)
      precision = 0.01                           # of rows, in passes; or classic = true: one burst a row
      launch_budget = 30                         # seconds of a launch in passes, at most
      arguments = "-msglog 16"                   # IMB's
      [common]                                   # settings of all variants
      mpi = "openmpi"                            # compiler, programs, launcher, hosts, ppn
      bind = "core"                              # or cpus = [0, 3]
      [variants.shm]
      launcher_options = "--mca btl self,sm"
      [variants.tcp]
      launcher_options = "--mca btl self,tcp"
      env = { UCX_LOG_LEVEL = "error" }
      setup = "modprobe xyz"                     # before its launches
      teardown = "modprobe -r xyz"               # behind them

    Exit status: 0 all measured; 1 a launch failed or a set-up or tear-down did; 2 a mistake; 130 interrupted.

    \b
    Examples:
      imb campaign examples/transports-openmpi.toml --dry-run
      imb campaign examples/transports-openmpi.toml
      imb campaign examples/transports-openmpi.toml --submit slurm --queue short --jobs 3
      imb campaign --resume
      imb compare transports-openmpi/shm transports-openmpi/tcp
    """
    from imb.measure import session

    store = Archive(archive)
    job = Job(submit, minutes, queue, account, jobs)
    job.examine(host_pairs)
    if resume and host_pairs:
        raise ImbError("--host-pairs does not go with --resume; resume the session of a pair by its name")
    plans = [_resumed(store, file, launches, seed)] if resume else _planned(file, launches, seed, host_pairs)
    if dry_run:
        for made in plans:
            _tell(store, made)
        return
    if not resume:
        for made in plans:
            session.save(store, made)
    if submit:
        raise typer.Exit(hand_over(store, plans, job))
    carry_out(store, plans[0])


def _tell(store: Archive, made: session.Plan) -> None:
    """What --dry-run prints."""
    from imb.measure import session

    for item in made.items:
        typer.echo(str(session.command_of(made, item, Path(), shown=True)))
    left = session.seconds_of(made, session.done(store, made).values(), session.usual_seconds(store, made))
    words = "nothing to predict the time by yet" if left is None else f"about {in_time(left)}"
    most = " at most" if made.until else ""
    typer.echo(f"{len(made.items)} launches{most}, seed {made.seed}: {words}", err=True)


def _planned(
    file: Path | None, launches: int | None, seed: int | None, host_pairs: str | None
) -> list[session.Plan]:
    """One, or one per pair of hosts."""
    import secrets

    import msgspec

    from imb.measure import campaign, planning

    if file is None:
        raise ImbError("give a campaign FILE, or --resume; examples/ has some")
    made, source = campaign.read(file)
    made = msgspec.structs.replace(made, launches=launches or made.launches)
    campaign.examine(made)
    tell_classic(campaign.why_classic(made))
    chosen = next((s for s in (seed, made.seed) if s is not None), secrets.randbelow(2**31))
    each = [planning.on_hosts(made, pair) for pair in pairs_of(host_pairs)] if host_pairs else [made]
    return [planning.plan(one, prepare_variant, seed=chosen, source=source) for one in each]


def _resumed(store: Archive, file: Path | None, launches: int | None, seed: int | None) -> session.Plan:
    from imb.measure import campaign, session

    if launches or seed is not None:
        raise ImbError("--resume goes on with what was planned; leave --launches and --seed out")
    made, source = campaign.read(file) if file else (None, None)
    plans = session.of_campaign(store, made.name if made else None, own=True)
    if not plans:
        what = f"campaign {made.name}" if made else "a campaign"
        raise ImbError(f"no session of {what} of yours in {store.folder}; `imb run --resume NAME` takes any")
    if source and plans[-1].source != source:
        raise ImbError(
            f"{file} has changed since session {plans[-1].id} began; leave --resume out to begin anew, or"
            f" `imb run --resume {plans[-1].id}` to go on with the old one"
        )
    return plans[-1]
