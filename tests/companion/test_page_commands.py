"""Commands of README.md and the manual, run as they are written: on this machine, and on two hosts with ssh and Slurm."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import gpu
import lab
import pytest
from companion import cluster, short_launches
from companion.door import Imb, Said
from imb import registry
from imb.mpi import installations, suite_build
from imb.store.store import Archive

pytestmark = [
    pytest.mark.needs_mpi,
    pytest.mark.slow,
    pytest.mark.skipif(
        list(registry.SLICES)
        != re.findall(r'(?m)^    "(imb\.\w+)",$', (lab.TOP / "python" / "imb" / "registry.py").read_text()),
        reason="a slice is taken out; pages name its commands",
    ),
]

PAGES = ("README.md", *(f"docs/{name}.md" for name in (
    "getting-started", "clusters", "measuring", "comparing", "slow-nodes", "health", "tuning", "diagnosis", "cookbook", "coming-from-imb", "gpu",
)))  # fmt: skip
# Commands that do not run as they are written, and why.
NOT_RUN = {
    r"make run|git clone|source \.env": "downloads and builds; tests/test_drop_in.py",
    r"pip install": "downloads",
    r"reframe ": "tests/companion/test_reframe.py runs it",
    r"crontab ": "shows what cron has",
    r"imb (campaign|compare) (examples/)?xpmem[./]": "loads a kernel module",
    r"imb tune .*(--budget 1h|--verify)|\. tuned-openmpi/": "tunes for minutes; tests/companion/tune",
    r"imb health (--within|--list)|imb health --learn --strict --mpi \S+\s+# by cron": "needs sessions that are hours apart; tests/companion/health",
}
# What stands for what a reader has: {top} is a folder of the test.
STAND_INS = {
    r"/opt/openmpi(-\w+)?": "{top}/opt/openmpi",
    r"/var/lib/": "{top}/var/lib/",
    r"(?<=--launches )\d+": "1",
    r"(?<=check )(10|30)": "1",
    r"(?<= -budget )(2|30)\b": "0.5",
    r"--cpus 0,3": "--cpus 0,0",
    # fewer ranks than a cluster has
    r"(?<=-np |min )64": "2",
    r"--ppn 32": "--ppn 2",
    r"--nodes=64": "--nodes=2",
    r"-N 64": "-N 2",
    r"--ntasks-per-node=32": "--ntasks-per-node=1",
    r"node\[001-064\]": "node[1-2]",
    r"n\[01-20\]": "node1",
    # sessions of seconds
    r"--until-decided": "--until-decided --budget 1",
    r"imb (latency|rails) ": r"imb \1 --launches 1 ",
    # a fake driver (tests/fake_gpu)
    r"--memory cuda": "--programs {top}/gpu --memory cuda",
    r"-msglog 27": "-msglog 4",
}
# Commands in sentences that are whole; others there name a command or an option.
IN_A_SENTENCE = r"imb (rails|latency|query|export|import|diagnose) [^`…A-Z]+|imb query \"DESCRIBE \w+\"|imb (fabric|ab|watch) [^`]* (-- |> )[^`]+"
ON_A_CLUSTER = r"--hosts|--submit|imb fabric|salloc|^#!"
# Labels that the commands of a page find in the archive of its reader.
GIVEN = ("across", "before", "after", "after-update", "baseline", "nightly", "old-label")
# Exit statuses that are not 0 only: of verdicts, which short launches leave open, of warnings, of problems of other MPIs that are here.
STATUSES = {
    r"imb (ab|compare|watch|baseline check|fabric)\b": {0, 10, 11, 12},
    r"imb diagnose\b": {0, 1},
    r"imb doctor\b": {0, 2},
}


@dataclass(frozen=True)
class Command:
    page: str
    text: str  # with the lines on which it goes on

    @property
    def reason(self) -> str | None:
        """Why it is not run, or None."""
        return next((why for pattern, why in NOT_RUN.items() if re.match(pattern, self.text)), None)

    @property
    def on_a_cluster(self) -> bool:
        return bool(re.search(ON_A_CLUSTER, self.text))

    @property
    def words(self) -> list[str] | None:
        """Of a single command of imb; None if a shell has to run it."""
        tokens = list(shlex.shlex(self.text.replace("\\\n", " "), posix=True, punctuation_chars=True))
        alone = self.text.startswith("imb ") and not any(set(one) <= set("();<>|&") for one in tokens if one)
        return shlex.split(self.text, comments=True) if alone and "$" not in self.text else None

    @property
    def statuses(self) -> set[int]:
        return next((some for pattern, some in STATUSES.items() if re.search(pattern, self.text)), {0})

    def on(self, top: Path) -> Command:
        """With what stands in for what is not here."""
        text = self.text
        for pattern, value in STAND_INS.items():
            text = re.sub(pattern, value.format(top=top), text)
        return Command(self.page, text)


def commands_of(page: str) -> list[Command]:
    """Commands in blocks and sentences of a page, but those with recorded outputs (test_recordings.py); a script is one."""
    found = []
    whole = (lab.TOP / page).read_text()
    for recorded, _, language, text in re.findall(
        r"(?ms)^( *<!-- recording: [^\n]*\n)?( *)```(console|sh)\n(.*?)^\2```$", whole
    ):
        block = textwrap.dedent(text)
        if recorded:
            continue
        if language == "sh" and re.search(r"(?m)^(#!|case )", block):
            found.append(block)
        else:
            found += statements(block, prompt=language == "console")
    sentences = re.sub(r"(?ms)^ *```.*?^ *```$", "", whole).replace("\n", " ")
    found += [one for one in re.findall(r"`([^`]+)`", sentences) if re.fullmatch(IN_A_SENTENCE, one)]
    return [Command(page, one) for one in found]


def statements(block: str, *, prompt: bool) -> Iterator[str]:
    """Each with the lines on which it goes on; what commands print is left out."""
    begun = ""
    for line in block.splitlines():
        if not begun and prompt and not re.match(r"[$#] ", line):
            continue
        begun = f"{begun}\n{line}" if begun else line[2:] if prompt else line
        try:
            words = shlex.split(begun, comments=True)
        except ValueError:  # within quotes, or after a backslash
            continue
        if words:
            yield begun
        begun = ""


# `imb doctor` launches with every MPI of the machine: once is enough.
ALL = [
    command
    for page in PAGES
    for command in commands_of(page)
    if page == "README.md" or not command.text.startswith("imb doctor")
]


def test_every_reason_is_needed() -> None:
    """And every stand-in."""
    texts = [command.text for command in ALL]
    assert not [pattern for pattern in NOT_RUN if not any(re.match(pattern, text) for text in texts)]
    assert not [pattern for pattern in STAND_INS if not any(re.search(pattern, text) for text in texts)]


# --- This machine ----------------------------------------------------------------------------------------------------


@dataclass
class Reader:
    """Somebody with a home, a working folder that is a checkout, and the programs of the pages on the PATH."""

    top: Path
    environment: dict[str, str]

    @property
    def folder(self) -> Path:
        return self.top / "work"

    @property
    def archive(self) -> Archive:
        return Archive(self.top / ".local" / "share" / "openimb" / "archive")

    def shell(self, text: str, begin: Sequence[str] = ()) -> Said:
        done = subprocess.run(
            [*begin, "bash", "-c", f"cd {self.folder}\n{text}"],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Said(done.returncode, done.stdout, done.stderr)


def reader(top: Path, mpis: Sequence[lab.Mpi]) -> Reader:
    """With these MPIs on the PATH, the first one's programs, and `imb`, which has built for them and whose launches are short."""
    for folder in ("work", "bin", "opt", "var/lib/node_exporter", "patches"):
        (top / folder).mkdir(parents=True)
    short_launches.for_processes(top / "patches")
    short_examples(top / "work" / "examples")
    openmpi = next(mpi for mpi in mpis if mpi.flavor == "openmpi")
    (top / "opt" / "openmpi").symlink_to(Path(openmpi.wrapper).parent.parent)
    script(top / "bin" / "imb", f'exec {sys.executable} -m imb "$@"')
    # Few short messages, unless a line chooses its sizes; at most four ranks.
    script(
        top / "bin" / "mpirun",
        "case $* in *-msgsize*) more= ;; *) more='-msgsize 8 -iter 5' ;; esac\n"
        f'exec {shlex.join(mpis[0].launcher)} "$@" $more',
    )
    wrappers = [str(Path(mpi.wrapper).parent) for mpi in mpis]
    folders = [str(top / "bin"), *wrappers, str(mpis[0].build / "bin"), os.environ["PATH"]]
    environment = {
        **os.environ,
        "PATH": os.pathsep.join(folders),
        "HOME": str(top),
        "LD_PRELOAD": str(lab.interposed(mpis[0], "yielding_progress.cpp")),  # more ranks than cores
        "WAITING_RANKS_SLEEP": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "PYTHONPATH": os.pathsep.join([str(top / "patches"), str(lab.TOP / "python")]),
    }
    for name in ("IMB_ARCHIVE", "XDG_DATA_HOME"):
        environment.pop(name, None)
    for wrapper, mpi in [*((mpi.wrapper, mpi) for mpi in mpis), (f"{top}/opt/openmpi/bin/mpicxx", openmpi)]:
        programs = suite_build.build_folder(suite_build.build_key(installations.mpi_of(Path(wrapper))))
        programs.parent.parent.mkdir(parents=True, exist_ok=True)
        programs.parent.symlink_to(mpi.build)
    return Reader(top, environment)


def short_examples(folder: Path) -> None:
    """Campaigns with one launch of each variant, without compilers that build for minutes, and with programs for a GPU."""
    folder.mkdir()
    for file in (lab.TOP / "examples").glob("*.toml"):
        text = re.sub(r"(?m)^launches = \d+", "launches = 1", file.read_text())
        text = re.sub(r"(?m)^\[axes.mapping.2x1\]\n.*\n", "", text)
        text = re.sub(r"-msglog \d+", "-msgsize 8", text).replace('"mpi1"', '"Sendrecv"')
        text = re.sub(r'(?m)^compiler = "(.*)"', r'env = { COMPILER = "\1" }', text)
        text = (
            text.replace("[common]\n", f'[common]\nprograms = "{folder.parent.parent}/gpu"\nmpi = "mpich"\n')
            if "GPU" in text
            else text
        )
        (folder / file.name).write_text(text)


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def built(*keys: str) -> list[lab.Mpi]:
    mpis = {mpi.key: mpi for mpi in lab.MAIN if mpi.build.exists()}
    if not set(keys) <= set(mpis):
        lab.missing(f"the suite with {' and '.join(keys)}")
    return [mpis[key] for key in keys]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    """This process is patched and has the reader's environment."""
    found = reader(tmp_path / "reader", built("mpich", "openmpi"))
    for name in ("IMB_ARCHIVE", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in found.environment.items():
        monkeypatch.setenv(name, value)
    for module, attribute, short in short_launches.PATCHES:
        monkeypatch.setattr(module, attribute, short)
    monkeypatch.chdir(found.folder)
    return found


def fake_gpu(folder: Path) -> None:
    """Programs that find a driver (tests/fake_gpu), with an MPI that says it supports GPUs."""
    (mpi,) = built("mpich")
    place = gpu.built(mpi)
    folder.mkdir(exist_ok=True)
    settings = {
        **lab.COPIES_TWICE["mpich"],
        "LD_PRELOAD": place / gpu.GUARD,
        "LD_LIBRARY_PATH": place / "cuda",
    }
    words = " ".join(f"{name}={value}" for name, value in settings.items())
    for program in (mpi.build / "bin").glob("IMB-*"):
        script(folder / program.name, f'exec env {words} {program} "$@"')


def given(here: Reader, imb: Imb, page: str, commands: Sequence[Command]) -> None:
    """What the reader of a page has: earlier results, logs, files."""
    text = "\n".join(command.text for command in commands)
    if names := [name for name in GIVEN if re.search(rf"(?<![\w-]){name}(?![\w-])", text)]:
        labels = [word for name in names for word in ("--label", name)]
        assert imb("run", "PingPong", "Allreduce", *labels).code == 0
    if "memory cuda" in text:
        fake_gpu(here.top / ("gpu" if "--memory cuda" in text else "bin"))
    if "variants.txt" in text:
        (block,) = re.findall(r"(?ms)^```text\n(.*?)^```$", (lab.TOP / page).read_text())
        Path("variants.txt").write_text(block)
    log = (lab.TOP / "tests" / "reference" / "mpi1-np2.txt").read_text()
    days = {
        "logs/": (1,),
        "logs/old": (1, 2, 3, 4, 5),
        "logs/new": (6, 7, 8),
        "logs/nightly": range(1, 9),
        "results": (1,),
    }
    for folder, dates in days.items():
        if folder in text:
            (here.folder / folder).mkdir(parents=True, exist_ok=True)
            for day in dates:
                dated = re.sub(
                    r"(?m)^# Date +: .*", f"# Date                  : Mon Nov {day:2} 10:00:00 2025", log
                )
                name = "monday" if day == min(dates) else f"day{day}"
                (here.folder / folder / f"{name}.log").write_text(dated)


ON_ONE_HOST = [one for one in ALL if not one.reason and not one.on_a_cluster]


@pytest.mark.parametrize("page", list(dict.fromkeys(one.page for one in ON_ONE_HOST)))
def test_commands_of_a_page(page: str, imb: Imb, here: Reader) -> None:
    commands = [one for one in ON_ONE_HOST if one.page == page]
    given(here, imb, page, commands)
    for command in commands:
        run = next(iter(sorted(here.archive.ids())), "")
        now = command.on(here.top)
        now = Command(page, re.sub(r"\b(RUN|3fa9)\b", run[:10], now.text))
        said = imb(*now.words[1:]) if now.words else here.shell(now.text)
        assert said.code in now.statuses, (now.text, said)


# --- Two hosts -------------------------------------------------------------------------------------------------------


@pytest.fixture
def lab_of_pages(tmp_path: Path) -> Iterator[tuple[Reader, list[str]]]:
    """A reader on node1, whose shell begins with these words."""
    pytest.importorskip("psij")
    found = reader(tmp_path / "reader", built("openmpi"))
    for folder in ("hosts", "slurm"):
        (tmp_path / folder).mkdir()
    with (
        cluster.hosts(tmp_path / "hosts", ("node1", "node2")) as two,
        cluster.slurm(tmp_path / "slurm", on=two) as conf,
    ):
        shells = {name: value for name, value in two.environment().items() if os.environ.get(name) != value}
        across = {**cluster.ACROSS["openmpi"], cluster.DEVICE["openmpi"]: "eth0"}
        found.environment |= {**shells, **across, "SLURM_CONF": str(conf)}
        yield found, two.on("node1", [])


CAMPAIGN = """benchmarks = ["PingPong"]
launches = 1
[common]
ppn = 1
[variants.a]
[variants.b]
"""


def test_commands_on_a_cluster(lab_of_pages: tuple[Reader, list[str]]) -> None:
    """Those of all pages, with ssh between two hosts and in jobs of their Slurm. A script is submitted as its page says."""
    reader, begin = lab_of_pages
    (reader.folder / "campaign.toml").write_text(CAMPAIGN)
    (reader.folder / "topology.conf").write_text("SwitchName=leaf1 Nodes=node[1-2]\n")

    def jobs() -> list[str]:
        return reader.shell("squeue -h -o %T", begin).out.split()

    for command in [one.on(reader.top) for one in ALL if one.on_a_cluster and not one.reason]:
        text = command.text
        if text.startswith("#!"):
            name, submit = "job.sh", "sbatch job.sh"
            if once := re.search(r"(?m)^# Once: (.*)", text):
                name, submit = "health.sh", once[1]
            (reader.folder / name).write_text(text)
            text = submit
        said = reader.shell(text, begin)
        assert said.code in command.statuses, (text, said)
        if "health.sh" in text:  # submits itself again, for an hour later
            cluster.until(
                lambda: "Submitted" in reader.shell("cat health-node1.out").out, lambda: str(jobs())
            )
            reader.shell("scancel --user=root", begin)
        cluster.until(lambda: not jobs(), lambda: str(jobs()))
    runs = [reader.archive.run(name).facts() for name in reader.archive.ids()]
    assert {facts["outcome"] for facts in runs} == {"measured"}
    job = Archive(reader.folder / "imb-archive")
    labels = [label for tags in job.tags().values() for label in tags.labels]
    assert labels == ["acceptance"]
