"""imb campaign and imb ab: what a file means, the order of launches, setup and teardown on every way out."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lab
import pytest
from companion import fake_mpi
from companion.door import Imb, Said
from hypothesis import given
from hypothesis import strategies as st
from imb.model.errors import ImbError
from imb.model.statuses import Status
from imb.runner import campaign_definition, passes, planning, session
from imb.runner.progress import limit_in_words
from imb.store.store import Archive

BENCHMARKS = 'benchmarks = ["PingPong"]\n'


def parse(text: str) -> campaign_definition.Campaign:
    return campaign_definition.parse_campaign(text, Path("/somewhere/trial.toml"))


# --- Files ---------------------------------------------------------------------------------------------


def test_a_cpu_that_this_host_does_not_have_is_refused(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    said = imb("ab", "--a", "", "--b", "cpus=0,99999", *fake_mpi.make(tmp_path / "mpi"), "PingPong")
    assert said.code == 2 and said.err.startswith(
        "imb: variant b: cpus: no CPU 99999 on this host; give numbers"
    )
    assert not list(archive.folder.glob("sessions/*"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a = [", "is not TOML"),
        ("", "benchmarks is missing"),
        (BENCHMARKS, "no variants"),
        ("benchmark = []", "no key benchmark; did you mean benchmarks?"),
        ("benchmarks = []\n[variants.a]", "benchmarks is empty"),
        ('benchmarks = ["PingPongg"]\n[variants.a]', "did you mean PingPong?"),
        (BENCHMARKS + "launches = 0\n[variants.a]", "launches: expected a whole number of at least 1"),
        (
            BENCHMARKS + "processes = [2, 0]\n[variants.a]",
            "processes[1]: expected a whole number of at least 1",
        ),
        (
            BENCHMARKS + 'class = "some"\n[variants.a]',
            "class: 'some' is not one of single, parallel, collective",
        ),
        (BENCHMARKS + "variants = 3", "variants: expected a table, got a whole number"),
        (BENCHMARKS + "[variants.a]\nenvv = 3", "no key variants.a.envv; did you mean env?"),
        (
            BENCHMARKS + "[variants.a]\n[variants.b]\nenv = 3",
            "variants.b.env: expected a table, got a whole number",
        ),
        (BENCHMARKS + "[variants.a]\nenv = { X = true }", "variants.a.env.X: expected"),
        (
            BENCHMARKS + '[variants.a]\nbind = "cor"',
            "variants.a.bind: 'cor' is not one of core, socket, numa, none",
        ),
        (BENCHMARKS + "[axes.x.y]\ncpus = [-1]", "axes.x.y.cpus[0]: expected a whole number of at least 0"),
        (BENCHMARKS + "[axes]\nx = {}", "axes.x has no values"),
        (BENCHMARKS + "[axes.x.y]\n[variants.a]", "both variants and axes"),
        (BENCHMARKS + '[variants."a,b"]', "'a,b' becomes part of a label"),
        (
            BENCHMARKS + '[variants.a]\nbind = "core"\ncpus = [0]',
            "variant a: cpus and bind cannot be combined",
        ),
        (BENCHMARKS + 'arguments = "\'"\n[variants.a]', "no closing quotation"),
        (BENCHMARKS + "budget = 9\n[variants.a]", "budget needs until_decided = true"),
        (BENCHMARKS + "until_decided = true\n[variants.a]", "give two or more"),
        (
            BENCHMARKS + "until_decided = true\nlaunches = 4\n[variants.a]\n[variants.b]",
            "launches: 4 is too few with until_decided, which looks first after 5 rounds",
        ),
        (
            BENCHMARKS + 'until_decided = true\nmetric = "tim"\n[variants.a]\n[variants.b]',
            "unknown metric: tim; choose from time,",
        ),
        (BENCHMARKS + 'metric = "tim"\n[variants.a]', "unknown metric: tim; choose from time,"),
        (BENCHMARKS + "variants = { a = 3 }", "variants.a: expected a table, got a whole number"),
        (BENCHMARKS + "[axes.x.y]\nhosts = [1]", "axes.x.y.hosts[0]: expected text, got a whole number"),
        (
            BENCHMARKS + '[axes.x.y]\nlauncher = "mpirun"',
            "axes.x.y.launcher: 'mpirun' is not one of mpiexec, srun",
        ),
        (BENCHMARKS + "[common]\nenv = { X = [1] }\n[variants.a]", "common.env.X: expected"),
        ("benchmarks = [3]\n[variants.a]", "benchmarks[0]: expected text or a list, got a whole number"),
        (BENCHMARKS + "until_decided = true\nbudget = 0\n[variants.a]", "budget: expected a number above 0"),
        (BENCHMARKS + 'arguments = "-json x"\n[variants.a]', "-json, -input and -turns are set by imb"),
    ],
)
def test_mistakes_in_a_file_name_the_key(imb: Imb, tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "trial.toml"
    mpi, programs = fake_mpi.make(tmp_path / "mpi")[1::2]
    if "[variants.a]" in text and "[common]" not in text:
        text += f'\n[common]\nmpi = "{mpi}"\nprograms = "{programs}"\n'
    file.write_text(text)
    said = imb("campaign", file)
    assert said.code == 2 and says in said.err, said.err
    assert len(said.err.splitlines()) == 1


def test_other_mistakes(imb: Imb, tmp_path: Path) -> None:
    for words, says in (
        ([], "FILE is missing; give a campaign, or --resume; examples are in "),
        (["--resume"], "you have no session of imb campaign"),
        ([tmp_path / "none.toml"], f"{tmp_path / 'none.toml'}: no such file; examples are in "),
        ([__file__], "is not TOML"),
        (["--resume", "--seed", "1"], "--seed cannot be combined with --resume"),
        (["--resume", "--launches", "1"], "--launches cannot be combined with --resume"),
    ):
        said = imb("campaign", *words)
        assert said.code == 2 and says in said.err and len(said.err.splitlines()) == 1


def test_a_missing_file_names_the_folder_of_examples(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, says in (
        (lab.TOP, str(lab.TOP / "examples")),
        (tmp_path, "examples/ of the sources; an installed wheel has none"),
    ):
        monkeypatch.setattr("imb.cli.campaign.suite_folder", lambda folder=folder: folder)
        said = imb("campaign", "examples/none.toml")
        assert said.code == 2
        assert said.err == f"imb: examples/none.toml: no such file; examples are in {says}\n"


def test_axes_are_combined_and_settings_add_up() -> None:
    made = parse(
        """
        benchmarks = ["Sendrecv"]
        [common]
        env = { A = 1, B = 2 }
        arguments = "-time 1"
        teardown = "last"
        programs = "here"
        [axes.mpi.x]
        mpi = "mpich"
        env = { B = "three" }
        [axes.mpi.y]
        mpi = "./prefix"
        [axes.map.1x2]
        arguments = ["-map", "1x2"]
        setup = ["one", "two"]
        teardown = "first"
        [axes.map.2x1]
        arguments = "-map '2x1'"
        """
    )
    found = campaign_definition.variants(made)
    assert list(found) == ["x/1x2", "x/2x1", "y/1x2", "y/2x1"]
    assert found["x/1x2"].env == {"A": 1, "B": "three"}
    assert found["x/2x1"].arguments == ["-time", "1", "-map", "2x1"]
    assert (found["y/1x2"].setup, found["y/1x2"].teardown) == (["one", "two"], ["first", "last"])
    assert (found["y/2x1"].mpi, found["y/2x1"].programs) == ("/somewhere/prefix", "/somewhere/here")
    assert found["x/2x1"].mpi == "mpich"


def test_every_example_is_a_campaign() -> None:
    files = sorted((lab.TOP / "examples").glob("*.toml"))
    assert len(files) >= 6
    for file in files:
        made, _ = campaign_definition.read_campaign(file)
        assert made.name == file.stem and len(campaign_definition.variants(made)) >= 2
        # A launch that hangs ends; one that measures as long as it may does not reach the limit.
        assert made.timeout, file
        arguments = campaign_definition.split_words(made.arguments)
        for chosen in campaign_definition.selections(made):
            for component, names in chosen.items():
                rows = passes.rows_of(component, names, arguments, 2)
                assert passes.usual_budget(component, rows) * made.segments**0.5 < made.timeout / 2, file


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", campaign_definition.VariantSettings(launcher_options=[])),
        ("A=1 B='x y'", campaign_definition.VariantSettings(env={"A": "1", "B": "x y"}, launcher_options=[])),
        (
            "A= --mca btl self,tcp",
            campaign_definition.VariantSettings(env={"A": ""}, launcher_options=["--mca", "btl", "self,tcp"]),
        ),
        (
            "mpi=mpich cpus=0,3",
            campaign_definition.VariantSettings(mpi="mpich", cpus=[0, 3], launcher_options=[]),
        ),
        (
            "hosts=a,b ppn=2",
            campaign_definition.VariantSettings(hosts=["a", "b"], ppn=2, launcher_options=[]),
        ),
        (
            "arguments='-off_cache -1'",
            campaign_definition.VariantSettings(arguments="-off_cache -1", launcher_options=[]),
        ),
    ],
)
def test_a_variant_in_one_line(text: str, wanted: campaign_definition.VariantSettings) -> None:
    assert campaign_definition.parse_variant(text) == wanted


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("UCX", "give NAME=VALUE"),
        ("mip=openmpi", "no setting mip; did you mean mpi?"),
        ("bind=cor", "'cor' is not one of"),
        ("cpus=a", "cpus[0]"),
        ("A='", "no closing"),
    ],
)
def test_mistakes_in_such_a_line(text: str, says: str) -> None:
    with pytest.raises(ImbError, match=r".") as error:
        campaign_definition.parse_variant(text)
    assert says in str(error.value)


# --- Order ---------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.integers(1, 8), st.integers(0, 2**31))
def test_each_round_has_every_cell_once_and_each_set_up_at_most_once(
    groups: list[int], launches: int, seed: int
) -> None:
    order = planning.rounds(groups, launches, seed)
    assert len(order) == launches and order == planning.rounds(groups, launches, seed)
    for cells in order:
        assert sorted(cells) == list(range(len(groups)))
    stands: int | None = None
    set_ups = 0
    for cell in (cell for cells in order for cell in cells):
        set_ups += groups[cell] != stands
        stands = groups[cell]
    assert set_ups <= 1 + launches * (len(set(groups)) - 1)


def test_the_order_is_random_and_balanced() -> None:
    first = [planning.rounds([0] * 4, 1, seed)[0][0] for seed in range(400)]
    assert all(60 < first.count(cell) < 140 for cell in range(4))  # 100 each, 4 standard deviations
    order = planning.rounds(["off", "on"], 4, 1)
    assert order in ([[0, 1], [1, 0]] * 2, [[1, 0], [0, 1]] * 2)


def plan(text: str, tmp_path: Path) -> session.Plan:
    made = parse(text)
    mpi, programs = fake_mpi.make(tmp_path / "mpi")[1::2]
    from imb.mpi import installations

    return planning.campaign_plan(
        made, lambda one: (installations.find(str(mpi)), Path(str(programs))), seed=3
    )


def test_a_plan_has_all_cells_of_the_matrix(tmp_path: Path) -> None:
    made = plan(
        'benchmarks = [["PingPong", "rma:accumulate"], ["Bcast"]]\nprocesses = [2, 4]\nlaunches = 3\nclassic = true\n'
        'arguments = "-time 1"\n[variants.a]\n[variants.b]\narguments = "--NPMin 1"\nenv = { X = 1.5 }',
        tmp_path,
    )
    assert (made.campaign, made.seed, len(made.items)) == ("trial", 3, 2 * 2 * 3 * 3)
    assert [item.number for item in made.items] == list(range(1, 37))
    for turn in (1, 2, 3):
        assert len({item.work_key() for item in made.items if item.turn == turn}) == 12
    one = next(
        i for i in made.items if (i.variant, i.ranks, i.component, i.arguments[0]) == (0, 4, "MPI1", "Bcast")
    )
    assert one.arguments == ["Bcast", "-npmin", "4", "-time", "1"]
    assert one.labels == ["trial/a", "trial/a/np4"]
    other = next(i for i in made.items if i.variant == 1)
    assert other.arguments[1:] == ["-time", "1", "--NPMin", "1"]
    assert session.intent_of(made, other).env == {"X": "1.5"}


def test_time_left_is_that_of_like_launches(tmp_path: Path) -> None:
    made = plan('benchmarks = ["PingPong"]\nlaunches = 3\n[variants.a]\n[variants.b]', tmp_path)
    assert session.remaining_seconds(made, []) is None
    first = {variant: next(i for i in made.items if i.variant == variant) for variant in (0, 1)}
    over = [session.FinishedLaunch(number=first[0].number, run="x", outcome="measured", wall=10.0)]
    assert session.remaining_seconds(made, over) == 50  # nothing of b is known: as a
    assert session.remaining_seconds(made, over, {first[1].work_key(): 1.0}) == 23
    over.append(session.FinishedLaunch(number=first[1].number, run="y", outcome="measured", wall=2.0))
    assert session.remaining_seconds(made, over) == 24


# --- Launches ------------------------------------------------------------------------------------------


ON_FIRST = next(seed for seed in range(99) if planning.rounds([0, 1], 1, seed)[0][0] == 1)


class Trial:
    """A campaign of a variant without commands and one with both, whose events are logged."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log, self.hold, self.file = folder / "log", folder / "hold", folder / "trial.toml"
        monkeypatch.setenv("FAKE_LOG", str(self.log))
        monkeypatch.setenv("FAKE_HOLD", str(self.hold))
        _, self.mpi, _, self.programs = fake_mpi.make(folder / "mpi")
        self.write()

    def write(self, setup: str = "true", teardown: str = "true", launches: int = 2, more: str = "") -> None:
        self.file.write_text(
            f"{BENCHMARKS}launches = {launches}\nseed = {ON_FIRST}\n{more}\n[common]\nmpi = '{self.mpi}'\n"
            f"programs = '{self.programs}'\n[variants.off]\nenv = {{ FAKE_NAME = 'off' }}\n"
            f"[variants.on]\nenv = {{ FAKE_NAME = 'on' }}\n"
            f"setup = '''echo \"<$IMB_VARIANT\" >> $FAKE_LOG; {setup}'''\n"
            f"teardown = '''echo '>' >> $FAKE_LOG; {teardown}'''\n"
        )

    def events(self) -> str:
        return self.log.read_text().replace("<on", "<") if self.log.exists() else ""

    def start(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "imb", "campaign", str(self.file)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def is_sound(self) -> bool:
        """Each launch under what it is called, and nothing left standing."""
        stands = False
        for event in self.events().split():
            if event in "<>":
                stands = event == "<"
            elif (event == "on") != stands:
                return False
        return not stands


@pytest.fixture
def trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trial:
    (tmp_path / "trial").mkdir()
    return Trial(tmp_path / "trial", monkeypatch)


def outcomes(archive: Archive) -> dict[str, list[Any]]:
    """Turns that were measured, by label."""
    found: dict[str, list[Any]] = {}
    for name, tags in archive.tags().items():
        facts = archive.run(name).facts()
        if facts["outcome"] == "measured":
            found.setdefault(" ".join(tags.labels), []).append(facts["turn"])
    return {label: sorted(turns) for label, turns in sorted(found.items())}


ALL = {"trial/off": [1, 2], "trial/on": [1, 2]}


def test_a_campaign_labels_its_runs_and_says_what_it_did(imb: Imb, archive: Archive, trial: Trial) -> None:
    trial.write(more="classic = true")  # nothing says how long its launches may take
    dry = imb("campaign", trial.file, "--dry-run")
    assert dry.code == 0 and "duration unknown" in dry.err
    heads, commands = dry.out.splitlines()[::2], dry.out.splitlines()[1::2]
    assert heads == ["# off, 2 ranks: 2 launches", "# on, 2 ranks: 2 launches"] and len(commands) == 2
    assert not trial.events()
    said = imb("campaign", trial.file)
    assert said.code == 0, said.err
    assert outcomes(archive) == ALL and trial.is_sound()
    assert trial.events().count("<") <= 2
    assert f"seed {ON_FIRST}:" in said.err and "round 2 of 2: about" in said.err
    facts = [archive.run(name).facts() for name in archive.ids()]
    assert {(f["campaign"], f["variant"], f["seed"]) for f in facts} == {
        ("trial", "off", 1),
        ("trial", "on", 1),
    }
    rows = imb("query", "SELECT DISTINCT campaign FROM runs", "--format", "json").out
    assert json.loads(rows)["campaign"] == "trial"
    assert "about" in imb("campaign", trial.file, "--dry-run").err
    assert imb("campaign", trial.file, "--resume").out == ""


def test_a_set_up_that_fails_leaves_its_variant_out(imb: Imb, archive: Archive, trial: Trial) -> None:
    trial.write(setup="test -e $FAKE_LOG.module || { echo 'no such module'; exit 7; }")
    said = imb("campaign", trial.file)
    assert said.code == 1
    assert "setup of trial/on failed with exit status 7: no such module" in said.err
    assert "2 launches skipped" in said.err
    assert outcomes(archive) == {"trial/off": [1, 2]}
    assert trial.events().split().count("<") == 1 == trial.events().split().count(">")
    (trial.log.parent / "log.module").touch()
    said = imb("campaign", trial.file, "--resume")
    assert said.code == 0 and outcomes(archive) == ALL and trial.is_sound()


def test_a_set_up_that_hangs_is_ended(imb: Imb, archive: Archive, trial: Trial) -> None:
    trial.write(setup="sleep 60", more="setup_timeout = 0.3")
    said = imb("campaign", trial.file)
    assert said.code == 1 and "setup of trial/on took longer than 0.3 s" in said.err
    assert outcomes(archive) == {"trial/off": [1, 2]} and trial.is_sound()


def test_nothing_is_measured_behind_a_tear_down_that_fails(imb: Imb, archive: Archive, trial: Trial) -> None:
    trial.write(teardown="test -e $FAKE_LOG.idle || { echo 'module is in use'; exit 3; }")
    said = imb("campaign", trial.file)
    assert said.code == 1 and said.err.splitlines()[-1].startswith("imb: teardown of trial/on failed")
    assert "module is in use" in said.err
    before = trial.events()
    assert before.rstrip().endswith(">")
    said = imb("campaign", trial.file, "--resume")
    assert (
        said.code == 1
        and "is still set up from an earlier run" in said.err
        and trial.events() == before + ">\n"
    )
    (trial.log.parent / "log.idle").touch()
    said = imb("campaign", trial.file, "--resume")
    assert said.code == 0 and outcomes(archive) == ALL and trial.is_sound()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda n: n.name)
@pytest.mark.slow
def test_a_stopped_campaign_goes_on(imb: Imb, archive: Archive, trial: Trial, number: signal.Signals) -> None:
    trial.hold.touch()
    process = trial.start()
    wait_for(lambda: "on" in trial.events().split())
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    if number != signal.SIGKILL:
        assert process.returncode == 130 and "--resume" in err
        assert trial.is_sound()
    trial.hold.unlink(missing_ok=True)
    said = imb("campaign", "--resume")
    assert said.code == 0, said.err
    assert outcomes(archive) == ALL and trial.is_sound()
    assert not list(archive.folder.glob("sessions/*/standing.json"))
    # What was cut off is kept, but is no launch of the campaign.
    assert len(archive.ids()) == 5 and sum(bool(tags.labels) for tags in archive.tags().values()) == 4


@pytest.mark.slow
def test_ctrl_c_during_a_set_up_tears_down(archive: Archive, trial: Trial) -> None:
    trial.write(setup="sleep 60", teardown="sleep 0.5; echo ended >> $FAKE_LOG.ended")
    process = trial.start()
    wait_for(lambda: "<" in trial.events())
    process.send_signal(signal.SIGINT)
    wait_for(lambda: ">" in trial.events())
    process.send_signal(signal.SIGINT)  # the teardown is not to be cut short
    process.communicate(timeout=30)
    assert process.returncode == 130 and trial.is_sound()
    assert (trial.log.parent / "log.ended").exists()
    assert not list(archive.folder.glob("sessions/*/standing.json"))


@pytest.mark.slow
def test_a_running_campaign_is_left_alone(imb: Imb, archive: Archive, trial: Trial) -> None:
    trial.hold.touch()
    process = trial.start()
    wait_for(lambda: "on" in trial.events().split())
    before = trial.events()
    said = imb("campaign", "--resume")
    assert said.code == 2 and f"is being executed by process {process.pid}" in said.err
    assert trial.events() == before
    trial.hold.unlink()
    process.communicate(timeout=30)
    assert process.returncode == 0 and outcomes(archive) == ALL


def test_a_file_that_has_changed_is_not_resumed(imb: Imb, trial: Trial) -> None:
    assert imb("campaign", trial.file).code == 0
    trial.write(launches=3)
    said = imb("campaign", trial.file, "--resume")
    assert said.code == 2 and "has changed since session" in said.err


def test_a_real_campaign_can_be_compared(mpi: lab.Mpi, imb: Imb, tmp_path: Path) -> None:
    file = tmp_path / "real.toml"
    file.write_text(
        f"{BENCHMARKS}launches = 2\nprecision = '100%'\nlaunch_budget = 5\narguments = '-msglog 2'\n"
        f"[common]\nmpi = '{mpi.wrapper}'\nprograms = '{mpi.build / 'bin'}'\n"
        "[variants.free]\n[variants.pinned]\ncpus = [0, 1]\n"
    )
    said = imb("campaign", file)
    assert said.code == 0, said.err
    assert len(re.findall(r"(?m)^[0-9a-f]{10}  launch ", said.out)) == 4
    assert ", real/pinned, 2 ranks, IMB-MPI1, round 2: 4 rows in " in said.out
    assert said.out.endswith("next: `imb compare real/free real/pinned`\n")
    said = imb("compare", "real/free", "real/pinned")
    assert said.code in (0, 10, 11, 12) and "PingPong" in said.out


# --- Jobs ----------------------------------------------------------------------------------------------


@pytest.fixture
def psij_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("psij")
    monkeypatch.setenv("HOME", str(tmp_path))  # PSI/J keeps files there


@pytest.mark.slow
@pytest.mark.usefixtures("psij_home")
def test_a_campaign_as_a_local_job(imb: Imb, archive: Archive, trial: Trial) -> None:
    said = imb("campaign", trial.file, "--submit", "local")
    assert said.code == 0, said.err
    assert said.out.startswith("local job ") and said.out.count("trial/on, 2 ranks") == 2
    assert outcomes(archive) == ALL and trial.is_sound()


@pytest.mark.slow
@pytest.mark.usefixtures("psij_home")
def test_a_campaign_per_pair_of_hosts(imb: Imb, archive: Archive, trial: Trial) -> None:
    trial.write(launches=1, more='host_pairs = ["n1", "n2", "n3"]')
    said = imb("campaign", trial.file, "--submit", "local")
    assert said.code == 0 and said.out.count("local job ") == 3, said.err
    pairs = ("n1-n2", "n1-n3", "n2-n3")
    assert set(outcomes(archive)) == {
        f"trial/{pair}/{variant}" for pair in pairs for variant in ("off", "on")
    }
    hosts = {"-".join(archive.run(name).facts()["intent"]["hosts"]) for name in archive.ids()}
    assert hosts == set(pairs)


@pytest.mark.parametrize(
    ("key", "words", "says"),
    [
        ('host_pairs = ["a", "b"]', [], "host_pairs needs a job; add --submit"),
        ("jobs = 2", ["--submit", "local"], "a local job has no time limit"),
        ('host_pairs = ["a"]', ["--submit", "local"], "host_pairs a: give two or more hosts"),
        ('host_pairs = ["a:a"]', ["--submit", "local"], "host_pairs a:a: give two or more hosts"),
        ('host_pairs = ["a", "b c"]', ["--submit", "local"], "'trial/a-b c' becomes part of a label"),
    ],
)
def test_mistakes_of_jobs(
    imb: Imb, archive: Archive, trial: Trial, key: str, words: list[str], says: str
) -> None:
    trial.write(more=key)
    said = imb("campaign", trial.file, *words)
    assert said.code == 2 and says in said.err and len(said.err.splitlines()) == 1, said.err
    assert not archive.folder.exists() or not list(archive.folder.glob("sessions/*"))


# --- Time limit of launches ------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["option", "file"])
@pytest.mark.slow
def test_a_variant_that_hangs_does_not_stop_the_rest(
    imb: Imb, archive: Archive, trial: Trial, given: str
) -> None:
    trial.write(more="launch_budget = 0.1\n" + ("timeout = 0.5\n" if given == "file" else "timeout = 60\n"))
    trial.hold.with_name("hold-off").touch()
    said = imb("campaign", trial.file, *(["--timeout", "0.5"] if given == "option" else []))
    assert said.code == 1 and outcomes(archive) == {"trial/on": [1, 2]} and trial.is_sound()
    killed = [line for line in said.out.splitlines() if "trial/off" in line]
    assert len(killed) == 2
    assert all("killed after 0.5 s (--timeout); if it did not hang, give a longer" in line for line in killed)
    (advised,) = re.findall(
        r"^imb: 2 of 4 launches incomplete; see `imb (show \w+)`$", said.err, re.MULTILINE
    )
    assert imb(*advised.split()).code == 0


@pytest.mark.parametrize("command", [["campaign", "--resume"], ["run", "--resume"]])
@pytest.mark.slow
def test_a_hanging_campaign_without_a_limit_goes_on_with_one(
    imb: Imb, archive: Archive, trial: Trial, command: list[str]
) -> None:
    trial.write(more="launch_budget = 0.1\n")
    trial.hold.with_name("hold-off").touch()
    process = trial.start()
    wait_for(lambda: "off" in trial.events().split())
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    short = imb(*command, "--timeout", "0.1")
    assert short.code == 2 and "--timeout 0.1: launches of session" in short.err
    assert short.err.endswith(" measure for 0.1 s; give a longer limit\n")
    said = imb(*command, "--timeout", "0.5")
    assert said.code == 1 and outcomes(archive) == {"trial/on": [1, 2]}, said
    assert said.out.count("killed after 0.5 s (--timeout)") == 2


@pytest.mark.slow
def test_a_launch_without_a_new_row_reports_its_time_limit(
    imb: Imb, trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("imb.runner.progress.QUIET", 0.2)
    trial.write(launches=1, more="launch_budget = 0.1\n")
    trial.hold.touch()
    said = imb("campaign", trial.file, "--timeout", "0.5")
    assert "no new row for 0.2 s: no record was written yet; it is killed after 0.5 s (--timeout)" in said.err
    made = limit_in_words(None, None, "20261126T000000Z-0a1b2c")
    assert limit_in_words(None, 600, "x") == "it is killed after 600 s without one, unless --timeout is given"
    assert made.endswith("continue with `imb run --resume 20261126T000000Z-0a1b2c --timeout SECONDS`")


def test_a_launch_that_cannot_be_started_does_not_stop_the_rest(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, lost, _, programs = fake_mpi.make(tmp_path / "lost")
    _, mpi, _, _ = fake_mpi.make(tmp_path / "mpi")
    file = tmp_path / "t.toml"
    file.write_text(
        f"{BENCHMARKS}launches = 2\nseed = 1\n[common]\nprograms = '{programs}'\n"
        f"[variants.a]\nmpi = '{mpi}'\n[variants.b]\nmpi = '{lost}'\nsetup = 'rm -f {lost}/bin/mpiexec'\n"
    )
    said = imb("campaign", file)
    assert said.code == 1 and outcomes(archive) == {"t/a": [1, 2]}, said
    refusal = f"t/b, 2 ranks: cannot start {lost}/bin/mpiexec: no such program; check the PATH; skipped, also"
    assert said.err.count(refusal) == 1
    assert re.search(r"imb: 2 launches skipped; retry with `imb run --resume \S+`", said.err)
    again = imb("run", "--resume")  # nothing else is left
    assert again.code == 1 and "cannot start" in again.err and outcomes(archive) == {"t/a": [1, 2]}


# --- ab ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("b", "verdict", "code"), [(2, "slower", 10), (1, "same", 0)])
def test_ab_judges_what_it_has_measured(
    imb: Imb, archive: Archive, tmp_path: Path, b: int, verdict: str, code: int
) -> None:
    options = fake_mpi.make(tmp_path / "mpi")
    words = [
        "--a",
        "FAKE_TIME=1",
        "--b",
        f"FAKE_TIME={b}",
        *options,
        "--launches",
        6,
        "--seed",
        1,
        "--name",
        "t",
        "--format",
        "json",
    ]
    said = imb("ab", *words, "--", "PingPong")
    assert said.code == code, said.err
    found = json.loads(said.out)
    assert (found["verdict"], found["launches_a"], found["launches_b"], found["pairs"]) == (
        verdict,
        6,
        6,
        True,
    )
    assert set(outcomes(archive)) == {"t/a", "t/b"}
    shown = imb("compare", "t/a", "t/b")
    assert shown.code == code and "PingPong" in shown.out


@pytest.mark.parametrize(
    ("name", "ignored"), [("MPIR_CVAR_NOLOCAL", True), ("I_MPI_FABRICS", True), ("OMPI_MCA_btl", False)]
)
def test_ab_warns_of_variables_of_another_mpi(imb: Imb, tmp_path: Path, name: str, ignored: bool) -> None:
    options = fake_mpi.make(tmp_path / "mpi")  # an Open MPI
    said = imb("ab", "--a", "", "--b", f"{name}=1", *options, "--launches", 1, "PingPong")
    text = f"imb: warning: variant b: Open MPI 5.0.9 ignores {name}; choose the MPI by --mpi"
    assert (text in said.err) == ignored, said.err


def test_variants_of_the_same_settings_are_named_before_they_are_launched(imb: Imb, tmp_path: Path) -> None:
    """Whatever the words: an A/A test is measured as any other."""
    options = fake_mpi.make(tmp_path / "mpi")
    text = "imb: warning: variants a and b have the same settings: differences between them are noise (an A/A test)"
    for a, b, equal in (
        ("", "", True),
        (f"mpi={options[1]}", "", True),
        ("A=1 bind=core", "bind=core A=1", True),
        ("arguments='-iter 5'", "", False),
        ("A=1", "A=2", False),
    ):
        said = imb("ab", "--a", a, "--b", b, *options, "--launches", 1, "PingPong")
        first = said.err.splitlines()[0]
        assert said.code == 11 and (first == text if equal else "the same settings" not in said.err), said.err
    said = imb("ab", "--a-cvar", "x=1", "--b-cvar", "x=1", *options, "--launches", 1, "PingPong")
    assert said.err.splitlines()[0] == text
    file = tmp_path / "t.toml"
    file.write_text(
        f'benchmarks = ["PingPong"]\ncommon = {{ mpi = "{options[1]}", programs = "{options[3]}" }}\n'
        "[variants]\nx = {}\ny = {}\nz = { env = { A = 1 } }\n"
    )
    said = imb("campaign", file, "--dry-run")
    assert said.code == 0 and text.replace("a and b", "x and y") in said.err, said.err


def test_ab_on_a_terminal(imb: Imb, tmp_path: Path) -> None:
    said = imb(
        "ab", "--a", "FAKE_TIME=2", "--b", "FAKE_TIME=1 bind=core", "--both", "A=1", *fake_mpi.make(tmp_path / "mpi"),
        "--launches", 6, "PingPong", "--", "-msglog", "3",
    )  # fmt: skip
    assert (
        said.code == 0
        and "FAKE_TIME=1 (B) is faster than FAKE_TIME=2 (A) in 1 band (" in said.out
        and "judged in pairs" in said.out
    )
    commands = " ".join(said.err.replace("\\\n", "").split())  # folded to the width of the terminal
    assert all(part in commands for part in ("-x A=1", "PingPong -npmin 2 -msglog 3", "--bind-to core"))


def test_ab_of_two_rules_of_starting_judges_nothing(imb: Imb, tmp_path: Path) -> None:
    """As with two widths of arrivals; of one width it does."""
    widths = {"a": "last:50", "b": "last:500", "c": "last:50"}
    for name, arrival in widths.items():
        fake_mpi.make(tmp_path / name)
        (tmp_path / name / "bin" / "records-2").write_bytes(fake_mpi.records(77.0, arrival=arrival))
    variants = {name: f"mpi={tmp_path / name} programs={tmp_path / name / 'bin'}" for name in widths}
    # The times of the stand-in have noise, in which one of twenty comparisons sees a difference.
    for other, codes, says in (("b", {2}, "by different rules"), ("c", {0, Status.DIFFERS}, "")):
        said = imb("ab", "--a", variants["a"], "--b", variants[other], "--launches", 6, "PingPong")
        assert said.code in codes and says in said.err, said.err


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["PingPong"], None),
        (["--classic", "PingPong"], "classic rows need segments"),
        (["--both", "launcher=srun", "PingPong"], "steps of srun share no CPUs"),
        (["--both", "memory=cuda", "PingPong"], "a GPU may allow one process"),
        (["S_write_indv"], "files are in one folder"),
    ],
)
def test_ab_interleaves_what_can_run_side_by_side(more: list[str], reason: str | None) -> None:
    """Whether it does, and why not, is known from the campaign alone."""
    names: list[str | list[str]] = [word for word in more if word[0] in "PS"]
    both = campaign_definition.parse_variant(more[more.index("--both") + 1] if "--both" in more else "")
    made = campaign_definition.Campaign(
        name="t", benchmarks=names, classic="--classic" in more, common=both,
        variants={"a": campaign_definition.VariantSettings(), "b": campaign_definition.VariantSettings()},
    )  # fmt: skip
    found = campaign_definition.interleaving_obstacle(made)
    assert reason in found if reason and found else (found is None) == (reason is None)


def test_mistakes_of_ab(imb: Imb, tmp_path: Path) -> None:
    options = fake_mpi.make(tmp_path / "mpi")
    for words, says in (
        (["--a", "A", "--b", ""], "give NAME=VALUE"),
        (["--a", "bind=core", "--b", "", "--both", "cpus=0"], "cpus and bind cannot be combined"),
        (["--a", "", "--b", "", "--name", "a b"], "becomes part of a label"),
        (["--a", "", "--b", "", "PingPongg"], "did you mean PingPong?"),
        (["--a", "", "--b", "", "--budget", "9"], "--budget limits the session and needs --until-decided"),
        (["--a", "", "--b", "", "--until-decided", "--launches", "3"], "3 is too few"),
        (
            ["--a", "", "--b", "", "--until-decided", "--metric", "tim"],
            "unknown metric: tim; choose from time,",
        ),
        (["--a", ""], "--b"),
    ):
        said = imb("ab", *options, *words)
        assert said.code == 2 and says in said.err and len(said.err.splitlines()) == 1, said.err


# --- Until decided -------------------------------------------------------------------------------------


def until_decided(imb: Imb, folder: Path, *words: object, b: int = 1) -> Said:
    return imb(
        "ab", "--a", "FAKE_TIME=1", "--b", f"FAKE_TIME={b}", *fake_mpi.make(folder), "--name", "t", "--seed", 1,
        "--until-decided", "--format", "json", *words, "--", "PingPong",
    )  # fmt: skip


@pytest.mark.parametrize(("b", "verdict", "code"), [(2, "slower", 10), (1, "same", 0)])
@pytest.mark.slow
def test_ab_stops_when_decided(
    imb: Imb, archive: Archive, tmp_path: Path, b: int, verdict: str, code: int
) -> None:
    said = until_decided(imb, tmp_path / "mpi", b=b)
    assert said.code == code, said.err
    assert "40 of 40 launches to run at most" in said.err
    assert said.err.splitlines()[-1] == "stopped after 5 rounds: 1 of 1 band decided"
    found = json.loads(said.out)
    assert (found["verdict"], found["launches_a"]) == (verdict, 5)
    assert found["sequential"] == {
        "method": "alpha spending, shares 1/round",
        "rounds": 5,
        "looks": 1,
        "first": 5,
        "most": 20,
        "share": pytest.approx(1 / 5 / sum(1 / n for n in range(5, 21))),
        "stopped": "decided",
    }
    assert outcomes(archive) == {"t/a": [1, 2, 3, 4, 5], "t/b": [1, 2, 3, 4, 5]}
    facts = archive.run(archive.ids()[0]).facts()
    assert facts["until_decided"] == {"first": 5, "most": 20}
    shown = json.loads(imb("compare", "t/a", "t/b", "--format", "json").out)
    assert shown["sequential"] == found["sequential"] | {"stopped": None}
    assert shown["bands"] == found["bands"] and shown["rows"] == found["rows"]
    again = imb("run", "--resume")
    assert again.code == code and json.loads(again.out) == found
    assert again.err.splitlines()[-1] == "stopped after 5 rounds: 1 of 1 band decided"


def test_ab_stops_when_launches_are_spent(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    said = until_decided(imb, tmp_path / "mpi", "--launches", 7, "--relevant", "0.01%")
    assert said.code == 11, said.err
    lines = [line for line in said.err.splitlines() if "decided" in line]
    assert lines == [
        "round 5: 0 of 1 band decided",
        "round 6: 0 of 1 band decided",
        "stopped after 7 rounds, launches spent: 0 of 1 band decided",
    ]
    assert json.loads(said.out)["sequential"]["stopped"] == "launches spent"
    assert len(outcomes(archive)["t/a"]) == 7


def test_ab_stops_when_the_budget_is_spent(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    said = until_decided(imb, tmp_path / "mpi", "--budget", 0.01, "--relevant", "0.01%")
    assert said.code == 11, said.err
    assert (
        "after 1 round, budget spent (another round would exceed 0.01 s): first look after round 5"
        in said.err
    )
    found = json.loads(said.out)
    assert (found["sequential"]["stopped"], found["sequential"]["looks"]) == ("budget spent", 0)
    assert found["bands"][0]["effect"]["low"] is None
    assert len(outcomes(archive)["t/a"]) == 1
    again = imb("run", "--resume")
    assert "budget spent" in again.err and len(archive.ids()) == 2


def test_nothing_to_compare_ends_it(imb: Imb, archive: Archive, trial: Trial) -> None:
    trial.write(setup="exit 7", more="until_decided = true", launches=8)
    said = imb("campaign", trial.file)
    assert said.code == 1
    assert "stopped after 5 rounds, nothing to compare: no results in trial/on" in said.err
    assert outcomes(archive) == {"trial/off": [1, 2, 3, 4, 5]}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda n: n.name)
@pytest.mark.slow
def test_a_stopped_campaign_until_decided_goes_on(
    imb: Imb, archive: Archive, trial: Trial, number: signal.Signals
) -> None:
    trial.write(more="until_decided = true\nbudget = 60", launches=9)
    trial.hold.touch()
    process = trial.start()
    wait_for(lambda: "on" in trial.events().split())
    process.send_signal(number)
    process.communicate(timeout=30)
    trial.hold.unlink()
    said = imb("campaign", trial.file, "--resume")
    assert said.code == 0, said.err
    assert said.err.splitlines()[-1] == "stopped after 5 rounds: 1 of 1 band decided"
    assert trial.is_sound()
    assert {label: turns for label, turns in outcomes(archive).items() if label} == {
        "trial/off": [1, 2, 3, 4, 5],
        "trial/on": [1, 2, 3, 4, 5],
    }
    assert "5 rounds of at most 9" in imb("compare", "trial/off", "trial/on").out


def test_every_variant_is_held_against_the_first(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    _, mpi, _, programs = fake_mpi.make(tmp_path / "mpi")
    file = tmp_path / "three.toml"
    file.write_text(
        f"{BENCHMARKS}until_decided = true\nlaunches = 6\n[common]\nmpi = '{mpi}'\nprograms = '{programs}'\n"
        "[variants.x]\n[variants.y]\nenv = { FAKE_TIME = 2 }\n[variants.z]\n"
    )
    assert "18 launches at most" in imb("campaign", file, "--dry-run").err
    assert "3 is too few" in imb("campaign", file, "--launches", 3).err
    said = imb("campaign", file)
    assert said.code == 0 and said.err.splitlines()[-1] == "stopped after 5 rounds: 2 of 2 bands decided"


def wait_for(what: Callable[[], Any], seconds: float = 30) -> Any:
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.02)
    return found
