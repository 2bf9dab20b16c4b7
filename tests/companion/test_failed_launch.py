"""Launches that fail before they measure anything: the reason is printed by every command that meets them."""

import shutil
from pathlib import Path

import lab
import pytest
from companion import fake_mpi
from companion.door import Imb
from companion.slices import with_commands
from imb.model.records import End, Failure, Rank, Record, Run, write
from imb.store.store import Archive, Content

SLOTS = f"""\
{"-" * 74}
There are not enough slots available in the system to satisfy the 200
slots that were requested by the application:

  /somewhere/IMB-MPI1

Either request fewer procs for your application, or make more slots
available for use.
{"-" * 74}
"""
COMPONENT = f"""\
{"-" * 74}
A requested component was not found, or was unable to be opened.  This
means that this component is either not installed or is unable to be
used on your system (e.g., sometimes this means that shared libraries
that the component requires are unable to be found/loaded).

Host:      vm
Framework: pml
Component: nonsense
{"-" * 74}
*** An error occurred in MPI_Init_thread
{"-" * 74}
prterun detected that one or more processes exited with non-zero status,
thus causing the job to be terminated. The first process to do so was:

   Exit code:    14
{"-" * 74}
"""
STACK = """\
Abort(404374800): Fatal error in internal_Init_thread: Internal MPI error!, error stack:
internal_Init_thread(71)........: MPI_Init_thread(argc=0x7ffe8edee9bc, argv=0x7ffe8edee9b0) failed
MPII_Init_thread(232)...........:\x20
check_MPIR_CVAR_PMI_VERSION(167):  Runtime environment uses unsupported PMI version PMIx. Aborting.
"""
UCX = """\
[1795413538.388563] [vm:1201 :0] ucp_context.c:1381 UCX  WARN  transport 'nonsense' is not available, please use one or more of: cma, tcp
[1795413538.388665] [vm:1201 :0] ucp_context.c:1643 UCX  ERROR no usable transports/devices (asked nonsense on all devices)
Abort(941245839): Fatal error in internal_Init_thread: Other MPI error, error stack:
MPIDI_UCX_init_local(240):  ucx function returned with failed status(ucx_init.c 240 MPIDI_UCX_init_local No such device)
"""
HOST = "ssh: Could not resolve hostname nosuchhost: Name or service not known\r\n[mpiexec@vm] ui_cmd_cb: failed\n"
LONG = " ".join(["word"] * 90) + "\n"


def failing(folder: Path, errors: str, output: str = "", status: int = 1) -> list[object]:
    """An MPI whose launches print this and measure nothing."""
    options = fake_mpi.make(folder)
    (folder / "errors").write_text(errors)
    (folder / "output").write_text(output)
    launcher = folder / "bin" / "mpiexec"
    version = "[ \"$1\" = --version ] && { echo 'mpiexec (Open MPI) 5.0.9'; exit; }"
    launcher.write_text(
        f"#!/bin/sh\n{version}\ncat {folder}/output; cat {folder}/errors >&2; exit {status}\n"
    )
    return options


@pytest.mark.parametrize(
    ("errors", "output", "reason"),
    [
        (
            SLOTS,
            "",
            "There are not enough slots available in the system to satisfy the 200 slots that were requested by the"
            " application: /somewhere/IMB-MPI1",
        ),
        (
            COMPONENT,
            "",
            "A requested component was not found, or was unable to be opened. (Host: vm, Framework: pml, Component: nonsense)",
        ),
        (STACK, "", "Runtime environment uses unsupported PMI version PMIx. Aborting."),
        (UCX, "", "transport 'nonsense' is not available"),
        (STACK, UCX, "transport 'nonsense' is not available"),
        (HOST, "", "ssh: Could not resolve hostname nosuchhost: Name or service not known"),
        (
            "",
            "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)\n",
            "a rank was ended by a signal: Segmentation fault (signal 11)",
        ),
        (LONG, "", " ".join(["word"] * 39) + " ..."),
    ],
    ids=["slots", "component", "stack", "ucx", "ucx-output", "host", "signal", "long"],
)
def test_the_reason_of_a_failed_launch_is_one_whole_line(
    imb: Imb, archive: Archive, tmp_path: Path, errors: str, output: str, reason: str
) -> None:
    said = imb("run", "PingPong", *failing(tmp_path / "mpi", errors, output))
    assert said.code == 1 and f"failed with exit status 1 ({reason})" in said.out, said.out
    assert len(reason) <= 200
    [name] = archive.ids()
    shown = imb("show", name[:10])
    assert shown.code == 0 and f"reason       {reason}" in shown.out
    found = imb("diagnose", name[:10])
    text = " ".join(found.out.split())  # folded
    assert found.code == 1 and f"no result: failed with exit status 1 ({reason})" in text, found


@pytest.mark.parametrize(
    ("outcome", "facts", "found"),
    [
        ("interrupted", {"exit_status": None}, "no result: interrupted"),
        ("interrupted", {"exit_status": -15}, "no result: interrupted"),
        ("failed", {"exit_status": 5}, "no result: failed with exit status 5 (no reason was printed)"),
        ("failed", {"exit_status": -9}, "no result: launcher killed by signal 9 (no reason was printed)"),
        (
            "failed",
            {"exit_status": 5, "problem": "1 instead of 2 ranks"},
            "no result: failed with exit status 5 (1 instead of 2 ranks)",
        ),
        ("timed_out", {"exit_status": -9}, "no result: killed at its time limit"),
        ("timed_out", {"problem": "no new row for 9 s"}, "no result: killed: no new row for 9 s"),
    ],
)
def test_diagnose_says_why_a_launch_has_no_result(
    imb: Imb, archive: Archive, outcome: str, facts: dict[str, object], found: str
) -> None:
    """An `imb` that was killed leaves the first one: no process knows how its launcher exited."""
    run = archive.add(Content(output=b"# begun", facts={"kind": "launch", "outcome": outcome, **facts})).id
    said = imb("diagnose", run[:10])
    assert said.code == 1 and found in [" ".join(line.split()) for line in said.out.splitlines()], said


def test_a_failed_launch_among_measured_ones_is_a_finding_with_its_reason(imb: Imb, tmp_path: Path) -> None:
    measured = fake_mpi.make(tmp_path / "good")
    assert imb("run", "PingPong", *measured, "--launches", "3", "--label", "x").code == 0
    assert imb("run", "PingPong", *failing(tmp_path / "bad", HOST), "--label", "x").code == 1
    found = imb("diagnose", "x")
    assert found.code == 1, found
    assert "no result: failed with exit status 1 (ssh: Could not resolve hostname nosuchhost" in found.out


def test_a_report_lists_a_failed_launch_with_its_reason(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    measured = fake_mpi.make(tmp_path / "good")
    assert imb("run", "PingPong", *measured, "--launches", "3", "--label", "x").code == 0
    assert imb("run", "PingPong", *failing(tmp_path / "bad", f"{HOST}<b>\x1b[31m"), "--label", "x").code == 1
    page = tmp_path / "x.html"
    assert imb("report", "x", "x", "-o", page).code == 0
    [failed] = [name for name in archive.ids() if archive.run(name).facts()["outcome"] == "failed"]
    text = page.read_text()
    assert text.count(f"launch {failed[:10]}") == 2 and "Findings: 2 problems" in text
    assert text.count("No result: failed with exit status 1 (ssh: Could not resolve hostname nosuchhost") == 2
    only = imb("report", failed, "-o", tmp_path / "none.html")
    assert only.code == 2 and only.err == f"imb: no results in {failed}\n"


def test_a_launch_whose_rows_failed_is_no_failed_launch(imb: Imb, tmp_path: Path) -> None:
    assert imb("run", "PingPong", *fake_mpi.make(tmp_path / "good"), "--label", "x").code == 0
    other = fake_mpi.make(tmp_path / "other")
    failure = Failure(benchmark="PingPong", multi="off", processes=2, cause="unavailable")
    only: list[Record] = [
        Run(component="MPI1", ranks=[Rank(0, "here"), Rank(1, "here")]),
        failure,
        End(state="complete", measured=0),
    ]
    (tmp_path / "other" / "bin" / "records-2").write_bytes(write(only))
    imb("run", "PingPong", *other, "--label", "x")
    found = imb("diagnose", "x").out
    assert "unavailable" in found and "no result" not in found


def test_show_prints_the_end_of_what_a_failed_launch_wrote(
    imb: Imb, archive: Archive, tmp_path: Path
) -> None:
    errors = "".join(f"error {number}\n" for number in range(30)) + "\x1b[31mred\n"
    options = failing(tmp_path / "mpi", errors, "".join(f"output {number}\n" for number in range(5)))
    assert imb("run", "PingPong", *options, "--label", "broken").code == 1
    shown = imb("show", "broken")
    assert shown.code == 0
    after = shown.out.partition("stderr, last 20 of 31 lines:\n")[2].splitlines()
    assert after[:2] == ["error 11", "error 12"] and after[19] == "?[31mred"
    assert after[20:22] == ["", "output, last 5 of 5 lines:"] and after[-1] == "output 4"
    assert "state        ended without closing its records" in shown.out and "log has no end" not in shown.out


def test_a_measured_run_has_no_such_lines(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    assert imb("run", "PingPong", *fake_mpi.make(tmp_path / "mpi"), "--label", "good").code == 0
    shown = imb("show", "good").out
    assert "last" not in shown and "reason" not in shown


def test_diagnose_of_a_log_without_a_result_stays_an_error(imb: Imb, tmp_path: Path) -> None:
    log = tmp_path / "empty.json"
    log.write_bytes(fake_mpi.records(1.0, rows=0))
    found = imb("diagnose", log)
    assert found.code == 2 and found.err.startswith("imb: no results in"), found


def test_a_usage_error_of_the_suite_is_launched_once(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    line = 'IMB-MPI1: -msglog: "x" is not a whole number; for example: -msglog 3:7'
    words = ["run", "mpi1", "rma", "--launches", 3, "--", "-msglog", "x"]
    said = imb(*words[:3], *failing(tmp_path / "two", f"{line}\n", status=2), *words[3:])
    assert said.code == 2 and said.out.count(line) == 2 == len(archive.ids())  # once for each program
    assert said.err.count("imb: 4 launches skipped after a usage error\n") == 1
    for errors, status in ((f"{line}\n", 5), ("mpiexec: a host is down\n", 1)):  # another launch may succeed
        before = len(archive.ids())
        options = failing(tmp_path / f"status-{status}", errors, status=status)
        assert imb("run", "PingPong", *options, "--launches", 2).code == 1
        assert len(archive.ids()) == before + 2


RULE = "-" * 74
REFUSALS = {
    "Hydra": "[mpiexec@vm] match_arg (args.c:166): unrecognized argument foo\n"
    "[mpiexec@vm] main (mpiexec.c:49): error parsing parameters\n",
    "Open MPI 5, unknown": f"{RULE}\nAn unrecognized option was included on the mpiexec command line:\n\n"
    f'  Option: --foo\n\nPlease use the "mpiexec --help" command to obtain a list.\n{RULE}\n',
    "Open MPI 5, twice": f"{RULE}\nError: an MCA parameter was listed more than once on the command line, or\n"
    f"multiple times in one or more files, but with conflicting values:\n\n  Param:  btl\n{RULE}\n",
    "Open MPI 5, value": f"{RULE}\nThe specified bindto directive is not recognized:\n\n  Directive: foo\n{RULE}\n",
    "Open MPI 4, unknown": "mpirun: Error: unknown option \"--foo\"\nType 'mpirun --help' for usage.\n",
    "Open MPI 4, twice": f"{RULE}\nThe following MCA parameter has been listed multiple times on the\ncommand line:\n\n"
    f"  MCA param:   btl\n{RULE}\n",
    "srun": "srun: unrecognized option '--foo'\nTry \"srun --help\" for more information\n",
}


@pytest.mark.parametrize("errors", REFUSALS.values(), ids=REFUSALS)
def test_arguments_that_the_launcher_refuses_end_the_session_and_are_no_run(
    imb: Imb, archive: Archive, tmp_path: Path, errors: str
) -> None:
    said = imb("run", "mpi1", "rma", *failing(tmp_path / "mpi", errors, status=213), "--launches", 3)
    assert said.code == 2 and said.err.count("$ ") == 1, said
    assert f"imb: {tmp_path}/mpi/bin/mpiexec refused its arguments: " in said.err.splitlines()[-1]
    assert not archive.ids() and not list(archive.folder.glob("sessions/*/*.part"))


def test_a_real_launcher_that_refuses_its_arguments(
    mpi: lab.Mpi, imb: Imb, archive: Archive, tmp_path: Path
) -> None:
    file = tmp_path / "refused.toml"
    file.write_text(
        f'benchmarks = ["PingPong"]\nlaunches = 2\n[common]\nmpi = "{mpi.wrapper}"\nprograms = "{mpi.build}/bin"\n'
        '[variants.a]\nlauncher_options = "--nonsense"\n'
    )
    said = imb("campaign", file)
    assert (
        said.code == 2 and "refused its arguments: " in said.err and "nonsense" in said.err.splitlines()[-1]
    )
    assert said.err.count("$ ") == 1 and not archive.ids()


def test_settings_of_real_launchers_that_the_latter_overrides(
    mpi: lab.Mpi, imb: Imb, archive: Archive, tmp_path: Path
) -> None:
    """As of [common] and a variant, or of a baseline and --setting: some launchers refuse what they get twice."""
    options = {
        "openmpi": ("--mca btl self,sm", "--mca btl self,tcp"),
        "mpich": ("-bind-to core", "-bind-to none"),
    }
    first, then = options[mpi.flavor]
    file = tmp_path / "overridden.toml"
    file.write_text(
        f'benchmarks = ["PingPong"]\nlaunches = 1\nclassic = true\narguments = "-msglog 2:3 -iter 10"\n'
        f'[common]\nmpi = "{mpi.wrapper}"\nprograms = "{mpi.build}/bin"\nlauncher_options = "{first}"\n'
        f'[variants.a]\nlauncher_options = "{then}"\n'
    )
    said = imb("campaign", file)
    assert said.code == 0 and f" {then} " in said.err and f" {first} " not in said.err, said.err


def test_programs_that_a_package_renamed_are_found(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    options = fake_mpi.make(tmp_path / "mpi")
    program = tmp_path / "mpi" / "bin" / "IMB-MPI1"
    renamed = program.rename(program.with_name("mpitests-IMB-MPI1_openmpi"))
    said = imb("run", "PingPong", *options, "--launches", 1)
    assert said.code == 0 and str(renamed) in said.err.replace(" \\\n    ", " "), said
    shutil.copy(renamed, renamed.with_name("IMB-MPI1_mpich"))
    said = imb("run", "PingPong", *options, "--launches", 1)
    assert said.code == 2 and f"no program {program}" in said.err, said


NOTHING = "exit status 0, but no records: the launcher did not start the suite"
NO_END = "exit status 0, but the records have no end: the suite stopped before it had measured all"
COMMANDS = {
    "run": "run PingPong --launches 2",
    "ab": "ab PingPong --a - --b -x --launches 2",
    "campaign": "campaign CAMPAIGN",
    "baseline": "baseline check ours",
    "latency": "latency",
    "startup": "startup --launches 2 --ranks 2",
    "rails": "rails --hosts a,b",
}


@pytest.mark.parametrize("ends", [False, True], ids=["no-end", "nothing"])
@pytest.mark.parametrize("command", [with_commands(name, [name]) for name in COMMANDS])
@pytest.mark.slow
def test_a_launch_that_leaves_nothing_or_no_end_is_incomplete(
    imb: Imb, archive: Archive, tmp_path: Path, command: str, ends: bool
) -> None:
    """The launcher exits with 0 in both cases."""
    options = fake_mpi.make(tmp_path / "mpi")
    if command == "baseline":
        assert imb("run", "PingPong", *options, "--launches", 6, "--label", "first").code == 0
        assert imb("baseline", "set", "ours", "first").code == 0
    for name in archive.ids():
        imb("archive", "rm", name)
    records = tmp_path / "mpi" / "bin" / "records-2"
    whole = records.read_bytes()
    for ranks in (2, 4):
        records.with_name(f"records-{ranks}").write_bytes(whole[: whole.index(b'{"record":"end"')])
    if ends:
        failing(tmp_path / "new", "", status=0)
        shutil.copy(tmp_path / "new" / "bin" / "mpiexec", tmp_path / "mpi" / "bin" / "mpiexec")
        Path(tmp_path / "new" / "errors").touch()
    file = tmp_path / "c.toml"
    file.write_text(
        f'benchmarks = ["PingPong"]\n[variants.a]\nmpi = "{options[1]}"\nprograms = "{options[3]}"\n'
    )
    words = [str(file) if word == "CAMPAIGN" else word for word in COMMANDS[command].split()]
    words = ["" if word == "-" else "env:FAKE_X=1" if word == "-x" else word for word in words]
    said = imb(*words, *([] if command in ("campaign", "baseline") else options))
    why = NOTHING if ends else NO_END
    assert said.code == (11 if command == "ab" and not ends else 1), said
    assert why in " ".join((said.out + said.err).split()), said
    outcomes = {archive.run(name).facts()["outcome"] for name in archive.ids()}
    assert outcomes == {"failed"}
    assert f"outcome      {why}" in imb("show", archive.ids()[0][:10]).out
