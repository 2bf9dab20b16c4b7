#!/usr/bin/env python3
"""Execute the commands of blocks in README.md and docs/, and keep what they measured as docs/recordings/NAME.tar.xz.

    tools/record.py [NAME ...]    these recordings (all: none named), and write their blocks anew

`make docs-recordings` calls this, with the builds of `make` for MPICH and Open MPI. tools/recordings.py has what a block is. Recordings on
several hosts need root: the hosts are namespaces of this machine.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import lzma
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from unittest.mock import patch

from recordings import (
    AS_PRINTED,
    EVERY,
    FOLDER,
    TOP,
    Block,
    Step,
    all_blocks,
    chosen,
    give,
    render,
    write_shown,
)

WITH_SAMPLES = {"disturbed"}  # whose anomalies are seen in samples
# Recordings on eight hosts: for each command that measures, the rates that differ from the others'. All others with --hosts use two.
PORT, TRUNK = 100.0, 400.0  # Mbit/s
EIGHT_HOSTS: dict[str, list[dict[str, float]]] = {
    "slow-host": [{"h3": 90.0}],
    "slow-trunk": [{}, {"trunk": 100.0}],
}
INTERRUPTED = 4  # seconds until ^C


class Scratch:
    """A folder in which commands are executed as a user does, with a home, an archive, and the builds of `make`."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.work.mkdir()
        give(self.work)
        (folder / "bin").mkdir()
        (folder / "bin" / "imb").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m imb "$@"\n')
        (folder / "bin" / "imb").chmod(0o755)
        self.archive = self.work / "archive"
        self.cache = folder / "cache"
        self.environment = {
            **os.environ,
            "HOME": str(folder),
            "IMB_ARCHIVE": str(self.archive),
            "XDG_CACHE_HOME": str(self.cache),
            "PYTHONPATH": str(TOP / "python"),
            "NO_COLOR": "1",
            "IMB_MPI": str(_mpis()["mpich"]),
            # `mpirun` is MPICH's, and a word such as `openmpi` is the one that `make` built with, not the system's.
            "PATH": os.pathsep.join(
                [
                    f"{folder}/bin",
                    *(f"{prefix}/bin" for prefix in _mpis().values()),
                    f"{TOP}/build/mpich/bin",
                    os.environ["PATH"],
                ]
            ),
        }
        self._link_builds()

    def _link_builds(self) -> None:
        """The programs that `make` built are those of `imb build`."""
        from imb.mpi import installations, suite_build

        with patch.dict(os.environ, {"XDG_CACHE_HOME": str(self.cache)}):
            for key, prefix in _mpis().items():
                programs = TOP / "build" / key / "bin"
                if not suite_build.has_programs(programs, suite_build.all_components()):
                    sys.exit(f"not all programs are in {programs}; `make build MPI={key}` builds them")
                place = suite_build.build_folder(suite_build.build_key(installations.find(str(prefix))))
                place.parent.mkdir(parents=True)
                place.symlink_to(programs.resolve())

    def usual(self, text: bytes) -> bytes:
        """With paths of a usual machine."""
        environment = (TOP / os.environ.get("OPENIMB_ENV", ".env")).absolute()
        replaced = {
            self.work.parent: "/home/user",
            **{prefix: f"/opt/{key}" for key, prefix in _mpis().items()},
            (TOP / "build").resolve(): "/home/user/openimb/build",
            TOP: "/home/user/openimb",
            environment: "/home/user/openimb/.env",
        }
        for path, shown in replaced.items():
            text = text.replace(str(path).encode(), shown.encode())
        return text

    def printed(self, step: Step) -> list[str]:
        """What a command prints."""
        done = subprocess.run(
            ["bash", "-c", f"{step.command.partition('#')[0]} 2>&1"],
            cwd=self.work,
            env=self.environment,
            stdout=subprocess.PIPE,
        )
        return self.usual(done.stdout).decode().splitlines()

    def known(self) -> set[str]:
        """Sessions, and runs of no session."""
        from imb.store.store import Archive

        sessions = {path.parent.name for path in self.archive.glob("sessions/*/plan.json")}
        store = Archive(self.archive)
        return sessions | {run for run in store.ids() if not store.run(run).facts().get("session")}

    def execute(self, step: Step, on: Callable[[list[str]], list[str]] = list) -> list[str]:
        """The sessions, or the run, that it made. `on`: the words that execute a command where it belongs."""
        before = self.known()
        command = step.command
        if step.words[0] == "mpirun":
            if "-json" not in step.words:
                program = next(word for word in step.words if word.startswith("IMB-"))
                command = command.replace(program, f"{program} -json run.jsonl")
            if step.shown[:1] == ["^C"]:
                command = f"timeout --signal=INT {INTERRUPTED} {command}"
            command += "; imb import run.jsonl && rm run.jsonl"
        print(f"$ {step.command}", flush=True)
        words = on(["bash", "-c", f"cd {shlex.quote(str(self.work))} && {command}"])
        subprocess.run(words, env=self.environment, check=False)
        made = sorted(self.known() - before)
        if step.measures and not (made and all(map(self.is_measured, made))):
            sys.exit(f"not all was measured; nothing is recorded: {step.command}")
        return made

    def is_measured(self, name: str) -> bool:
        """Whether all launches of a session were; a run alone may be interrupted."""
        from imb.runner.session import finished_launches
        from imb.runner.stored_sessions import find_session
        from imb.store.store import Archive

        if not (self.archive / "sessions" / name).exists():
            return True
        plan = find_session(Archive(self.archive), name)
        over = finished_launches(Archive(self.archive), plan)
        return len(over) == len(plan.items) and all(one.outcome == "measured" for one in over.values())


@functools.cache
def _mpis() -> dict[str, Path]:
    """Those that `make` installed: name, folder."""
    folder = TOP / os.environ.get("OPENIMB_ENV", ".env")
    return {key: (folder / "mpi" / key).absolute() for key in ("mpich", "openmpi")}


def record(name: str, of_name: Sequence[Block]) -> None:
    """Executes the commands of these blocks and keeps what they measured."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="openimb-record-")))
        scratch = Scratch(folder)
        commands: dict[str, list[str]] = {}
        hosts = stack.enter_context(hosts_for(name, of_name, folder, scratch))
        done: set[str] = set()
        for step in (step for block in of_name for step in block.steps):
            if step.command in done:
                continue
            done.add(step.command)
            if step.command.endswith("&"):
                stack.enter_context(in_background(step.command.removesuffix("&"), scratch))
            elif step.words[0] == "cat":
                write_shown(step, scratch.work)
            elif step.measures and name in AS_PRINTED:
                commands[step.command] = scratch.printed(step)
            elif step.measures:
                commands[step.command] = scratch.execute(step, hosts(len(commands)))
            elif step.words[:2] == ["imb", "baseline"]:
                scratch.execute(step)
        if name in AS_PRINTED:
            shutil.rmtree(scratch.archive, ignore_errors=True)
        if commands:
            keep(name, scratch, commands, folder)


@contextlib.contextmanager
def in_background(command: str, scratch: Scratch) -> Iterator[None]:
    """Until the context ends."""
    process = subprocess.Popen(
        ["bash", "-c", command], cwd=scratch.work, env=scratch.environment, start_new_session=True
    )
    try:
        yield
    finally:  # also where a command after it was not measured
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


On = Callable[[list[str]], list[str]]  # from the words of a command to those that execute it where it belongs


@contextlib.contextmanager
def hosts_for(
    name: str, of_name: Sequence[Block], folder: Path, scratch: Scratch
) -> Iterator[Callable[[int], On]]:
    """What executes the command of this number of a recording: on this machine, or on the first of several hosts of Open MPI."""
    if not any("--hosts" in step.command for block in of_name for step in block.steps):
        yield lambda _: list
        return
    sys.path.insert(0, str(TOP / "tests"))
    from companion import cluster
    from companion.fabric.switched import switched

    network = folder / "network"
    network.mkdir()
    with contextlib.ExitStack() as stack:
        if name not in EIGHT_HOSTS:
            two = stack.enter_context(cluster.hosts(network))
            cluster.second_wire(two)
            scratch.environment |= {**two.environment(), **scratch.environment}
            yield lambda _: lambda words: two.on("h1", words)
            return
        net = stack.enter_context(switched(network))
        across = {**cluster.ACROSS["openmpi"], cluster.DEVICE["openmpi"]: "eth0"}
        more_ranks_than_cores = {"OMPI_MCA_mpi_yield_when_idle": "1"}
        scratch.environment |= {**net.environment(), **scratch.environment, **across, **more_ranks_than_cores}
        scratch.environment["IMB_MPI"] = str(_mpis()["openmpi"])

        def on(number: int) -> On:
            rates = EIGHT_HOSTS[name][number]
            for host in net.names:
                net.limit_host(host, rates.get(host, PORT))
            net.limit_trunk(rates.get("trunk", TRUNK))
            return lambda words: net.on("h1", words)

        yield on


def keep(name: str, scratch: Scratch, commands: Mapping[str, list[str]], folder: Path) -> None:
    """Packs the archive: records without samples and with figures of seven digits, and no output that they make again."""
    from imb.store.store import SHORT, Archive, Content

    old, new = Archive(scratch.archive), Archive(folder / "packed" / "archive")
    tags = old.tags()
    contents = []
    for run in old.ids():
        stored = old.run(run)
        parts = {part: scratch.usual(stored.part(part) or b"") for part in stored.manifest.files}
        records = parts.get("records.jsonl")
        if records and name not in WITH_SAMPLES:
            kept = (line for line in records.splitlines(True) if not line.startswith(b'{"record":"sample"'))
            records = b"".join(kept)
        records = records and re.sub(
            rb"\b\d{1,3}\.\d{7,}(?:e-?\d+)?", lambda one: b"%.7g" % float(one[0]), records
        )
        contents.append(
            Content(
                records=records,
                output=None if records else parts.get("output.txt"),
                stderr=parts.get("stderr.txt"),
                facts=json.loads(parts["facts.json"]) if "facts.json" in parts else {},
                labels=tags[run].labels if run in tags else (),
            )
        )
    ids = dict(zip(old.ids(), (added.id for added in new.add_many(contents)), strict=True))
    for path in scratch.archive.glob("sessions/*/*.json"):
        text = scratch.usual(path.read_bytes())
        for before, after in ids.items():
            for digits in (len(before), SHORT):
                text = text.replace(before[:digits].encode(), after[:digits].encode())
        target = new.folder / path.relative_to(scratch.archive)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text)
    named = {command: [ids.get(one, one) for one in made] for command, made in commands.items()}
    (folder / "packed" / "commands.json").write_text(json.dumps(named, indent=1, ensure_ascii=False) + "\n")
    FOLDER.mkdir(exist_ok=True)
    file = FOLDER / f"{name}.tar.xz"
    with (
        lzma.open(file, "wb", preset=9 | lzma.PRESET_EXTREME) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        for path in sorted((folder / "packed").rglob("*")):
            if path.is_file() and path.name != "lock":
                entry = tarfile.TarInfo(str(path.relative_to(folder / "packed")))
                entry.size, entry.mode, entry.mtime = path.stat().st_size, 0o600, int(time.time())
                with path.open("rb") as content:
                    tar.addfile(entry, content)
    print(f"{file.relative_to(TOP)}: {file.stat().st_size:,} bytes", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    named = all_blocks(EVERY)
    for name in chosen(parser.parse_args().names, list(named)):
        record(name, named[name])
        render(name)


if __name__ == "__main__":
    main()
