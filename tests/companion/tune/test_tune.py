"""imb tune: on an MPI whose algorithms have known speeds, and its judge on drawn figures. bench/tune.py has error rates."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import lab
import numpy as np
import pytest
from companion.door import Imb, Said
from companion.test_run import with_
from companion.tune.fake_tuning import LENGTHS, FakeTuner, fail, launches, make
from imb.model.errors import ImbError
from imb.mpi import installations
from imb.store.store import Archive
from imb.tune import search as judge
from imb.tune import tune_experiment, tune_planning
from imb.tune.search import Proof, Search
from imb.tune.tune_planning import drop_length_options

Tune = Callable[..., Said]


@pytest.fixture
def tune(imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tune:
    """`imb tune` of algorithms of these names; the first words are of the tuner."""
    mpi = make(tmp_path / "mpi")
    monkeypatch.chdir(tmp_path)

    def run(tuner: FakeTuner, *words: object) -> Said:
        monkeypatch.setattr("imb.tune.tuner.tuner_of", lambda mpi, hosts=1: tuner)
        monkeypatch.setattr(tune_experiment, "tuner_of", lambda mpi, hosts=1: tuner)
        return imb("tune", *mpi, "--np", "4", "--seed", "1", "--output", tmp_path / "out", *words)

    return run


def cells(said: Said) -> dict[int, dict[str, Any]]:
    return {one["bytes"]: one for one in json.loads(said.out)["cells"]}


@pytest.mark.slow
def test_only_cells_that_are_faster_leave_the_default(tune: Tune, tmp_path: Path, archive: Archive) -> None:
    words = ["--name", "t", "--format", "json", "--page", tmp_path / "page.html"]
    said = tune(FakeTuner(["fast", "slow"]), "Allreduce", *words)
    assert said.code == 0, said.err
    found = cells(said)
    assert {length: one["chosen"] for length, one in found.items()} == {
        64: "default",
        1024: "fast",
        16384: "fast",
    }
    for length in (1024, 16384):
        assert found[length]["verdict"] == "confirmed"
        low, high = found[length]["interval"]
        assert 1 < low < 2 < high and found[length]["speedup"] == pytest.approx(2, rel=0.05)
    assert found[64]["verdict"] == "not slower" and found[64]["tried"] == "default"
    value = json.loads(said.out)
    assert value["file"] and value["acts"] == "what ranks wrote" and value["unproven"] is None
    written = json.loads((tmp_path / "out/rules.json").read_text())
    assert [rule[2:] for rule in written["rules"]] == [[1024, "fast"], [16384, "fast"]]
    assert f"export FAKE_RULES={tmp_path}/out/rules.json" in (tmp_path / "out/switch.sh").read_text()
    page = (tmp_path / "page.html").read_text()
    assert (
        page.count('<span class="big">fast</span>') == 2
        and page.count('<span class="big">default</span>') == 1
    )
    labels = [label for tags in archive.tags().values() for label in tags.labels]
    assert labels.count("t/none") == labels.count("t/file") in judge.LOOKS[:2]


@pytest.mark.slow
def test_candidates_alternate_in_one_launch_where_the_library_permits(tune: Tune, tmp_path: Path) -> None:
    said = tune(FakeTuner(["fast", "slow"], switches=True), "Allreduce", "--format", "json")
    assert said.code == 0, said.err
    assert [one["chosen"] for one in cells(said).values()] == ["default", "fast", "fast"]
    searches = [one["words"] for one in launches(tmp_path / "mpi") if "-alternate" in one["words"]]
    assert len(searches) == judge.FIRST  # and no others
    file = Path(searches[0][searches[0].index("-alternate") + 1])
    assert file.read_text() == "default\nfast fake_algorithm=fast\nslow fake_algorithm=slow\n"
    turns = [one for one in launches(tmp_path / "mpi") if "-turns" in one["words"]]
    assert len(turns) in (2 * judge.LOOKS[0], 2 * judge.LOOKS[1])


@pytest.mark.slow
def test_numbers_of_ranks_are_proven_apart_and_share_a_file(tune: Tune, tmp_path: Path) -> None:
    said = tune(FakeTuner(["fast"], switches=True), "Bcast", "--np", "2,4", "--format", "json")
    assert said.code == 0, said.err
    chosen = {(one["ranks"], one["bytes"]): one["chosen"] for one in json.loads(said.out)["cells"]}
    assert chosen == {
        (ranks, length): "default" if length == 64 else "fast" for ranks in (2, 4) for length in LENGTHS
    }
    written = json.loads((tmp_path / "out/rules.json").read_text())
    assert sorted(rule[1:3] for rule in written["rules"]) == [[2, 1024], [2, 16384], [4, 1024], [4, 16384]]


@pytest.mark.parametrize(("words", "nodes", "ranks"), [(["--np", "2,4"], "", "2, 4"), ([], "2", "4")])
@pytest.mark.slow
def test_hosts_and_ranks_of_a_launch_follow_from_ranks_per_host(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], nodes: str, ranks: str
) -> None:
    """Without --hosts, and without an allocation, as where srun makes one, or in one of two nodes."""
    if nodes:
        monkeypatch.setenv("SLURM_JOB_ID", "7")
        monkeypatch.setenv("SLURM_JOB_NUM_NODES", nodes)
    mpi = make(tmp_path / "mpi")
    asked: list[int] = []

    def tuner_of(mpi: object, hosts: int = 1) -> FakeTuner:
        asked.append(hosts)
        return FakeTuner(["fast"])

    monkeypatch.setattr("imb.tune.tuner.tuner_of", tuner_of)
    monkeypatch.setattr(tune_experiment, "tuner_of", tuner_of)
    assert imb("tune", *mpi, *words, "--ppn", "2", "--output", tmp_path / "out", "Allreduce").code == 0
    assert asked == [2, 2]
    assert f"; 2 hosts, 2 ranks per host; ranks: {ranks}\n" in (tmp_path / "out/switch.sh").read_text()


def test_an_mpi_that_cannot_be_tuned_names_those_that_can(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the same kind, as an old one on the PATH hides a new one."""
    for name in ("old", "new", "older"):
        make(tmp_path / name)
    all_three = [installations.find(str(tmp_path / name)) for name in ("old", "new", "older")]
    monkeypatch.setattr(installations, "find_all", lambda: all_three)

    def tuner_of(mpi: installations.Installation, hosts: int = 1) -> FakeTuner:
        if "old" in mpi.launcher:
            raise ImbError("its library has no rules")
        return FakeTuner(["fast"])

    monkeypatch.setattr("imb.tune.tuner.tuner_of", tuner_of)
    said = imb("tune", "--mpi", "openmpi", "--programs", tmp_path / "old/bin", "Allreduce")
    wrapper = tmp_path / "new/bin/mpicxx"
    assert said.code == 2 and said.err.splitlines()[-1] == (
        f"imb: its library has no rules; give --mpi {wrapper} (Open MPI 5.0.9)"
    )
    monkeypatch.setattr(installations, "find_all", lambda: all_three[::2])
    said = imb("tune", "--mpi", "openmpi", "--programs", tmp_path / "old/bin", "Allreduce")
    assert said.code == 2 and said.err.splitlines()[-1] == "imb: its library has no rules"


@pytest.mark.slow
def test_where_nothing_is_faster_there_is_no_file(tune: Tune, tmp_path: Path) -> None:
    said = tune(FakeTuner(["slight", "slow"]), "Allreduce")
    assert said.code == 0, said.err
    assert said.out.splitlines()[0] == (
        "no algorithm is faster than the library's own choice by 5 % in any of 3 cells: no file"
    )
    assert not (tmp_path / "out").exists()
    assert not any("-turns" in one["words"] and "Bcast" in one["names"] for one in launches(tmp_path / "mpi"))


@pytest.mark.parametrize(
    ("fails", "names", "switches", "where"),
    [
        ("n > 1", ["fast", "slow"], True, ""),  # screening
        ("n > 3", ["fast"], False, ""),  # the search
        ("'-alternate' in words", ["slight", "slow"], True, ""),
        (
            "'FAKE_RULES' in str(words) and '-check' not in words",
            ["fast"],
            True,
            " in 2 of 3 cells",
        ),  # the proof
    ],
)
@pytest.mark.slow
def test_what_failed_launches_leave_is_not_decided(
    tune: Tune,
    imb: Imb,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fails: str,
    names: list[str],
    switches: bool,
    where: str,
) -> None:
    """It is not "nothing is faster"; a session that is over says the same again."""
    fail(tmp_path / "mpi", fails)
    said = tune(FakeTuner(names, switches=switches), "Allreduce")
    message = "launches failed: exit status 1: no slots left in the allocation"
    assert (said.code, said.out.splitlines()[0]) == (1, f"not decided{where}: {message}; no file"), said
    assert not (tmp_path / "out").exists() and "is faster" not in said.out
    made = len(launches(tmp_path / "mpi"))
    again = imb("tune", "--resume")
    assert (again.code, again.out) == (1, said.out)
    assert len(launches(tmp_path / "mpi")) == made


@pytest.mark.slow
def test_a_few_failed_launches_cost_rounds_and_pairs_alone(tune: Tune, tmp_path: Path) -> None:
    """One of seven of search and proof."""
    fail(tmp_path / "mpi", "('Sendrecv' in words or '-alternate' in words) and n % 7 == 0")
    said = tune(FakeTuner(["fast", "slow"]), "Allreduce", "--format", "json")
    assert said.code == 0, said
    assert [one["chosen"] for one in cells(said).values()] == ["default", "fast", "fast"]
    for one in list(cells(said).values())[1:]:
        assert one["verdict"] == "confirmed" and one["pairs"] >= judge.LOOKS[0]


@pytest.mark.slow
def test_a_collective_whose_launches_failed_is_not_decided_by_the_others(tune: Tune, tmp_path: Path) -> None:
    fail(tmp_path / "mpi", "'Bcast' in words and '-alternate' in words")
    said = tune(FakeTuner(["fast"], switches=True), "Allreduce", "Bcast")
    assert said.code == 1 and said.out.startswith("faster in 2 of 3 cells"), said
    message = "launches failed: exit status 1: no slots left in the allocation"
    assert f"note: 3 cells not decided: {message}\n" in said.out
    written = json.loads((tmp_path / "out/rules.json").read_text())
    assert {rule[0] for rule in written["rules"]} == {"Allreduce"}


@pytest.mark.slow
def test_files_are_not_called_slow_where_launches_fail(tune: Tune, imb: Imb, tmp_path: Path) -> None:
    assert tune(FakeTuner(["fast"]), "Allreduce").code == 0
    for fails in ("n > 1", "'FAKE_RULES' in str(words) and '-turns' in words"):
        fail(tmp_path / "mpi", fails)
        said = imb(
            "tune",
            "--mpi",
            tmp_path / "mpi",
            "--programs",
            tmp_path / "mpi/bin",
            "--verify",
            tmp_path / "out",
        )
        assert said.code == 1 and said.out.startswith(
            "not decided: launches failed: exit status 1: no slots"
        ), said


@pytest.mark.slow
def test_what_was_fast_by_chance_is_not_confirmed(tune: Tune, tmp_path: Path) -> None:
    said = tune(FakeTuner(["lucky"]), "Allreduce", "--format", "json")
    assert said.code == 0, said.err
    assert {one["chosen"] for one in cells(said).values()} == {"default"}
    assert {one["why"] for one in cells(said).values()} == {"not confirmed"}
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_candidates_that_are_wrong_are_screened_out(tune: Tune, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("imb.tune.tune_planning.SCREENED", 2.0)
    said = tune(FakeTuner(["fast", "wrong", "crash", "hang", "same"]), "Bcast", "--format", "json")
    assert said.code == 0, said.err
    out = {one["algorithm"]: one["why"] for one in json.loads(said.out)["screened"]}
    assert out == {
        "wrong": "delivers wrong data",
        "crash": "some rows could not be measured",
        "hang": "killed after 2 s",
        "same": "replaced by default",
    }
    assert [one["chosen"] for one in cells(said).values()] == ["default", "fast", "fast"]


@pytest.mark.slow
def test_a_file_that_does_not_act_is_not_handed_out(tune: Tune, tmp_path: Path) -> None:
    tuner = FakeTuner(["fast"])
    tuner.acting = False
    said = tune(tuner, "Allreduce", "--format", "json")
    assert said.code == 0, said.err
    assert not (tmp_path / "out").exists() and not json.loads(said.out)["file"]
    whys = {one["why"] for one in cells(said).values()}
    assert "does not take effect in the file: default in place of fast" in whys


@pytest.mark.slow
def test_without_a_compiler_the_file_is_said_not_to_be_proven_to_act(tune: Tune) -> None:
    said = tune(FakeTuner(["fast"], watches=False), "Allreduce")
    assert said.code == 0, said.err
    assert "note: not proven that the file takes effect: there is no compiler" in said.out


@pytest.mark.parametrize("breaks", ["FAKE_BASE", "FAKE_RULES"])
@pytest.mark.slow
def test_launches_that_fail_only_while_ranks_are_watched(tune: Tune, tmp_path: Path, breaks: str) -> None:
    """All, or those with a file, as MPICH does with UCX under Slurm."""
    said = tune(FakeTuner(["fast"], breaks=breaks), "Allreduce", "--format", "json")
    assert said.code == 0, said.err
    assert [one["chosen"] for one in cells(said).values()] == ["default", "fast", "fast"]
    assert (
        json.loads(said.out)["unproven"] == "launches fail while ranks are watched: failed with exit status 9"
    )


@pytest.mark.slow
def test_a_file_is_verified_again(tune: Tune, tmp_path: Path) -> None:
    assert tune(FakeTuner(["fast"]), "Allreduce").code == 0
    tuner = FakeTuner(["fast"])
    verify = ["--verify", tmp_path / "out"]

    def verified(*words: object) -> Said:
        return tune(tuner, *words)

    refused = verified(*verify)
    assert refused.code == 2 and "--np cannot be combined with --verify" in refused.err
    refused = verified("Allreduce", *verify)
    assert refused.code == 2 and "COLLECTIVE cannot be combined with --verify" in refused.err


@pytest.mark.slow
def test_files_that_were_proven_with_another_mpi_are_to_be_verified(
    tune: Tune, imb: Imb, tmp_path: Path
) -> None:
    def watched() -> str:
        installations._identity_of.cache_clear()  # as in another process
        said = imb("watch", "t/file")
        assert said.code == 11, said.err
        return said.err

    mpi, out = tmp_path / "mpi", tmp_path / "out"
    (mpi / "lib").mkdir()
    library = mpi / "lib/libmpi.so.40"
    library.write_text("5.0.9")
    assert tune(FakeTuner(["fast"]), "Allreduce", "--name", "t").code == 0
    assert str(out) not in watched()

    verify = ["tune", "--mpi", mpi, "--programs", mpi / "bin", "--verify", out]
    command = f"imb tune --mpi {mpi} --verify {out}\n"
    library.write_text("5.0.9, patched")
    other = f"imb: {out} was proven with another build of Open MPI 5.0.9"
    assert f"{other}: {command}" in watched()
    launcher = mpi / "bin/mpiexec"
    launcher.write_text(launcher.read_text().replace("5.0.9", "5.0.12"))
    other = f"imb: {out} was proven with Open MPI 5.0.9; this is Open MPI 5.0.12"
    assert f"{other}: {command}" in watched()

    said = imb(*verify)
    assert said.code == 0 and f"{other}\n" in said.err, said.err
    assert str(out) not in watched()
    proven = [line for line in (out / "switch.sh").read_text().splitlines() if line.startswith("# proven ")]
    assert [line.partition(": ")[2].partition(";")[0] for line in proven] == [
        "Open MPI 5.0.9",
        "Open MPI 5.0.12",
    ]
    assert imb(*verify).err.count("was proven") == 0


@pytest.mark.slow
def test_a_watch_starts_only_the_mpi_of_tuned_files(
    tune: Tune, imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever MPIs are on the PATH, and however the MPI of the search was chosen."""
    started = tmp_path / "started"
    (tmp_path / "other").mkdir()
    for name in ("mpicxx", "mpiexec"):
        program = tmp_path / "other" / name
        program.write_text(
            f"#!/bin/sh\necho {name} >> {started}\necho 'HYDRA build details:'\necho ' Version: 4.2.0'\n"
        )
        program.chmod(0o755)
    own, out = tmp_path / "mpi/bin/mpiexec", tmp_path / "out"
    assert tune(FakeTuner(["fast"]), "Allreduce", "--name", "t").code == 0
    own_text = own.read_text()
    own.write_text(
        own_text.replace("import json", f"open({str(started)!r}, 'a').write('own\\n')\nimport json", 1)
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'other'}:{os.environ['PATH']}")

    def watched() -> tuple[str, list[str]]:
        installations._identity_of.cache_clear()  # as in another process
        started.unlink(missing_ok=True)
        said = imb("watch", "t/file")
        assert said.code == 11, said.err
        return said.err, started.read_text().split() if started.exists() else []

    def chosen_by(choice: str | None) -> None:
        """As if the search had been given this as --mpi."""
        (plan,) = (tmp_path / "archive/sessions").glob("*/plan.json")
        content = json.loads(plan.read_text())
        content["settings"]["mpi"] = choice
        plan.write_text(json.dumps(content))

    for choice in (str(tmp_path / "mpi"), "openmpi", None):
        chosen_by(choice)
        err, starts = watched()
        assert "was proven" not in err and set(starts) == {"own"}, choice
    own.write_text(own.read_text().replace("5.0.9", "5.0.12"))
    assert "was proven with Open MPI 5.0.9; this is Open MPI 5.0.12" in watched()[0]
    own.unlink()
    assert watched() == (err, [])  # the MPI is not there any more
    chosen_by("mpicxx")  # now of another MPI
    assert watched()[0] == err
    own.write_text(own_text)
    (out / "switch.sh").unlink()
    assert watched() == (err, [])


@pytest.mark.usefixtures("no_home")
@pytest.mark.slow
def test_a_user_without_a_home_folder_tunes(imb: Imb, tune: Tune, tmp_path: Path) -> None:
    said = tune(FakeTuner(["fast"]), "Allreduce")
    assert (said.code, said.out) == (2, "")
    assert said.err == (
        f"imb: no home folder: HOME is not set, and passwd has no user {os.getuid()};"
        " give --archive, or set IMB_ARCHIVE, HOME or XDG_DATA_HOME\n"
    )
    assert imb("tune", "--resume").err == said.err
    assert tune(FakeTuner(["fast"]), "Allreduce", "--archive", tmp_path / "archive").code == 0
    assert (tmp_path / "out/switch.sh").exists()


@pytest.mark.slow
def test_an_mpi_with_which_a_file_is_slower_is_not_recorded_as_proven(
    verify: Tune, imb: Imb, tmp_path: Path
) -> None:
    (tmp_path / "old").mkdir()
    switch = tmp_path / "old/switch.sh"
    switch.write_text("# proven 2026-11-28T01:00:00Z, session x: Open MPI 5.0.8; library \n")
    said = verify({64: "slower", 1024: "fast"})
    assert said.code == 10 and "was proven with Open MPI 5.0.8; this is Open MPI 5.0.9" in said.err
    assert switch.read_text().count("proven") == 1


@pytest.fixture
def verify(imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tune:
    """`imb tune --verify` of rules by length, on 4 ranks and where asked on 2."""
    mpi = make(tmp_path / "mpi")

    def run(rules: dict[int, str], *words: object, on_two: Mapping[int, str] | None = None) -> Said:
        tuner = FakeTuner(["fast", "slower", "slow", "lucky"])
        monkeypatch.setattr("imb.tune.tuner.tuner_of", lambda mpi, hosts=1: tuner)
        monkeypatch.setattr(tune_experiment, "tuner_of", lambda mpi, hosts=1: tuner)
        (tmp_path / "old").mkdir(exist_ok=True)
        of_ranks = {4: rules} if on_two is None else {2: on_two, 4: rules}
        said = {
            "rules": [
                ["Allreduce", ranks, length, name]
                for ranks, choices in of_ranks.items()
                for length, name in choices.items()
            ],
            "measured": [["Allreduce", ranks, length] for ranks in of_ranks for length in LENGTHS],
        }
        (tmp_path / "old/rules.json").write_text(json.dumps(said))
        return imb("tune", *mpi, "--verify", tmp_path / "old", *words)

    return run


@pytest.mark.slow
def test_verify_confirms(verify: Tune) -> None:
    said = verify({1024: "fast", 16384: "fast"})
    assert said.code == 0, said.err
    assert said.out.splitlines()[0] == "confirmed: 2 changed cells faster with the file, none slower"


@pytest.mark.slow
def test_verify_finds_a_slower_cell(verify: Tune) -> None:
    said = verify({64: "slower", 1024: "fast"}, "--format", "json")
    assert said.code == 10, said.err
    assert json.loads(said.out)["verdict"] == "slower in 1 cell with the file: do not use it"


def test_verify_finds_a_slower_cell_though_other_ranks_are_not_decided(
    verify: Tune, long_launches: None
) -> None:
    """What is left has no time for the pairs of 4 ranks."""
    said = verify({1024: "fast"}, "--budget", "200s", on_two={64: "slower"})
    assert said.code == 10, said
    assert said.out.splitlines()[0] == "slower in 1 cell with the file: do not use it"


@pytest.mark.slow
def test_a_search_goes_on_where_it_was(
    tune: Tune, imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from imb.runner import execution

    whole, count = execution.execute, 0

    def interrupted(*words: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        if count == 8:
            raise KeyboardInterrupt
        return whole(*words, **options)

    monkeypatch.setattr(execution, "execute", interrupted)
    said = tune(FakeTuner(["fast", "slow"]), "Allreduce", "--format", "json")
    assert said.code == 130
    before = len(launches(tmp_path / "mpi"))
    again = imb("run", "--resume")
    assert again.code == 0, again.err
    assert [one["chosen"] for one in cells(again).values()] == ["default", "fast", "fast"]
    screens = [one for one in launches(tmp_path / "mpi")[before:] if "-check" in one["words"]]
    assert len(screens) < 4  # those of the file alone


@pytest.mark.slow
def test_the_newest_unfinished_session_is_resumed(
    tune: Tune, imb: Imb, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session that is over is resumed only if it is named, or with a larger budget."""
    from imb.runner import execution

    def interrupted(*words: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    unfinished, ended = names = ["20260101T000001Z-abcdef", "20260101T000002Z-abcdef"]
    new_names = iter(names)
    monkeypatch.setattr("imb.runner.session.new_id", lambda: next(new_names))
    with monkeypatch.context() as patched:
        patched.setattr(execution, "execute", interrupted)
        assert tune(FakeTuner(["fast"]), "Allreduce", "--budget", "10s").code == 130
    assert tune(FakeTuner(["fast"]), "Allreduce", "--budget", "10s").code == 11
    shown = imb("tune", "--resume", "--dry-run")
    assert shown.code == 0 and "-check" in shown.out, shown
    assert shown.err == "further launches follow from the results\n"
    larger = imb("tune", "--resume", "--budget", "20s")
    assert larger.code == 11 and f"session {ended}: " in larger.err, larger
    assert "the budget of 20 s ends" in larger.out
    said = imb("tune", "--resume", "--timeout", "60", "--verbose")
    assert said.code == 11 and f"session {unfinished}: " in said.err, said
    assert " -json " in said.err
    last = imb("tune", "--resume", ended)
    assert (last.code, last.out) == (11, larger.out)


@pytest.mark.slow
def test_a_session_of_other_launches_is_not_continued(
    tune: Tune, imb: Imb, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stages take what launches left by their place in the plan."""
    assert tune(FakeTuner(["fast"]), "Allreduce").code == 0
    [file] = archive.folder.glob("sessions/*/plan.json")
    plan = json.loads(file.read_text())
    plan["items"][1]["arguments"].insert(1, "-mem")
    file.write_text(json.dumps(plan))
    said = imb("tune", "--resume")
    assert said.code == 2 and said.out == ""
    assert (
        "launch 2 was planned by another version of imb, or for other files; start a new session" in said.err
    )


@pytest.mark.slow
def test_a_budget_that_does_not_suffice_is_said(tune: Tune, tmp_path: Path) -> None:
    said = tune(FakeTuner(["fast"]), "Allreduce", "--budget", "10s")
    assert said.code == 11
    assert "not decided: the budget of 10 s ends before the proof" in said.out
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("budget", "status", "said"),
    [
        ("100s", 0, "search ended after 1 round by the budget"),
        ("35s", 11, "not decided: the budget of 35 s ends before the search: 30 s are spent"),
    ],
)
@pytest.mark.slow
def test_a_search_is_no_longer_than_its_share_of_the_budget(
    tune: Tune, tmp_path: Path, long_launches: None, budget: str, status: int, said: str
) -> None:
    found = tune(FakeTuner(["fast", "slow"]), "Allreduce", "--budget", budget)
    assert found.code == status and said in found.out, found
    searches = [one for one in launches(tmp_path / "mpi") if "Sendrecv" in one["names"]]
    assert len(searches) == (3 + 2 * judge.LOOKS[0] if budget == "100s" else 0)


@pytest.fixture
def long_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes 10 s, as far as the budget is concerned."""
    whole = tune_planning.figures_of
    monkeypatch.setattr(tune_planning, "figures_of", lambda *words: whole(*words)._replace(wall=10.0))


@pytest.mark.slow
def test_when_the_budget_ends_what_is_confirmed_is_in_a_file(
    tune: Tune, tmp_path: Path, long_launches: None
) -> None:
    said = tune(FakeTuner(["fast", "chance"]), "Allreduce", "--budget", "400s", "--rows")
    assert said.code == 0, said.err
    assert "faster in 2 of 3 cells" in said.out
    assert (
        "1 cell not confirmed within the budget; a new session with a larger --budget may confirm it"
        in said.out
    )
    written = json.loads((tmp_path / "out/rules.json").read_text())
    assert [rule[2:] for rule in written["rules"]] == [[1024, "fast"], [16384, "fast"]]
    # It was confirmed again, without the other cell, on fresh pairs.
    pairs = [one["given"] for one in launches(tmp_path / "mpi") if "-turns" in one["words"]]
    files = dict.fromkeys(one["FAKE_RULES"] for one in pairs if "FAKE_RULES" in one)
    assert len(files) == 2


@pytest.mark.slow
def test_what_no_look_confirms_within_the_budget_is_not_decided_and_goes_on(
    tune: Tune, imb: Imb, tmp_path: Path, long_launches: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resumed(*words: object) -> Said:
        return imb("tune", "--resume", *words)

    said = tune(FakeTuner(["chance"]), "Allreduce", "--budget", "300s", "--name", "t")
    assert said.code == 11, said.err
    found = re.search(
        r"not decided: the budget of 5 min ends after \d+ pairs of launches: .* `imb tune --resume (\S+) --budget 10m`",
        said.out,
    )
    assert found, said.out
    before = len(launches(tmp_path / "mpi"))
    assert resumed().out.splitlines()[0] == said.out.splitlines()[0]
    refused = resumed(found[1], "--budget", "5m")
    assert refused.code == 2 and f"--budget: session {found[1]} has 5 min; give more than that" in refused.err
    refused = resumed("--np", "2")
    assert refused.code == 2 and "--np cannot be combined with --resume" in refused.err
    assert len(launches(tmp_path / "mpi")) == before

    said = resumed(found[1], "--budget", "1h")
    assert said.code == 0, said.err
    assert "no algorithm is confirmed to be faster" in said.out
    assert all("-turns" in one["words"] for one in launches(tmp_path / "mpi")[before:])
    with_file = [
        one for one in launches(tmp_path / "mpi") if "-turns" in one["words"] and "FAKE_RULES" in one["given"]
    ]
    assert len(with_file) == judge.LOOKS[-1]
    again = resumed()
    assert (again.code, again.out) == (0, said.out)


@pytest.mark.slow
def test_a_session_stopped_before_its_search_goes_on_with_a_larger_budget(
    tune: Tune, imb: Imb, tmp_path: Path, long_launches: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = tune(FakeTuner(["fast", "slow"]), "Allreduce", "--budget", "35s")
    assert said.code == 11
    said = imb("tune", "--resume", "--budget", "1h")
    assert said.code == 0, said.err
    assert "faster in 2 of 3 cells" in said.out and (tmp_path / "out/switch.sh").exists()


@pytest.mark.slow
def test_numbers_of_ranks_share_the_time_of_the_proof(
    tune: Tune, tmp_path: Path, long_launches: None
) -> None:
    """What is confirmed on 2 ranks is handed out where the budget does not suffice for 4."""
    said = tune(FakeTuner(["fast"], switches=True), "Bcast", "--np", "2,4", "--budget", "300s")
    assert said.code == 0, said.err
    assert "4 ranks: not decided: its share of the budget of 5 min ends" in said.out
    written = json.loads((tmp_path / "out/rules.json").read_text())
    assert {rule[1] for rule in written["rules"]} == {2}
    assert "confirmed, but not in a file" not in said.out


@pytest.mark.parametrize("rules", [{1024: "fast", 16384: "lucky"}, {16384: "lucky"}])
@pytest.mark.slow
def test_verify_of_a_cell_that_is_as_fast_as_without(verify: Tune, rules: dict[int, str]) -> None:
    said = verify(rules)
    assert said.code == 11, said
    assert said.out.startswith("inconclusive: 1 of ")


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (
            [],
            [
                "screening: 4 launches with -check, one for each algorithm, about 13 s",
                "search: 4 to 20 rounds of 2 launches, about 11 s each at first",
                "about 2 min to 19 min in all; --budget 30 min; nothing was run",
            ],
        ),
        (
            ["--np", "2,4", "--budget", "10m", "--", "-msgsize", "4,5"],
            [
                "screening: 8 launches with -check, one for each algorithm, about 17 s",
                "search: 4 to 20 rounds of 4 launches, about 16 s each at first",
                "about 3 min to 22 min in all; --budget 10 min may end it before; nothing was run",
            ],
        ),
    ],
)
def test_dry_run_launches_nothing(tune: Tune, tmp_path: Path, words: list[str], lines: list[str]) -> None:
    said = tune(FakeTuner(["fast", "slow"]), "Allreduce", "Bcast", "--dry-run", *words)
    assert said.code == 0
    assert [line for line in said.out.splitlines() if line in lines] == lines, said.out
    assert not (tmp_path / "mpi/log").exists()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["Alreduce"], "imb: Alreduce cannot be tuned by a list of rules; did you mean Allreduce?"),
        (["alltoallv"], "imb: Alltoallv cannot be tuned by a list of rules: it has no rules here; omit it"),
        (["--budget", "soon"], "imb: --budget: not a duration: soon; give one such as 600, 30m or 2h"),
        (["--np", "1"], "imb: --np: not numbers of ranks: 1; give some such as 4 or 2,4,8"),
        (["Bcast", "--", "-check"], "imb: -check is set by imb tune; omit it"),
        (["Bcast", "--", "-H"], "imb: -H cannot be combined with imb tune; omit it"),
        (["Bcast", "--", "-pause", "9"], "imb: -pause cannot be combined with imb tune; omit it"),
        (
            ["--margin", "10000%"],
            "imb: --margin: not a percentage above 0 and below 10000: 10000%; give one such as 5%",
        ),
        (
            ["--margin", "no"],
            "imb: --margin: not a percentage above 0 and below 10000: no; give one such as 5%",
        ),
    ],
)
def test_usage_errors(tune: Tune, tmp_path: Path, words: list[str], line: str) -> None:
    said = tune(FakeTuner(["fast"]), *words)
    assert said.code == 2
    assert said.err.splitlines()[-1] == line
    assert not (tmp_path / "mpi/log").exists()


def test_a_folder_with_files_is_not_written_to(tune: Tune, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine").touch()
    said = tune(FakeTuner(["fast"]), "Allreduce")
    assert said.code == 2 and "has files; give a new or an empty folder" in said.err


def test_options_of_lengths_are_left_out() -> None:
    words = ["-msglog", "3:8", "-off_cache", "-1", "-msgsize", "8,16", "-root_shift", "on"]
    assert drop_length_options(words) == ["-off_cache", "-1", "-root_shift", "on"]


# --- The judge, on drawn figures ---


def drawn(random: np.random.Generator, gains: list[float], pairs: int, spread: float) -> np.ndarray[Any, Any]:
    return np.array(gains) + random.normal(0, spread, (pairs, len(gains)))


def test_a_race_settles_on_the_best() -> None:
    random = np.random.default_rng(1)
    seconds = np.log(np.array([[10.0, 5.0, 20.0, 5.01], [10.0, 12.0, 9.9, 15.0]]))
    search = Search(2, 4, 0.05)
    while rounds := search.rounds_needed():
        for _ in range(rounds):
            search.add((seconds + random.normal(0, 0.02, seconds.shape) + random.normal(0, 0.5))[None])
    assert search.choices()[0] in (1, 3) and search.choices()[1] == 0
    assert search.rounds < judge.MOST
    assert not search.alive[0, 2] and not search.alive[1, 3]


def test_a_candidate_that_was_never_measured_is_not_chosen() -> None:
    search = Search(1, 2, 0.05)
    search.add(np.log(np.array([[[1.0, np.nan]]] * 4)))
    assert search.rounds_needed() == 0 and search.choices() == [0]


def test_the_proof_reverts_what_is_not_faster_and_confirms_the_rest_on_fresh_pairs() -> None:
    random = np.random.default_rng(2)
    proof = Proof([True, True, False], 0.05)
    seen = 0
    while pairs := proof.pairs_needed():
        proof.add(drawn(random, [0.5, 0.0, 0.0], pairs, 0.02))
        seen += pairs
    assert proof.is_proven and list(proof.changed) == [True, False, False]
    assert proof.confirmation == 2 and proof.level == judge.FAMILY / 4
    assert [cell for cell, _ in proof.reverted] == [1]
    assert seen == judge.LOOKS[-1] + proof.pairs_launched


def test_a_proof_of_one_confirmation_keeps_no_time_for_another() -> None:
    random = np.random.default_rng(2)
    proof = Proof([True, True, False], 0.05, confirmations=1)
    proof.add(drawn(random, [0.5, 0.0, 0.0], judge.LOOKS[0], 0.02))
    assert proof.affordable_pairs(judge.LOOKS[0]) == judge.LOOKS[0] and proof.affordable_pairs(1) == 1


def test_a_proof_without_time_for_more_pairs_confirms_what_it_has_shown_again() -> None:
    random = np.random.default_rng(2)
    proof = Proof([True, True, False], 0.05)
    proof.add(drawn(random, [0.5, 0.0, 0.0], judge.LOOKS[0], 0.02))
    assert proof.affordable_pairs(2 * judge.LOOKS[0]) == judge.LOOKS[0] and not proof.affordable_pairs(
        2 * judge.LOOKS[0] - 1
    )
    proof.end()
    assert [(cell, said.verdict) for cell, said in proof.reverted] == [(1, "no time")]
    assert list(proof.changed) == [True, False, False] and not proof.over
    assert proof.confirmation == 2 and not proof.pairs_launched
    while pairs := proof.pairs_needed():
        proof.add(drawn(random, [0.5, 0.0, 0.0], pairs, 0.02))
    assert proof.is_proven and proof.confirmation == 2


def test_pairs_in_another_state_of_the_machine_are_launched_again() -> None:
    random = np.random.default_rng(3)
    proof = Proof([True], 0.05)
    launched = 0
    while pairs := proof.pairs_needed():
        slow = random.random((pairs, 2)) < 0.2
        gains = (
            np.log(1.5) + np.log(2.5) * (slow[:, :1] * 1.0 - slow[:, 1:]) + random.normal(0, 0.02, (pairs, 1))
        )
        proof.add(gains, np.where(slow, 2.5e-6, 1e-6) * np.exp(random.normal(0, 0.03, (pairs, 2))))
        launched += pairs
    assert proof.is_proven and proof.judged[0].speedup == pytest.approx(1.5, rel=0.03)
    assert launched > proof.judged[0].pairs


def test_what_launches_have_in_common_is_taken_off() -> None:
    random = np.random.default_rng(4)
    good = {True: 0, False: 0}
    for with_control in [True, False] * 10:
        proof = Proof([True, False], 0.05)
        while pairs := proof.pairs_needed():
            level = random.normal(0, 0.24, (pairs, 1))
            control = level[:, 0] + random.normal(0, 0.01, pairs) if with_control else None
            proof.add(drawn(random, [0.07, 0.0], pairs, 0.04) + level, None, control)
        good[with_control] += proof.is_proven
    assert good[True] == 10 and good[False] < 5


def test_a_cell_that_the_file_does_not_change_and_slows_down_makes_it_bad() -> None:
    random = np.random.default_rng(5)
    proof = Proof([True, False], 0.05)
    while pairs := proof.pairs_needed():
        proof.add(drawn(random, [0.5, -0.5], pairs, 0.02))
    assert not proof.is_proven and proof.judged[1].verdict == "slower"


@pytest.mark.slow
def test_the_level_is_kept_where_nothing_is_faster() -> None:
    """Of 2000 files of ten cells that change nothing, at most 1 % may be called good; two are 0.1 %."""
    random = np.random.default_rng(6)
    good = 0
    for _ in range(2000):
        proof = Proof([True] * 10, 0.05)
        while pairs := proof.pairs_needed():
            proof.add(drawn(random, [0.0] * 10, pairs, 0.02))
        good += proof.is_proven
    assert good <= 20


# --- On real MPIs ---


@pytest.mark.needs_mpi
@pytest.mark.alone
def test_a_search_on_a_real_mpi(
    mpi: lab.Mpi, imb: Imb, tmp_path: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Screening, rounds in which algorithms alternate, and no proof, for which this budget has no time."""
    monkeypatch.setattr(tune_experiment, "FIRST_SHARE", 1000.0)  # however busy the machine is
    words = [
        "Allreduce",
        "--np",
        "2",
        "--margin",
        "1%",
        "--budget",
        "8s",
        "--output",
        tmp_path / "out",
        "--format",
        "json",
    ]
    said = imb("tune", *words, *with_(mpi), "--", "-msgsize", "1024,65536")
    assert said.code in (0, 11), said.err
    value = json.loads(said.out)
    assert [one["bytes"] for one in value["cells"]] == [1024, 65536]
    assert all(0.5 < one["estimate"] < 100 for one in value["cells"])
    assert value["unproven"] is None
    found = [label.rpartition("/")[2] for tags in archive.tags().values() for label in tags.labels]
    assert (
        found.count("reference") == 1 and found.count("screen") >= 4 and found.count("search") >= judge.FIRST
    )
    assert not value["file"] and not (tmp_path / "out").exists()
