"""imb baseline: what is kept, what is held against what, and how it is judged."""

import json
import multiprocessing
import re
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from companion import fake_mpi
from companion.door import Imb, junit_cases
from imb.mpi import existing_builds, installations, suite_build
from imb.runner import recheck
from imb.store import baseline_versions
from imb.store.names import load
from imb.store.store import Archive, Content


def results(
    archive: Archive,
    label: str,
    factor: float,
    hosts: tuple[str, ...] = ("n1", "n1"),
    model: str = "X1",
    sessions: int = 3,
    arrival: str | None = None,
) -> None:
    """Six launches of eight rows on this machine, a percent apart, in so many sessions."""
    machine = {"cpu_model": model, "cores": 8, "sockets": 1, "threads_per_core": 2}
    archive.add_many(
        Content(
            records=fake_mpi.records(1e-6 * factor * (1 + 0.002 * number), hosts, rows=8, arrival=arrival),
            facts={
                "conditions": {"machine": machine},
                "label": label,
                "session": f"{label}{number % sessions}",
            },
            labels=[label],
        )
        for number in range(6)
    )


@pytest.fixture
def kept(imb: Imb, archive: Archive) -> Archive:
    results(archive, "good", 1.0)
    said = imb("baseline", "set", "fabric", "good", "--note", "new switch")
    assert said.code == 0 and said.out == "fabric@1: 6 launches, intra-node, X1, 8 cores; time=5%\n"
    return archive


@pytest.mark.parametrize(("cores", "text"), [(1, "X1, 1 core; time=5%"), (None, "X1; time=5%")])
def test_the_machine_of_a_baseline_has_the_right_plural(
    imb: Imb, archive: Archive, cores: int | None, text: str
) -> None:
    facts = {"conditions": {"machine": {"cpu_model": "X1", "cores": cores, "sockets": 1}}}
    run = archive.add(Content(records=fake_mpi.records(1e-6), facts=facts)).id
    said = imb("baseline", "set", "one", run[:10])
    assert said.code == 0 and said.out == f"one@1: 1 launch, intra-node, {text}\n"


@pytest.mark.parametrize(
    ("factor", "tolerance", "code", "verdict"),
    [
        (1.0, [], 0, "same"),
        (0.5, [], 0, "faster"),
        (1.5, [], 10, "slower"),
        (1.08, [], 10, "slower"),
        (1.08, ["--tolerance", "time=20%"], 12, "differs"),
        (1.005, ["--tolerance", "time=20%"], 0, "same"),
    ],
)
@pytest.mark.slow
def test_results_are_judged(
    imb: Imb, kept: Archive, factor: float, tolerance: list[str], code: int, verdict: str
) -> None:
    results(kept, "now", factor)
    said = imb("baseline", "check", "fabric", "now", "--format", "json", *tolerance)
    found = json.loads(said.out)
    assert (said.code, found["verdict"]) == (code, verdict)
    assert (found["name"], found["version"], found["warnings"]) == ("fabric", 1, [])
    said = imb("baseline", "check", "fabric", "now", *tolerance)
    assert said.code == code and "A: baseline fabric@1, 6 launches" in said.out
    said = imb("baseline", "check", "fabric", "now", "--format", "junit", *tolerance)
    outcomes = [outcome for (group, _), outcome in junit_cases(said.out).items() if group == "verdict"]
    assert (said.code, outcomes) == (code, ["failure" if verdict == "slower" else "passed"])


@pytest.mark.parametrize(
    ("factor", "tolerance", "code", "verdict"),
    [(1.0, [], 0, "same"), (1.5, [], 10, "slower"), (0.5, [], 0, "faster"), (1.0, ["-t", "time=0.5%"], 11, "inconclusive")],
)  # fmt: skip
def test_one_session_is_judged_by_five_of_the_baseline(
    imb: Imb, archive: Archive, factor: float, tolerance: list[str], code: int, verdict: str
) -> None:
    """It is compared with how far sessions of the baseline differ, here by 0.4 %."""
    results(archive, "good", 1.0, sessions=6)
    results(archive, "now", factor * 1.005, sessions=1)
    assert imb("baseline", "set", "fabric", "good").err == ""
    said = imb("baseline", "check", "fabric", "now", "--format", "json", *tolerance)
    found = json.loads(said.out)
    assert (said.code, found["verdict"]) == (code, verdict)
    (one,) = found["comparisons"]
    assert (one["unit"], one["sessions_a"], one["sessions_b"], one["inconclusive"]) == ("session", 6, 1, None)
    assert {band["effect"]["verdict"] for band in one["bands"]} == {verdict}
    text = " ".join(imb("baseline", "check", "fabric", "now", *tolerance).out.split())
    assert (
        "1 session of B: judged by the prediction interval of 6 sessions of A; at most 1 false alarm in 1000 checks"
        in text
    )


@pytest.mark.parametrize("sessions", [1, 4, 6])
def test_a_build_121_times_slower_fails_a_gate(imb: Imb, archive: Archive, sessions: int) -> None:
    """Whatever sessions of the baseline there are; the reason is printed."""
    results(archive, "good", 1.0, sessions=sessions)
    results(archive, "now", 121.0, sessions=1)
    imb("baseline", "set", "fabric", "good")
    said = imb("baseline", "check", "fabric", "now")
    out = " ".join(said.out.split())
    assert said.code == 10 and "B is slower than A in all " in out
    words = (
        "judged by the prediction interval of 6"
        if sessions == 6
        else "every launch of B is a factor of 4 or more away"
    )
    assert words in out and ("comes from a fixed 4x threshold, not from a test" in out) == (sessions < 6)


def test_four_sessions_of_a_baseline_do_not_judge_one(imb: Imb, archive: Archive) -> None:
    results(archive, "good", 1.0, sessions=4)
    results(archive, "now", 1.5, sessions=1)
    said = imb("baseline", "set", "fabric", "good")
    assert "fabric has 6 launches of 4 sessions; take 5 sessions" in said.err
    said = imb("baseline", "check", "fabric", "now")
    out = " ".join(said.out.split())
    assert (
        said.code == 11
        and "this check finds only bands that are 4 times as slow; smaller slowdowns need 5 sessions" in out
    )
    assert re.search(
        r"if they differ as these 4 do: \d+ % with 5 sessions, \d+ % with 10; median band",
        out,
    ), out


def test_a_check_of_the_baselines_own_runs_is_named(imb: Imb, kept: Archive) -> None:
    """As imb compare does, by content."""
    words = "the same runs on both sides: 6 launches in both A and B"
    assert words in imb("baseline", "check", "fabric", "good").out
    results(kept, "now", 1.0)
    assert "same runs" not in imb("baseline", "check", "fabric", "now").out


def test_another_rule_of_starting_is_not_judged(imb: Imb, archive: Archive) -> None:
    """A baseline has launches of two rules; a check is judged by those of its own, or by none."""
    for label, arrival, factor in (
        ("good", None, 1.0),
        ("good", "last:50", 3.0),
        ("now", "last:50", 3.0),
        ("wider", "last:500", 3.0),
    ):
        results(archive, label, factor, arrival=arrival)
    assert imb("baseline", "set", "fabric", "good").code == 0
    said = imb("baseline", "check", "fabric", "now", "--format", "json")
    assert (said.code, json.loads(said.out)["verdict"]) == (0, "same")
    said = imb("baseline", "check", "fabric", "wider")
    assert said.code == 2 and "by different rules (baseline fabric@1: arrival last:50, begins at" in said.err


def test_one_launch_may_be_too_few(imb: Imb, kept: Archive, tmp_path: Path) -> None:
    """A file on another machine, of which nothing is known, by a baseline of one launch."""
    (tmp_path / "one.jsonl").write_bytes(fake_mpi.records(1e-6))
    said = imb("baseline", "set", "single", tmp_path / "one.jsonl")
    assert said.code == 0 and "1 launch of unknown session" in said.err
    said = imb("baseline", "check", "single", tmp_path / "one.jsonl")
    assert said.code == 11 and "unknown session of 1 launch of A and 1 launch of B" in " ".join(
        said.out.split()
    )


def test_intra_node_and_inter_node_are_kept_apart(imb: Imb, kept: Archive) -> None:
    results(kept, "across", 10.0, ("n1", "n2"))
    said = imb("baseline", "check", "fabric", "across")
    assert said.code == 2 and "nothing for inter-node on 2 nodes of X1" in said.err
    assert len(said.err.splitlines()) == 1
    assert imb("baseline", "check", "fabric", "across", "--force").code == 10
    # Each is held against its own kind, whichever is newer.
    assert imb("baseline", "set", "fabric", "across").out.startswith("fabric@2: 6 launches, inter-node")
    assert imb("baseline", "check", "fabric", "across").code == 0
    said = imb("baseline", "check", "fabric", "good")
    assert said.code == 0 and "fabric@1" in said.out
    said = imb("baseline", "set", "fabric", "good,across")
    assert said.code == 2 and "both intra-node and inter-node" in said.err


def test_machines_are_kept_apart_by_kind_not_by_name(imb: Imb, kept: Archive) -> None:
    results(kept, "twin", 1.0, ("n7", "n7"))
    assert imb("baseline", "check", "fabric", "twin").code == 0
    results(kept, "other", 1.0, model="X2")
    said = imb("baseline", "check", "fabric", "other")
    assert said.code == 2 and "X2" in said.err and "only: intra-node on X1, 8 cores" in said.err
    said = imb("baseline", "check", "fabric", "other", "--force")
    assert said.code == 0 and "the baseline comes from another machine" in said.out
    said = imb("baseline", "set", "fabric", "good,other")
    assert said.code == 2 and "several machines" in said.err


def test_a_baseline_never_changes_and_outlives_its_runs(imb: Imb, kept: Archive) -> None:
    first = kept.folder / "baselines" / "fabric" / "0001.json"
    before = first.read_bytes()
    results(kept, "slow", 2.0)
    assert imb("baseline", "set", "fabric", "slow", "-t", "time=10%", "-t", "p50=3").out.startswith(
        "fabric@2:"
    )
    assert first.read_bytes() == before
    for name in kept.ids():
        kept.remove(name)
    results(kept, "now", 1.0)
    assert imb("baseline", "check", "fabric@1", "now").code == 0
    lines = imb("baseline", "list").out.splitlines()
    assert [line.split()[0] for line in lines] == ["BASELINE", "fabric@1", "fabric@2"]
    assert "new switch" in lines[1] and "time=10%, p50=3%" in lines[2]
    shown = imb("baseline", "show", "fabric").out
    assert "from good: new switch" in shown and "hosts n1" in shown
    found: list[dict[str, Any]] = json.loads(imb("baseline", "show", "fabric@2", "--format", "json").out)
    assert [one["version"] for one in found] == [2]
    assert imb("archive", "verify").code == 0


def test_a_changed_baseline_judges_nothing(imb: Imb, kept: Archive) -> None:
    results(kept, "now", 1.0)
    file = kept.folder / "baselines" / "fabric" / "0001.json"
    good = file.read_bytes()
    assert b'"time":0.05' in good
    assert imb("baseline", "set", "fabric", "now").code == 0
    copy = file.with_name("0003.json")
    copy.write_bytes(good)
    assert "contains baseline fabric@1, which does not match its path" in imb("archive", "verify").err
    copy.rename(file.with_name("1-copy.json"))  # is none of ours
    assert imb("archive", "verify").code == 0 and imb("baseline", "check", "fabric@1", "now").code == 0
    file.with_name("1-copy.json").unlink()
    for bad, says in (
        (good.replace(b'"time":0.05', b'"time":0.95'), " was modified after it was written"),
        (good[:-40], ": cannot be read ("),
    ):
        file.write_bytes(bad)
        said = imb("baseline", "check", "fabric", "now")
        assert said.code == 2 and says in said.err and len(said.err.splitlines()) == 1
        said = imb("baseline", "list")
        assert said.code == 2 and says in said.err and "fabric@2" in said.out
        assert imb("baseline", "check", "fabric@2", "now").code == 0
        said = imb("archive", "verify")
        assert said.code == 1 and f"{file}{says}" in said.err and "1 damaged" in said.out
    file.write_bytes(good)
    assert imb("archive", "verify").code == 0 and imb("baseline", "check", "fabric", "now").code == 0


def _set(folder: Path) -> None:
    archive = Archive(folder)
    for _ in range(10):
        baseline_versions.add(
            archive, baseline_versions.make("fabric", load(archive, "good"), {"time": 0.05})
        )


def test_writers_at_once_take_no_version_from_each_other(imb: Imb, kept: Archive) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_set, args=(kept.folder,)) for _ in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert [one.version for one in baseline_versions.baseline_versions(kept, "fabric")] == list(range(1, 22))


def commands_in(err: str) -> list[str]:
    """Commands that were shown, each on one line."""
    return [line for line in err.replace(" \\\n    ", " ").splitlines() if line.startswith("$ ")]


def measured(imb: Imb, folder: Path) -> list[object]:
    """A baseline `ours`, of six launches of one session under the MPI in this folder."""
    options = fake_mpi.make(folder)
    said = imb(
        "run", "PingPong", *options, "--launches", 6, "--label", "first", "--bind", "core", "--", "-msglog", "3"
    )  # fmt: skip
    assert said.code == 0, said.err
    said = imb("baseline", "set", "ours", "first")
    assert said.code == 0 and "6 launches of 1 session; take 5 sessions" in said.err
    return options


def test_a_check_measures_the_same_again(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    measured(imb, tmp_path / "mpi")
    said = imb("baseline", "check", "ours", "--format", "json")
    found = json.loads(said.out)["comparisons"][0]
    assert (said.code, found["launches_b"], found["sessions_b"]) == (11, 6, 1), said.err
    assert "different sessions" in found["inconclusive"] and "--with-old" in " ".join(found["warnings"])
    (command,) = commands_in(said.err)
    assert "--bind-to core" in command and command.endswith("PingPong -msglog 3 -precision 2 -budget 2")
    labels = [tags.labels for tags in archive.tags().values()]
    assert labels.count(["baseline-check/ours"]) == 6


@pytest.mark.parametrize(("time", "code"), [(1, 0), (2, 10)])
@pytest.mark.slow
def test_a_check_with_the_old_build_is_interleaved(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, time: int, code: int
) -> None:
    monkeypatch.setattr("secrets.randbelow", lambda most: 1)
    measured(imb, tmp_path / "old")
    new = fake_mpi.make(tmp_path / "new")
    script = tmp_path / "new" / "bin" / "mpiexec"
    script.write_text(script.read_text().replace("time=1 ", f"time={time} "))
    said = imb("baseline", "check", "ours", "--with-old", *new, "--launches", 8, "--format", "json")
    assert said.code == code, said.err
    found = json.loads(said.out)["comparisons"][0]
    assert (found["unit"], found["launches_a"], found["launches_b"]) == ("pair", 8, 8)
    commands = commands_in(said.err)
    assert sorted(str(tmp_path / "old") in line.split()[1] for line in commands) == [False, True]
    numbers = {
        archive.run(name).facts()["number"]: tags.labels[0].rpartition("/")[2]
        for name, tags in archive.tags().items()
        if tags.labels != ["first"]
    }
    order = [numbers[number] for number in range(1, 17)]
    assert all({*order[at : at + 2]} == {"old", "new"} for at in range(0, 16, 2))
    assert order[::2] != ["old"] * 8 and order[::2] != ["new"] * 8
    labels = [tags.labels for tags in archive.tags().values()]
    assert labels.count(["baseline-check/ours/old"]) == labels.count(["baseline-check/ours/new"]) == 8


@pytest.mark.slow
def test_a_check_with_the_old_setting_is_interleaved(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new setting is of the command and of the environment; the old one is as recorded."""
    for name in ("UCX_TLS", "UCX_NET_DEVICES", "UCX_IB_SL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("UCX_TLS", "rc")
    options = measured(imb, tmp_path / "mpi")
    monkeypatch.setenv("UCX_TLS", "tcp")
    monkeypatch.setenv("UCX_IB_SL", "1")
    setting = "FAKE_TIME=2 cpus=0 ppn=2 arguments='-iter 7' --mca btl self"
    words = ["--with-old", *options, "--setting", setting, "--launches", 8, "--format", "json"]
    said = imb("baseline", "check", "ours", *words)
    assert said.code == 10, said.err
    assert said.err.count("imb: note: ours@1 not restored: UCX_IB_SL (was not set)\n") == 1
    found = json.loads(said.out)["comparisons"][0]
    assert (found["unit"], found["launches_a"], found["launches_b"]) == ("pair", 8, 8)
    commands = commands_in(said.err)
    old = [line for line in commands if line.startswith("$ UCX_TLS=rc ")]
    new = [line for line in commands if line not in old]
    assert len(old) == len(new) == 1
    assert all("--bind-to core" in line and "FAKE" not in line and "btl" not in line for line in old)
    assert all("FAKE_TIME=2" in line and "ppr:2:node" in line and "--mca btl self" in line for line in new)
    assert all("taskset -c 0" in line and " -iter 7" in line and "UCX_TLS" not in line for line in new)


def test_a_launcher_argument_of_the_setting_takes_the_place_of_the_recorded_one(
    imb: Imb, tmp_path: Path
) -> None:
    """Open MPI refuses `--mca btl` twice."""
    mpi = fake_mpi.make(tmp_path / "mpi")
    file = tmp_path / "c.toml"
    file.write_text(
        f'benchmarks = ["PingPong"]\nlaunches = 1\nclassic = true\n[common]\nmpi = "{mpi[1]}"\nprograms = "{mpi[3]}"\n'
        '[variants.a]\nlauncher_options = "--mca btl self,sm --mca pml ob1"\n'
    )
    assert imb("campaign", file).code == 0 and imb("baseline", "set", "ours", "c/a").code == 0
    words = ["--with-old", "--setting", "--mca btl self,tcp", "--launches", 1]
    said = imb("baseline", "check", "ours", *words)
    assert said.code in (0, 10, 11, 12), said.err
    commands = sorted(line.partition(" -n ")[0] for line in commands_in(said.err))
    assert [line[line.index("--mca") :] for line in commands] == [
        "--mca btl self,sm --mca pml ob1",
        "--mca pml ob1 --mca btl self,tcp",
    ]


def test_what_cannot_be_restored_is_named(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UCX_AUTH_KEY", "a very secret word")
    for device in ("a", "b"):
        monkeypatch.setenv("UCX_NET_DEVICES", device)
        options = fake_mpi.make(tmp_path / device)
        assert imb("run", "PingPong", *options, "--label", "first").code == 0
    assert imb("baseline", "set", "ours", "first").code == 0
    monkeypatch.delenv("UCX_AUTH_KEY")
    [made] = baseline_versions.baseline_versions(archive, "ours")
    restored, lost = recheck.environment_of(made)
    assert not restored and lost == [
        "UCX_AUTH_KEY (value not recorded)",
        "UCX_NET_DEVICES (not the same in all launches)",
    ]
    made.launches[0].facts["setup"] = ["modprobe xpmem"]
    assert recheck.environment_of(made)[1][-1] == "setup command modprobe xpmem"
    del made.launches[0].facts["conditions"]["environment"]
    assert recheck.environment_of(made) == ({}, ["environment (not recorded)"])


def test_what_cannot_be_checked_with_the_old_build(imb: Imb, tmp_path: Path) -> None:
    options = measured(imb, tmp_path / "old")
    new = fake_mpi.make(tmp_path / "new")
    for words, says in (
        (
            options,
            "old and new are the same MPI, programs and settings; give the new ones with --mpi, --programs or --setting",
        ),
        (["first"], "--with-old cannot be combined with existing results: first"),
        ([*options, "--setting", "mpi=mpich"], "--setting: mpi is not a setting of a launch"),
        ([*options, "--setting", "UCX_TLS"], "give NAME=VALUE"),
    ):
        said = imb("baseline", "check", "ours", "--with-old", *words)
        assert said.code == 2 and says in said.err and len(said.err.splitlines()) == 1, said.err
    (tmp_path / "old" / "bin").rename(tmp_path / "old" / "gone")
    said = imb("baseline", "check", "ours", "--with-old", *new)
    assert said.code == 2 and len(said.err.splitlines()) == 1 and str(tmp_path / "old") in said.err


def test_a_check_under_another_mpi_takes_programs_of_that_mpi(
    imb: Imb, archive: Archive, tmp_path: Path
) -> None:
    said = imb("run", "PingPong", *fake_mpi.make(tmp_path / "old"), "--launches", 2, "--label", "first")
    assert said.code == 0 and imb("baseline", "set", "ours", "first").code == 0
    fake_mpi.make(tmp_path / "new")
    cached = existing_builds.cache_folder() / suite_build.build_key(installations.find(str(tmp_path / "new")))
    cached.mkdir(parents=True)
    (cached / "bin").symlink_to(tmp_path / "new" / "bin")
    said = imb("baseline", "check", "ours", "--mpi", tmp_path / "new")
    commands = commands_in(said.err)
    assert len(commands) == 1 and all(f"{cached}/bin/IMB-MPI1" in line for line in commands)
    assert not any(str(tmp_path / "old") in line for line in commands)


def test_a_check_under_another_mpi_builds_the_component_that_it_needs(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build has only those that launches have needed."""
    said = imb("run", "PingPong", *fake_mpi.make(tmp_path / "old"), "--label", "first")
    assert said.code == 0 and imb("baseline", "set", "ours", "first").code == 0
    fake_mpi.make(tmp_path / "new")
    bin_folder = suite_build.build_folder(suite_build.build_key(installations.find(str(tmp_path / "new"))))
    bin_folder.mkdir(parents=True)
    (bin_folder / "IMB-RMA").touch()
    built = Mock(return_value=tmp_path / "new" / "bin")
    monkeypatch.setattr("imb.cli.launching.build_programs", built)
    said = imb("baseline", "check", "ours", "--mpi", tmp_path / "new")
    assert "no program" not in said.err and built.call_args.args[2] == {"MPI1"}


def test_mistakes_are_one_line(imb: Imb, kept: Archive, tmp_path: Path) -> None:
    for words, says in (
        (["check", "fabrics"], "no baseline fabrics in"),
        (["check", "fabric@9"], "no baseline fabric@9 in"),
        (["check", "../fabric"], "no baseline ../fabric in"),
        (["check", "fabric", "nothing"], "no run, label or file 'nothing'"),
        (["check", "fabric"], "nothing for launches on this machine, only: intra-node on X1"),
        (["check", "fabric", "--force"], "was not launched by imb"),
        (["check", "fabric", "good", "-t", "speed=5"], "unknown metric: speed"),
        (["set", "../x", "good"], "invalid baseline name"),
        (["set", "x", "good", "-t", "time=fast"], "not a percentage"),
        (["set", "x"], "RESULTS"),
    ):
        said = imb("baseline", *words)
        assert said.code == 2 and says in said.err and len(said.err.splitlines()) == 1, said.err
    (kept.folder / "baselines" / "fabric" / "0002.json").write_text("{}")
    said = imb("baseline", "list")
    assert said.code == 2 and "cannot be read" in said.err
