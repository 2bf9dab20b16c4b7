"""imb on clusters: jobs and steps of a real Slurm, launches over two hosts, two hosts writing into one archive."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import lab
import pytest
from companion import cluster, fake_mpi
from companion.cluster import Hosts, hosts, slurm, until
from companion.door import Imb, Said
from imb.model.observations import launches_of
from imb.model.records import Result, Run
from imb.mpi.installations import mpi_of
from imb.store.store import Archive, StoredRun

REFERENCES = Path(__file__).parent.parent / "reference"
SHORT = ["--precision", "100%", "--launch-budget", "5", "--", "-msglog", "3", "-iter", "10"]
ACROSS = {key: [word for name, value in env.items() for word in ("--env", f"{name}={value}")]
          for key, env in cluster.ACROSS.items()}  # fmt: skip


TWO_BY_TWO = ["--hosts", "h1,h2", "--ppn", "2"]


def across(mpi: lab.Mpi) -> list[str]:
    """Ranks of both hosts, which share the cores, over TCP by the wire between them."""
    idle = ["--env", "OMPI_MCA_mpi_yield_when_idle=1"] if mpi.flavor == "openmpi" else []
    return [*ACROSS[mpi.key], "--env", f"{cluster.DEVICE[mpi.key]}=eth0", *idle]


def with_(mpi: lab.Mpi) -> list[str]:
    return ["--mpi", mpi.wrapper, "--programs", str(mpi.build / "bin")]


def imb_at(begin: Sequence[str], words: Sequence[object], environment: dict[str, str] | None = None) -> Said:
    """imb as a process of its own: PSI/J's threads would outlive the scheduler, and hosts are entered by processes."""
    done = subprocess.run(
        [*begin, sys.executable, "-m", "imb", *map(str, words)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in done.stderr
    return Said(done.returncode, done.stdout, done.stderr)


def tuning_files(mpi: lab.Mpi, folder: Path, collectives: Sequence[str], ranks: int) -> Path:
    """Each collective has another algorithm at 64 bytes, and its default at 32 and 128."""
    from imb.tune.cells import Cell
    from imb.tune.tuner import tuner_of

    tuner = tuner_of(mpi_of(Path(mpi.wrapper)), hosts=2)
    wanted = {"Allreduce": ("ring",), "Bcast": ("knomial", "binomial")}
    choices = {}
    for collective in collectives:
        offered = {one.name: one for one in tuner.algorithms(collective)}
        name = next(name for name in wanted[collective] if name in offered)
        choices[Cell(collective, ranks, 64)] = offered[name]
    measured = [Cell(collective, ranks, length) for collective in collectives for length in (32, 64, 128)]
    tuner.write(choices, measured, folder, ["by a test"])
    return folder


def open_mpi() -> lab.Mpi:
    found = lab.ALL.get("openmpi")
    if found is None or not found.program().exists():
        lab.missing("Open MPI 5")
    return found


def assert_proven(said: Said) -> None:
    """A budget that does not suffice for the proof of gains, which comes after that of effect."""
    assert said.code == 11, said.err
    value = json.loads(said.out)
    assert value["verdict"].startswith("not decided: the budget of 1 s ends before the proof: "), value
    assert value["acts"] and value["unproven"] is None and not value["screened"], value


def stored(archive: Archive) -> list[StoredRun]:
    return sorted((archive.run(name) for name in archive.ids()), key=lambda run: run.facts()["started"])


# --- Slurm -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def slurm_conf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with slurm(tmp_path_factory.mktemp("slurm")) as conf:
        yield conf


@pytest.fixture
def scheduler(slurm_conf: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("psij")
    monkeypatch.setenv("SLURM_CONF", str(slurm_conf))
    monkeypatch.setenv("HOME", str(tmp_path))  # PSI/J keeps files there
    # MPICH's UCX cannot exchange addresses under Slurm: docs/known-mpi-issues.md.
    for name, value in cluster.ACROSS["mpich"].items():
        monkeypatch.setenv(name, value)


def job_of(said: Said) -> str:
    assert said.code == 0, said.err
    found = re.match(r"slurm job (\d+), session (\S+): ", said.out)
    assert found
    return found[1]


def about(job: str) -> dict[str, str]:
    said = subprocess.run(["scontrol", "show", "job", job], capture_output=True, text=True, check=True).stdout
    return dict(word.split("=", 1) for word in said.split() if "=" in word)


def ended(job: str) -> bool:
    return about(job)["JobState"] not in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING")


@pytest.mark.usefixtures("scheduler")
def test_a_batch_job_leaves_what_a_direct_run_leaves(mpi: lab.Mpi, imb: Imb, archive: Archive) -> None:
    words = ["run", "PingPong", *with_(mpi), "--np", "2", "--label", "x"]
    assert imb(*words, *SHORT).code == 0
    job = job_of(
        imb_at([], [*words, "--ppn", "1", "--submit", "slurm", "--minutes", "7", "--queue", "short", *SHORT])
    )
    until(lambda: ended(job))
    direct, batch = stored(archive)
    asked = about(job)
    assert (asked["NumNodes"], asked["NumTasks"], asked["NtasksPerN:B:S:C"][:1]) == ("2", "2", "1")
    assert (asked["TimeLimit"], asked["Partition"]) == ("00:07:00", "short")
    assert asked["JobName"] == f"imb-{batch.facts()['campaign']}"
    assert batch.manifest.files.keys() == direct.manifest.files.keys()
    assert batch.facts().keys() == direct.facts().keys()
    assert batch.facts()["outcome"] == "measured"
    rows = [
        [(r.benchmark, r.processes, r.bytes) for r in run.records().of(Result)] for run in (direct, batch)
    ]
    assert rows[0] == rows[1] and len(rows[0]) == 5
    assert batch.facts()["conditions"]["environment"]["SLURM_JOB_ID"] == job
    assert archive.tags()[batch.id].labels == ["x"]
    assert imb("archive", "verify").code == 0


@pytest.mark.usefixtures("scheduler")
@pytest.mark.slow
def test_ranks_are_counted_by_node_of_the_allocation(tmp_path: Path) -> None:
    """Four ranks on two nodes of two CPUs are not crowded, and stay bound."""
    options = fake_mpi.make(tmp_path / "mpi")  # Open MPI

    def spelled(np: int, *words: str) -> str:
        said = imb_at(
            ["salloc", "-Q", "-N2", "-n4"],
            ["run", "PingPong", *options, "--np", str(np), "--dry-run", *words],
        )
        assert said.code == 0, said.err
        return said.out

    assert "--oversubscribe" not in spelled(4)
    assert "--oversubscribe --bind-to none" in spelled(5)
    assert "--overcommit" in spelled(5, "--launcher", "srun")


@pytest.mark.usefixtures("scheduler")
def test_srun_launches(mpi: lab.Mpi, imb: Imb, archive: Archive) -> None:
    words = ["--launcher", "srun", "--ppn", "1", "--np", "2", "--env", "UCX_LOG_LEVEL=error"]
    said = imb("run", "PingPong", *with_(mpi), *words, *SHORT)
    assert said.code == 0 and "$ UCX_LOG_LEVEL=error srun " in said.err and ": 5 rows in " in said.out, (
        said.err
    )
    [run] = stored(archive)
    first: Run = next(run.records().of(Run))
    assert len(first.ranks or []) == 2 and (first.environment or {})["UCX_LOG_LEVEL"] == "error"


@pytest.mark.slice("startup")
@pytest.mark.usefixtures("scheduler")
def test_srun_starts_more_and_more_ranks(mpi: lab.Mpi, imb: Imb, archive: Archive) -> None:
    words = ["--launcher", "srun", "--ranks", "1,2", "--launches", "1", "--format", "json"]
    said = imb("startup", *with_(mpi), *words)
    assert said.code == 0, said.err
    assert all("srun" in archive.run(name).facts()["command"] for name in archive.ids())
    found = json.loads(said.out)["ranks"]
    assert [(one["ranks"], one["failed"]) for one in found] == [(1, 0), (2, 0)]
    assert all(0 < one["init"]["median"] < one["launch"]["median"] for one in found)


@pytest.mark.usefixtures("scheduler")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--queue", "nosuch"], "invalid partition"),
        (["--hosts", "n1,n9"], "Invalid node name"),
    ],
)
@pytest.mark.needs_mpi
def test_a_refused_job_is_one_line(words: list[str], says: str, archive: Archive) -> None:
    if not lab.MAIN:
        lab.missing("Open MPI or MPICH")
    said = imb_at([], ["run", "PingPong", *with_(lab.MAIN[0]), "--submit", "slurm", *words])
    assert said.code == 2 and len(said.err.splitlines()) == 1 and not archive.ids()
    assert said.err.startswith("imb: slurm rejected the job: ") and says in said.err


@pytest.mark.usefixtures("scheduler")
@pytest.mark.needs_mpi
def test_a_cancelled_job_leaves_its_runs_and_is_resumed(imb: Imb, archive: Archive) -> None:
    if not lab.MAIN:
        lab.missing("Open MPI or MPICH")
    pauses = ["-msglog", "12", "-iter", "100", "-iter_policy", "off", "-msg_pause", "on"]  # 1.4 s a launch
    words = ["run", "PingPong", *with_(lab.MAIN[0]), "--launches", "2", "--submit", "slurm", "--", *pauses]
    job = job_of(imb_at([], words))
    begun = "sessions/*/0002.part/records.jsonl"
    until(lambda: any(b'"result"' in file.read_bytes() for file in archive.folder.glob(begun)))
    subprocess.run(["scancel", job], check=True)
    until(lambda: ended(job))
    assert about(job)["JobState"] == "CANCELLED"
    tried: list[Said] = []

    def resumed() -> bool:
        tried.append(imb("run", "--resume"))
        return "is being executed" not in tried[-1].err  # by the job, which has some seconds to end

    until(resumed)
    assert tried[-1].code == 0, tried[-1].err
    facts = [run.facts() for run in stored(archive)]
    assert sorted((f["turn"], f["outcome"]) for f in facts) == [
        (1, "measured"),
        (2, "interrupted"),
        (2, "measured"),
    ]
    cut = next(run for run in stored(archive) if run.facts()["outcome"] == "interrupted")
    assert list(cut.records().of(Result))


def campaign_file(folder: Path, mpi: lab.Mpi, more: str = "", common: str = "") -> Path:
    file = folder / "trial.toml"
    file.write_text(
        f'benchmarks = ["PingPong"]\nlaunches = 2\n{more}\n[common]\nmpi = "{mpi.wrapper}"\nppn = 1\n{common}\n'
        f'programs = "{mpi.build / "bin"}"\n[variants.a]\nenv = {{ A = 1 }}\n[variants.b]\nenv = {{ A = 2 }}\n'
    )
    return file


def jobs_of(said: Said) -> list[str]:
    assert said.code == 0, said.err
    return re.findall(r"^slurm job (\d+), session \S+: /.*\.out$", said.out, re.MULTILINE)


@pytest.mark.usefixtures("scheduler")
@pytest.mark.needs_mpi
def test_a_campaign_over_an_allocation_resumes_in_the_next_one(
    imb: Imb, archive: Archive, tmp_path: Path
) -> None:
    """The first job of a chain is ended within its second launch; the other one does what is left."""
    if not lab.MAIN:
        lab.missing("Open MPI or MPICH")
    pauses = "-msglog 12 -iter 100 -iter_policy off -msg_pause on"  # 1.4 s a launch
    file = campaign_file(tmp_path, lab.MAIN[0], f'arguments = "{pauses}"\njobs = 2')
    first, second = jobs_of(imb_at([], ["campaign", file, "--submit", "slurm", "--minutes", "3"]))
    assert about(second)["Dependency"].startswith(f"afterany:{first}")
    until(
        lambda: any(
            b'"result"' in f.read_bytes() for f in archive.folder.glob("sessions/*/0002.part/records.jsonl")
        )
    )
    subprocess.run(["scancel", first], check=True)
    until(lambda: ended(first) and ended(second))
    assert (about(first)["JobState"], about(second)["JobState"]) == ("CANCELLED", "COMPLETED")
    facts = [run.facts() for run in stored(archive)]
    measured = sorted((f["variant"], f["turn"]) for f in facts if f["outcome"] == "measured")
    assert measured == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    assert len({f["session"] for f in facts}) == 1
    jobs = {f["conditions"]["environment"]["SLURM_JOB_ID"] for f in facts}
    assert jobs == {first, second}
    # Nothing is left: further jobs end at once.
    third, fourth = jobs_of(imb_at([], ["campaign", file, "--resume", "--submit", "slurm"]))
    until(lambda: ended(third) and ended(fourth))
    assert {about(job)["JobState"] for job in (third, fourth)} == {"COMPLETED"}
    assert len(archive.ids()) == len(facts)
    assert (archive.folder / "sessions" / facts[0]["session"] / "job-3.out").read_text() == ""


@pytest.mark.usefixtures("scheduler")
@pytest.mark.needs_mpi
def test_a_campaign_is_submitted_once_per_pair_of_hosts(archive: Archive, tmp_path: Path) -> None:
    if not lab.MAIN:
        lab.missing("Open MPI or MPICH")
    keys = f'host_pairs = ["n1:n2", "n2:n1"]\nlaunch_budget = 2\narguments = "{" ".join(SHORT[5:])}"'
    file = campaign_file(tmp_path, lab.MAIN[0], keys, 'launcher = "srun"')
    jobs = jobs_of(imb_at([], ["campaign", file, "--submit", "slurm"]))
    assert len(jobs) == 2
    until(lambda: all(map(ended, jobs)))
    facts = [run.facts() for run in stored(archive)]
    assert [f["outcome"] for f in facts] == ["measured"] * 8
    assert {tuple(f["intent"]["hosts"]) for f in facts} == {("n1", "n2"), ("n2", "n1")}
    labels = {label for tags in archive.tags().values() for label in tags.labels}
    assert labels == {f"trial/{pair}/{side}" for pair in ("n1-n2", "n2-n1") for side in "ab"}


@pytest.mark.needs_mpi
@pytest.mark.usefixtures("scheduler")
@pytest.mark.slice("tune")
def test_tuning_files_act_in_ranks_of_srun(imb: Imb, tmp_path: Path) -> None:
    """Not with MPICH, whose messages are counted in UCX, which fails under Slurm: docs/known-mpi-issues.md."""
    mpi = open_mpi()
    files = tuning_files(mpi, tmp_path / "files", ["Allreduce"], ranks=2)
    words = ["--launcher", "srun", "--ppn", "1", *with_(mpi)]
    assert_proven(imb("tune", "--verify", files, *words, "--budget", "1s", "--format", "json"))


# --- Two hosts -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with hosts(tmp_path_factory.mktemp("hosts")) as found:
        yield found


def test_run_over_two_hosts(two_hosts: Hosts, mpi: lab.Mpi, imb: Imb, archive: Archive) -> None:
    common = ["--hosts", "h1,h2", *with_(mpi), *ACROSS[mpi.key], "--timeout", "60"]
    here = two_hosts.on("h1", [])
    words = ["run", "PingPong", *common, "--ppn", "1", *SHORT]
    said = imb_at(here, words, two_hosts.environment())
    if mpi.key == "mpich" and ": 0 rows in " in said.out:  # docs/known-mpi-issues.md
        warnings.warn("MPICH did not start between two namespaces; launched again", stacklevel=1)
        assert imb("archive", "rm", said.out.split()[0]).code == 0
        said = imb_at(here, words, two_hosts.environment())
    assert said.code == 0 and ": 5 rows in " in said.out, said.out + said.err
    [run] = stored(archive)
    [launch] = launches_of(run.records(), run.id)
    assert launch.hosts() == ["h1", "h2"] and launch.placement() == "inter-node"
    assert run.facts()["conditions"]["machine"]["host"] == run.manifest.host == "h1"
    assert json.loads(imb("ls", "--format", "json").out)["nodes"] == "h1, h2"


@pytest.mark.slice("latency")
def test_latency_over_two_hosts(two_hosts: Hosts, mpi: lab.Mpi, archive: Archive) -> None:
    words = ["--hosts", "h1,h2", *with_(mpi), *ACROSS[mpi.key], "--timeout", "60"]
    few = ["--launches", "2", "--repetitions", "100"]
    said = imb_at(two_hosts.on("h1", []), ["latency", *words, *few], two_hosts.environment())
    assert said.code == 0, said.err
    line = re.fullmatch(r"([\d.]+) µs one way \(.* of 2 launches\); 1 byte, hosts h1,h2, .*\n", said.out)
    assert line and float(line[1]) > 2  # more than within a host, whatever the wire
    assert len(archive.ids()) == 2


def test_doctor_in_an_allocation_of_two_hosts(two_hosts: Hosts, mpi: lab.Mpi, tmp_path: Path) -> None:
    """The launcher places the two ranks on different hosts, so their messages have to pass an interface."""
    (tmp_path / "hosts").write_text("h1:1\nh2:1\n" if mpi.key == "mpich" else "h1 slots=1\nh2 slots=1\n")
    files = {name: str(tmp_path / "hosts") for name in ("HYDRA_HOST_FILE", "PRTE_MCA_prte_default_hostfile")}
    environment = {**two_hosts.environment(), **files, **cluster.ACROSS[mpi.key]}
    said = imb_at(two_hosts.on("h1", []), ["doctor", "--mpi", mpi.wrapper], environment)
    assert re.search(r"✓ .*: two ranks: one way .* between two hosts .*, long messages by eth0", said.out), (
        said
    )


def test_ranks_on_two_hosts_take_turns(two_hosts: Hosts, mpi: lab.Mpi, archive: Archive) -> None:
    """Those on the other host reach the conductor by its host's name."""
    both = " ".join(["hosts=h1,h2", "ppn=1", *ACROSS[mpi.key][1::2]])
    words = ["ab", "--a", "A=1", "--b", "A=2", "--both", both, *with_(mpi), "--launches", "3", "--segments", "4",
             "--timeout", "60", "PingPong", "--", "-msglog", "3", "-iter", "10"]  # fmt: skip
    said = imb_at(two_hosts.on("h1", []), words, two_hosts.environment())
    assert said.code in (0, 10, 11, 12) and "judged in pairs" in said.out, said.err
    launches = [launch for run in stored(archive) for launch in launches_of(run.records(), run.id)]
    assert len(launches) == 6 and {launch.placement() for launch in launches} == {"inter-node"}
    assert {launch.run.options["turns"] for launch in launches if launch.run.options} == {4}


def test_a_host_that_cannot_be_reached_is_told(two_hosts: Hosts, mpi: lab.Mpi, archive: Archive) -> None:
    words = ["run", "PingPong", "--hosts", "h1,nosuch", *with_(mpi), "--timeout", "20", *SHORT]
    said = imb_at(two_hosts.on("h1", []), words, two_hosts.environment())
    assert said.code == 1 and ": 0 rows in " in said.out and "nosuch" in said.out
    assert [run.facts()["outcome"] for run in stored(archive)] == ["failed"]


@pytest.mark.slice("tune")
def test_tuning_files_act_in_ranks_on_two_hosts(two_hosts: Hosts, mpi: lab.Mpi, tmp_path: Path) -> None:
    """With Open MPI the second file decides where HAN is left for `tuned`."""
    files = tuning_files(mpi, tmp_path / "files", ["Allreduce", "Bcast"], ranks=4)
    assert (files / "openmpi-han.conf").exists() == (mpi.key == "openmpi")
    words = ["--verify", files, *TWO_BY_TWO, *with_(mpi), *across(mpi), "--budget", "1s", "--format", "json"]
    assert_proven(imb_at(two_hosts.on("h1", []), ["tune", *words], two_hosts.environment()))


@pytest.mark.needs_mpi
@pytest.mark.slice("tune")
def test_a_search_on_two_hosts(two_hosts: Hosts, archive: Archive, tmp_path: Path) -> None:
    """Against HAN's choice. The budget has no time for a proof."""
    mpi = open_mpi()
    words = [
        "Bcast",
        "--np",
        "4",
        *TWO_BY_TWO,
        *with_(mpi),
        *across(mpi),
        "--margin",
        "1%",
        "--budget",
        "40s",
    ]
    words += ["--output", str(tmp_path / "out"), "--format", "json", "--", "-msgsize", "64"]
    said = imb_at(two_hosts.on("h1", []), ["tune", *words], two_hosts.environment())
    assert said.code in (0, 11), said.err
    value = json.loads(said.out)
    [cell] = value["cells"]
    assert cell["bytes"] == 64 and 1 <= cell["estimate"] < 100 and not value["file"]
    assert value["unproven"] is None and bool(value["acts"]) == (cell["tried"] != "default")
    labels = [label.rpartition("/")[2] for tags in archive.tags().values() for label in tags.labels]
    assert labels.count("reference") == 1 and labels.count("screen") >= 3 and labels.count("search") >= 1
    [launch] = launches_of(stored(archive)[-1].records(), "x")
    assert launch.hosts() == ["h1", "h2"]


@pytest.mark.needs_mpi
def test_two_hosts_write_into_one_archive(
    two_hosts: Hosts, imb: Imb, archive: Archive, tmp_path: Path
) -> None:
    """Both import the same logs and one that only they have, and launch, all at the same time."""
    if not lab.MAIN:
        lab.missing("Open MPI or MPICH")
    common = sorted(REFERENCES.glob("mpi1-*.txt"))

    def work(host: str) -> None:
        own = tmp_path / f"{host}.log"
        own.write_text(common[0].read_text() + f"# {host}\n")
        launch = ["run", "PingPong", *with_(lab.MAIN[0]), "--launches", "2", "--label", host, *SHORT]
        for words in (["import", *common, own], launch):
            # Each host has a cache of its own, as hosts have.
            said = imb_at(
                two_hosts.on(host, []),
                words,
                os.environ | {"XDG_CACHE_HOME": str(tmp_path / f"{host}.cache")},
            )
            assert said.code == 0, said.err

    with ThreadPoolExecutor() as pool:
        list(pool.map(work, ("h1", "h2")))
    listed: list[dict[str, Any]] = [
        json.loads(line) for line in imb("ls", "--all", "--format", "json").out.splitlines()
    ]
    launched = [run for run in listed if run["kind"] == "launch"]
    assert sorted(run["nodes"] for run in launched) == ["h1", "h1", "h2", "h2"]
    assert sorted(label for run in launched for label in run["labels"]) == ["h1", "h1", "h2", "h2"]
    imported = [Path(run["origin"]).name.partition(":")[0] for run in listed if run["kind"] == "import"]
    assert sorted(set(imported)) == sorted([*(log.name for log in common), "h1.log", "h2.log"])
    assert len(imported) == len(set(imported))  # what both brought is there once
    assert imb("archive", "verify").code == 0


@pytest.fixture(scope="module")
def two_wires(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Hosts with two interfaces each, eth0 and eth1."""
    with hosts(tmp_path_factory.mktemp("wires")) as found:
        cluster.second_wire(found)
        yield found


@pytest.mark.needs_mpi
@pytest.mark.slice("fabric")
def test_all_rails_of_two_hosts(two_wires: Hosts, imb: Imb) -> None:
    """A pair for each, whose bytes Open MPI divides among both; then one of them alone."""
    mpi = next(one for one in lab.MAIN if one.key == "openmpi")
    words = ["rails", "--hosts", "h1,h2", *with_(mpi), *ACROSS[mpi.key], "--launches", "1"]
    said = imb_at(two_wires.on("h1", []), words, two_wires.environment())
    assert said.code == 0, said.out + said.err
    first, heading, *rails = said.out.splitlines()
    found = re.match(r"h1 to h2: ([\d.]+ .B)/s, 2 pairs, Uniband 1 MiB, median of 1 launch, Open MPI", first)
    assert found, first
    assert heading.split() == ["rail", "share", "rate", "link", "of", "the", "link"]
    fields = [re.split(r"\s{2,}", line.strip()) for line in rails]
    assert [one[0] for one in fields] == ["eth0", "eth1"], fields

    def number(text: str) -> float:
        figure, unit = text.removesuffix("/s").split()
        return float(figure) * {"%": 1, "MB": 1e6, "GB": 1e9, "Gb": 1e9}[unit]

    shares = [number(one[1]) for one in fields]
    assert sum(shares) == pytest.approx(100, abs=1) and min(shares) > 25, said.out
    assert sum(number(one[2]) for one in fields) == pytest.approx(number(found[1]), rel=0.1)
    for _, _, rate, link, of_link in fields:
        assert number(of_link) == pytest.approx(100 * 8 * number(rate) / number(link), abs=1.5)
    alone = imb_at(
        two_wires.on("h1", []),
        [*words, "--env", f"{cluster.DEVICE['openmpi']}=eth1"],
        two_wires.environment(),
    )
    assert alone.code == 0, alone.out + alone.err
    assert "! eth0 carried less than half of an equal share; " in alone.out
    assert imb("rails", "--hosts", "h1", "--pairs", "2", *with_(mpi)).err == (
        "imb: rails are measured between two hosts, not 1; give --hosts A,B\n"
    )


@pytest.mark.parametrize("device", ["eth0", "eth1"])
def test_the_interface_that_carried_the_messages_is_named(
    two_wires: Hosts, mpi: lab.Mpi, imb: Imb, device: str
) -> None:
    """Also where the MPI was told to use another one than the usual."""
    choice = ["--env", f"{cluster.DEVICE[mpi.key]}={device}"]
    words = ["run", "PingPong", "--hosts", "h1,h2", "--ppn", "1", *with_(mpi), *ACROSS[mpi.key], *choice]
    more = [
        "--timeout",
        "60",
        "--label",
        "x",
        "--precision",
        "100%",
        "--launch-budget",
        "2",
        "--",
        "-msglog",
        "12:16",
    ]
    said = imb_at(two_wires.on("h1", []), [*words, *more], two_wires.environment())
    assert said.code == 0, said.out + said.err
    other = {"eth0": "eth1", "eth1": "eth0"}[device]
    shown = imb("show", "x")
    path = next(line for line in shown.out.splitlines() if line.startswith("path"))
    assert path.partition(" (")[0].split(maxsplit=1)[1] == f"between hosts: {device}", shown.out
    found = json.loads(imb("diagnose", "x", "--format", "json").out)
    [finding] = [one for one in found["findings"] if one["rule"] == "path"]
    assert f"{device}, not {other}" in finding["found"]
