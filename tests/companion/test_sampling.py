"""In passes or classic: what `imb run`, `imb ab` and campaigns tell the suite, and what they refuse."""

from __future__ import annotations

import json
import re
from pathlib import Path

import lab
import msgspec
import pytest
from companion import fake_mpi
from companion.door import Imb
from imb.cli.launching import locate_variant
from imb.model.errors import ImbError
from imb.model.records import Result, Run
from imb.model.suite_arguments import (
    LENGTHS,
    NAME_LISTS,
    NOT_IN_PASSES,
    NOTHING_MEASURED,
    PASSES,
    SET_BY_IMB,
    option_name,
)
from imb.runner import campaign_definition, planning, session, stored_sessions
from imb.runner.passes import Sampling, most_seconds, rows_of, sampling_arguments, usual_budget
from imb.runner.progress import Progress
from imb.store.store import Archive


def dry(imb: Imb, folder: Path, *words: object) -> list[str]:
    """What the suite is told behind the name of the program, a launch each."""
    if not folder.exists():
        fake_mpi.make(folder)
    said = imb("run", "--mpi", folder, "--programs", folder / "bin", "--dry-run", *words)
    assert said.code == 0, said.err
    return [re.split(r"/IMB-\w+ ", line)[1].split(" -json ")[0] for line in said.out.splitlines()]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["PingPong"], ["PingPong -precision 2 -budget 2.4"]),
        (["PingPong", "--classic"], ["PingPong"]),
        (["PingPong", "--precision", "0.5%"], ["PingPong -precision 0.5 -budget 2.4"]),
        (["PingPong", "--precision", "1", "--launch-budget", "60"], ["PingPong -precision 1 -budget 60"]),
        # Words behind -- go first.
        (["PingPong", "--", "-passes", "7"], ["PingPong -passes 7"]),
        (["PingPong", "--", "--Budget", "7"], ["PingPong --Budget 7"]),
        (["PingPong", "--", "-precision", "7"], ["PingPong -precision 7"]),
        (["PingPong", "--", "-msglog", "4"], ["PingPong -msglog 4 -precision 2 -budget 2"]),
        (["PingPong", "--", "-msgsz", "4097"], ["PingPong -msgsz 4097 -precision 2 -budget 2"]),
        (["mpi1", "--", "-msgsz", "8", "-MSGSZ", "1k"], [" -msgsz 8 -MSGSZ 1k -precision 2 -budget 3.7"]),
        (["PingPong", "--", "-list"], ["PingPong -list"]),
        (["PingPong", "--", "-H"], ["PingPong -H"]),
        # A launch is not to be ended before its budget is.
        (["PingPong", "--timeout", "2"], ["PingPong -precision 2 -budget 1.5"]),
        (["PingPong", "--timeout", "8", "--launch-budget", "7"], ["PingPong -precision 2 -budget 7"]),
        # 18 benchmarks of MPI1 have 24 lengths on 2 ranks by default, and Barrier one.
        (["mpi1"], [" -precision 2 -budget 43.3"]),
        (["PingPong", "rma:unidir_put"], ["PingPong -precision 2 -budget 2.4", "Unidir_put -precision 2 -budget 4.8"]),
    ],
)  # fmt: skip
def test_the_suite_is_told_to_measure_in_passes(
    imb: Imb, tmp_path: Path, words: list[str], told: list[str]
) -> None:
    assert [one.strip() for one in dry(imb, tmp_path / "mpi", *words)] == [one.strip() for one in told]


@pytest.mark.parametrize("option", ["-show_tail", "-dumpfile", "-msg_pause"])
def test_what_does_not_go_with_passes_is_measured_classic_and_says_so(
    imb: Imb, tmp_path: Path, option: str
) -> None:
    mpi, programs = fake_mpi.make(tmp_path / "mpi")[1::2]
    words = ["run", "PingPong", "--mpi", mpi, "--programs", programs, "--dry-run"]
    said = imb(*words, "--", option, "on")
    assert said.code == 0 and f"PingPong {option} on -json" in said.out
    assert said.err == f"imb: note: measuring classic (each row in one burst), because of {option}\n"
    assert imb(*words, "--classic", "--", option, "on").err == ""  # asked for
    said = imb(*words, "--precision", "1", "--", option, "on")
    assert said.code == 2 and said.err.count("\n") == 1
    assert f"precision and {option} of the IMB arguments cannot be combined" in said.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--classic", "--precision", "2"], "classic and precision cannot be combined"),
        (["--classic", "--launch-budget", "2"], "classic and budget cannot be combined"),
        (["--classic", "--", "-passes", "2.4"], "classic and -passes cannot be combined"),
        (
            ["--precision", "2", "--", "-budget", "2.4"],
            "precision and -budget (IMB argument) cannot be combined",
        ),
        (["--precision", "0"], "--precision: not a percentage from 0.001 to 100: 0; give one such as 2%"),
        (["--precision", "101%"], "--precision: not a percentage from 0.001 to 100: 101%"),
        (["--precision", "nan"], "--precision: not a percentage from 0.001 to 100: nan"),
        (["--precision", "fine"], "--precision: not a percentage from 0.001 to 100: fine"),
        (["--launch-budget", "0"], "--launch-budget"),
        (["--launch-budget", "20", "--timeout", "20"], "a budget of 20 s needs a timeout above it, not 20 s"),
        (["--", "-JSON", "x"], "-json, -input and -turns are set by imb"),
        (["--", "--Input", "x"], "-json, -input and -turns are set by imb"),
        (["--resume", "--classic"], "--classic cannot be combined with --resume"),
        (["--resume", "--precision", "1"], "--precision cannot be combined with --resume"),
    ],
)
def test_mistakes_are_one_line(imb: Imb, tmp_path: Path, words: list[str], says: str) -> None:
    said = imb("run", *fake_mpi.make(tmp_path / "mpi"), *words)
    assert said.code == 2 and says in said.err and len(said.err.splitlines()) == 1, said.err


@pytest.mark.parametrize(
    ("component", "names", "arguments", "ranks"),
    [
        ("MPI1", ["PingPong", "Allreduce", "Barrier"], "-msglog 3:7", 4),
        ("MPI1", ["Bcast"], "-msgsize 1,2,4k -npmin 3", 3),
        ("MPI1", ["Sendrecv"], "-msglen LENGTHS -npmin 2", 3),
        ("P2P", ["PingPong"], "-msgsz 8 -msgsz 1k", 2),
        ("MT", ["PingPongMT"], "-count 1,8", 2),
        ("EXT", ["Unidir_Put", "Window"], "-msglog 4", 2),
        ("RMA", ["Unidir_put"], "-msglog 4 -aggregate_mode aggregate", 2),
        ("IO", ["S_Write_Indv", "P_Read_Priv"], "-msglog 2", 2),
        ("NBC", ["Ibcast"], "-msglog 2", 2),
    ],
)
def test_rows_are_estimated_as_the_suite_has_them(
    mpi: lab.Mpi, tmp_path: Path, component: str, names: list[str], arguments: str, ranks: int
) -> None:
    (tmp_path / "lengths").write_text("# two\n8\n1k # one more\n")
    words = arguments.replace("LENGTHS", str(tmp_path / "lengths")).split()
    more = ["-passes", "1", "-iter", "2"]
    more += ["-file", str(tmp_path)] if component == "IO" else []
    done = lab.run(mpi, ranks, [*names, *words, *more], component=component, records=tmp_path)
    assert done.code == 0, done.errors
    estimated = rows_of(component, names, words, ranks)  # type: ignore[arg-type]
    # Not every benchmark has both modes, short lengths may be rounded up to one, and S_ runs on one process alone.
    assert len(done.rows) <= estimated <= 2 * len(done.rows)
    if component in ("MPI1", "NBC", "P2P", "MT"):
        assert estimated == len(done.rows)


def test_options_that_the_companion_knows_are_the_suites() -> None:
    source = (Path(__file__).resolve().parents[2] / "src" / "cli" / "options.cpp").read_text()
    rows = {row[: row.index('"')]: row for row in source.split('.name = "')[1:]}
    assert {name for name, row in rows.items() if ".excludes = in_passes" in row} == {*NOT_IN_PASSES}
    assert {name for name, row in rows.items() if ".action = " in row} == {*NOTHING_MEASURED}
    assert {*PASSES, *LENGTHS, *NAME_LISTS, *SET_BY_IMB} <= rows.keys()
    aliases = {
        name: alias[1] for name, row in rows.items() if (alias := re.search(r'\.alias = "(\w+)"', row))
    }
    assert len(aliases) == 2 and all(option_name(f"--{alias}") == name for name, alias in aliases.items())


def test_budgets_grow_with_rows() -> None:
    assert usual_budget("MPI1", 24) == pytest.approx(2.4)
    assert usual_budget("MPI1", 300) == pytest.approx(30)
    assert usual_budget("IO", 300) == pytest.approx(300)


def test_the_most_that_a_launch_takes() -> None:
    assert most_seconds(["PingPong", "-precision", "2", "-budget", "10"]) == 12
    assert most_seconds(["PingPong", "-precision", "2"]) == 62  # the suite's own budget
    assert most_seconds(["PingPong", "-passes", "2"]) is None
    assert most_seconds(["PingPong"]) is None
    assert most_seconds(["PingPong", "-budget", "x"]) is None  # the suite says what is wrong


def test_launches_at_the_same_time_have_as_many_samples() -> None:
    words = sampling_arguments(Sampling(), "MPI1", ["PingPong"], [], 2, parts=100)
    assert words == ["-iter", "1000000", "-passes", "100", "-budget", "2.4"]
    words = sampling_arguments(Sampling(precision=0.01), "MPI1", ["PingPong"], ["-iter", "50"], 2, parts=100)
    assert words == ["-passes", "100", "-precision", "1", "-budget", "2.4"]


# --- Campaigns -----------------------------------------------------------------------------------------


FILE = """benchmarks = ["PingPong"]
launches = 6
{top}
[common]
mpi = "{mpi}"
programs = "{programs}"
{common}
[variants.a]
{a}
[variants.b]
"""


def planned(tmp_path: Path, **words: str) -> dict[str, str]:
    """The IMB arguments by variant."""
    mpi, programs = fake_mpi.make(tmp_path / "mpi")[1::2]
    text = FILE.format(**{"top": "", "common": "", "a": ""} | words, mpi=mpi, programs=programs)
    made = campaign_definition.parse_campaign(text, tmp_path / "trial.toml")
    plan = planning.campaign_plan(made, locate_variant, seed=1)
    return {plan.variants[item.variant].name: " ".join(item.arguments[3:]) for item in plan.items}


@pytest.mark.parametrize(
    ("words", "a", "b"),
    [
        ({}, "-precision 2 -budget 2.4", "-precision 2 -budget 2.4"),
        ({"top": "classic = true"}, "", ""),
        ({"top": "precision = '1%'\nlaunch_budget = 30"}, "-precision 1 -budget 30", "-precision 1 -budget 30"),
        ({"top": "precision = '1%'", "a": "precision = '5 %'"}, "-precision 5 -budget 2.4", "-precision 1 -budget 2.4"),
        ({"common": "launch_budget = 3", "a": "launch_budget = 4"}, "-precision 2 -budget 4", "-precision 2 -budget 3"),
        ({"top": "precision = '1%'", "a": "classic = true"}, "", "-precision 1 -budget 2.4"),
        ({"top": "classic = true", "a": "classic = false"}, "-precision 2 -budget 2.4", ""),
        ({"a": 'arguments = "-passes 9"'}, "-passes 9", "-precision 2 -budget 2.4"),
        ({"a": 'arguments = "-show_tail on"'}, "-show_tail on", "-precision 2 -budget 2.4"),
        ({"top": "timeout = 2"}, "-precision 2 -budget 1.5", "-precision 2 -budget 1.5"),
        ({"top": "segments = 50"}, "-iter 1000000 -passes 50 -budget 2.4", "-iter 1000000 -passes 50 -budget 2.4"),
    ],
)  # fmt: skip
def test_a_campaign_says_how_rows_are_measured(tmp_path: Path, words: dict[str, str], a: str, b: str) -> None:
    assert planned(tmp_path, **words) == {"a": a, "b": b}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"top": "precision = 0.02"}, 'precision: expected a percentage in quotes, such as "2%", got 0.02'),
        ({"top": "precision = '200%'"}, "precision: not a percentage from 0.001 to 100: 200%; give one such as 2%"),
        ({"a": "precision = ''"}, "variants.a.precision: not a percentage from 0.001 to 100: ; give one such as 2%"),
        ({"top": "until_decided = true\nrelevant = '0%'"}, "relevant: not a percentage above 0 and below 10000: 0%; give one such as 5%"),
        ({"common": "env = { precision = 2 }\nprecison = 1"}, "no key common.precison; did you mean precision?"),
        ({"top": "launch_budget = 0"}, "launch_budget: expected a number of at least 0.1"),
        ({"top": "classic = 1"}, "classic: expected true or false, got a whole number"),
        ({"a": "precison = 1"}, "no key variants.a.precison; did you mean precision?"),
        ({"top": "classic = true\nprecision = '1%'"}, "classic and precision cannot be combined"),
        ({"top": "until_decided = true", "a": "classic = true"}, "variant a is classic and others are measured"),
        ({"top": "segments = 9", "a": 'arguments = "-show_tail on"'}, "variant a is classic and others are measured"),
    ],
)  # fmt: skip
def test_mistakes_in_a_file(tmp_path: Path, words: dict[str, str], says: str) -> None:
    with pytest.raises(ImbError, match=re.escape(says)):
        planned(tmp_path, **words)


def test_a_campaign_that_is_classic_because_of_a_word_says_so(imb: Imb, tmp_path: Path) -> None:
    mpi, programs = fake_mpi.make(tmp_path / "mpi")[1::2]
    file = tmp_path / "tails.toml"
    file.write_text(
        FILE.format(top='arguments = "-show_tail on"', common="", a="", mpi=mpi, programs=programs)
    )
    said = imb("campaign", file, "--dry-run")
    assert said.code == 0 and "-precision" not in said.out
    assert (
        said.err.splitlines()[0]
        == "imb: note: measuring classic (each row in one burst), because of -show_tail"
    )
    said = imb("ab", "--a", "", "--b", "A=1", "--mpi", mpi, "--programs", programs, "--launches", 1, "PingPong", "--",
               "-show_tail", "on")  # fmt: skip
    assert "imb: note: measuring classic (each row in one burst), because of -show_tail" in said.err


def test_the_time_of_a_campaign_is_bounded_before_its_first_launch(imb: Imb, tmp_path: Path) -> None:
    mpi, programs = fake_mpi.make(tmp_path / "mpi")[1::2]
    file = tmp_path / "trial.toml"
    file.write_text(FILE.format(top="launch_budget = 18", common="", a="", mpi=mpi, programs=programs))
    said = imb("campaign", file, "--dry-run").err
    assert "12 launches, seed" in said and "about 4 min" in said


# --- Real launches -------------------------------------------------------------------------------------


def with_(mpi: lab.Mpi) -> list[object]:
    return ["--mpi", mpi.wrapper, "--programs", mpi.build / "bin"]


def rows_in(archive: Archive, label: str) -> list[Result]:
    runs = [name for name, tags in archive.tags().items() if label in tags.labels]
    return [row for name in runs for row in archive.run(name).records().of(Result)]


def test_classic_and_passes_are_not_compared(mpi: lab.Mpi, imb: Imb, archive: Archive) -> None:
    run = ["run", "PingPong", *with_(mpi), "--launches", 3]
    assert (
        imb(*run, "--precision", "100%", "--launch-budget", 1, "--label", "new", "--", "-msglog", 2).code == 0
    )
    assert imb(*run, "--classic", "--label", "old", "--", "-msglog", 2).code == 0
    new, old = rows_in(archive, "new"), rows_in(archive, "old")
    assert len(new) == len(old) == 12
    assert all(row.passes and row.passes.samples for row in new) and not any(row.passes for row in old)
    one_of = {
        label: next(n for n, tags in archive.tags().items() if label in tags.labels)
        for label in ("new", "old")
    }
    assert "± %" in imb("show", one_of["new"]).out and "± %" not in imb("show", one_of["old"]).out
    said = imb("compare", "old", "new")
    advice = "measure 'new' again: imb run PingPong --np 2 --classic --label new-classic -- -msglog 2; --force compares them anyway"
    assert said.code == 2 and advice in said.err and len(said.err.splitlines()) == 1
    assert imb("compare", "new", "old").err.endswith(said.err[said.err.index("measure 'new'") :])
    assert imb("compare", "old", "new", "--force").code in (0, 10, 11, 12)
    # A baseline is measured again as it was.
    assert imb("baseline", "set", "past", "old").code == 0
    said = imb("baseline", "check", "past", "new")
    assert said.code == 2 and advice.replace("old", "baseline past@1") in said.err
    said = imb("baseline", "check", "past", "--launches", 3)
    assert said.code in (0, 10, 11, 12), said.err
    assert not any(row.passes for row in rows_in(archive, "baseline-check/past"))
    assert imb("baseline", "set", "present", "new").code == 0
    assert imb("baseline", "check", "present", "--launches", 3).code in (0, 10, 11, 12)
    assert all(row.passes for row in rows_in(archive, "baseline-check/present"))


def test_a_session_goes_on_as_planned(mpi: lab.Mpi, imb: Imb, archive: Archive) -> None:
    """The arguments in plan.json are all that decides how it measures."""
    words = ["run", "PingPong", *with_(mpi), "--classic", "--launches", 2, "--", "-msglog", 2, "-iter", 5]
    assert imb(*words).code == 0
    plan = stored_sessions.find_session(archive)
    old = msgspec.structs.replace(plan, id="2020-old")
    session.save(archive, old)
    assert imb("run", "--resume", "2020-old").code == 0
    runs = [archive.run(name) for name in archive.ids()]
    mine = [run for run in runs if run.facts()["session"] == "2020-old"]
    assert len(mine) == 2
    for run in mine:
        assert run.facts()["arguments"] == ["PingPong", "-msglog", "2", "-iter", "5"]
        assert not any(row.passes for row in run.records().of(Result))


def test_ab_in_passes_by_turns(mpi: lab.Mpi, imb: Imb, archive: Archive) -> None:
    said = imb("ab", "--a", "A=1", "--b", "A=2", *with_(mpi), "--launches", 3, "--segments", 6, "--name", "t",
               "--both", "bind=core", "--launch-budget", 20, "--format", "json", "PingPong", "Bcast", "--", "-msglog", 3)  # fmt: skip
    assert said.code in (0, 10, 11, 12), said.err
    found = json.loads(said.out)
    assert (found["launches_a"], found["pairs"]) == (3, True)
    assert not any("too short to interleave" in warning for warning in found["warnings"])
    for name in archive.ids():
        records = archive.run(name).records()
        rows = list(records.of(Result))
        assert len(rows) == 10 and all(row.passes and row.passes.samples == 6 for row in rows)
        [run] = records.of(Run)
        assert run.options["turns"] == 6 and run.options["passes"] == 6


def test_progress_says_which_pass() -> None:
    progress = Progress()
    for line in (
        b'{"record":"run","schema":"openimb-record/2","options":{"budget":10.0,"precision":2}}',
        b'{"record":"row","row":0,"benchmark":"PingPong","bytes":8}',
        b'{"record":"sample","row":0,"pass":3,"at_seconds":2.5}',
    ):
        progress.feed(line)
    assert (progress.benchmark, progress.bytes, progress.pass_) == ("PingPong", 8, 3)
    assert progress.fraction == 0.25 and progress.seconds_left(4.0) == pytest.approx(12)
