"""Builds command lines of launchers: of an MPI's own launcher, or of Slurm's, which starts programs of any MPI. Pure.

The arguments of an MPI's launcher are in its class in `imb.model.mpis`. Source for srun: its manual page.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from imb.model.errors import ImbError
from imb.model.intent import Intent
from imb.model.mpis import WITH_LAUNCHER, Host
from imb.model.secrecy import is_hidden, is_secret
from imb.model.suite import packaged_programs
from imb.mpi import arguments, prebuilt_programs
from imb.mpi.installations import Installation

_SRUN_BINDS = {"core": "cores", "socket": "sockets", "numa": "ldoms", "none": "none"}


class Command(msgspec.Struct, frozen=True):
    """A command: its words (program and arguments), and variables to set for it."""

    words: list[str]
    env: dict[str, str]

    def __str__(self) -> str:
        """The command as a user would type it in a shell."""
        return " ".join(
            [*(f"{name}={shlex.quote(value)}" for name, value in self.env.items()), shlex.join(self.words)]
        )


class Launcher(Protocol):
    def split_secrets(self, group: list[str]) -> tuple[list[str], dict[str, str]]:
        """Divides an option and its values (`group`): returns it without the values of secret variables, and these variables with their
        values."""

    def command(
        self, intent: Intent, secret: Mapping[str, str], program: Sequence[str], host: Host
    ) -> Command:
        """The command that launches `program`. Its environment passes the variables in `secret`."""


class Mpiexec:
    """The launcher of an MPI."""

    def __init__(self, mpi: Installation) -> None:
        """Raises ImbError if the MPI has no supported launcher."""
        if not mpi.product.has_launcher:
            titles = ", ".join(known.title for known in WITH_LAUNCHER)
            raise ImbError(
                f"{mpi.launcher} is an unsupported launcher ({mpi.version}); supported: {titles}, srun"
            )
        self.mpi = mpi

    def split_secrets(self, group: list[str]) -> tuple[list[str], dict[str, str]]:
        return self.mpi.product.split_secrets(group, is_secret)

    def command(
        self, intent: Intent, secret: Mapping[str, str], program: Sequence[str], host: Host
    ) -> Command:
        known = self.mpi.product
        restricting = next((word for word in intent.extra if word.lstrip("-") in known.restricting), None)
        if restricting and secret:
            raise ImbError(
                f"launcher argument {restricting}: {', '.join(secret)} may be secret and is passed by environment, which it"
                f" restricts; omit {restricting}"
            )
        variables = {name: None if name in secret else value for name, value in intent.env.items()}
        words = known.arguments(intent, variables, program, host, self.mpi.major)
        return Command([self.mpi.launcher, *words], {**self.mpi.env, **secret})


class Srun:
    """Slurm's launcher, for the programs of an MPI."""

    def __init__(self, mpi: Installation) -> None:
        self.mpi = mpi

    def split_secrets(self, group: list[str]) -> tuple[list[str], dict[str, str]]:
        if group[0] == "--export" and len(group) > 1:
            group = [f"--export={group[1]}", *group[2:]]
        if not group[0].startswith("--export="):
            return group, {}
        parts = [part.partition("=") for part in group[0].partition("=")[2].split(",")]
        secret = {name: value for name, equals, value in parts if equals and is_secret(name)}
        listed = (name if name in secret else name + equals + value for name, equals, value in parts)
        return [f"--export={','.join(listed)}", *group[1:]], secret

    def command(
        self, intent: Intent, secret: Mapping[str, str], program: Sequence[str], host: Host
    ) -> Command:
        words = ["srun", f"--mpi={self.mpi.product.srun_plugin}", "--kill-on-bad-exit=1"]
        words += ["-n", str(intent.ranks)]
        if intent.hosts:
            words += ["-N", str(len(intent.hosts)), "--nodelist=" + ",".join(intent.hosts)]
        if intent.ppn:
            words += [f"--ntasks-per-node={intent.ppn}"]
        if intent.per_host(host.nodes) > host.cores and (intent.hosts or host.nodes):
            words.append("--overcommit")
        if intent.cpus:
            words.append("--cpu-bind=map_cpu:" + ",".join(map(str, intent.cpus)))
        elif intent.bind:
            words.append(f"--cpu-bind={_SRUN_BINDS[intent.bind]}")
        # srun passes its environment on to ranks. --export is not used, since it cannot pass values with commas.
        prefix = (
            prebuilt_programs.prefix_variable(self.mpi)
            if Path(program[0]).parent == packaged_programs()
            else {}
        )
        return Command([*words, *intent.extra, *program], {**prefix, **self.mpi.env, **intent.env, **secret})


def launch_command(mpi: Installation, intent: Intent, program: Sequence[str], host: Host) -> Command:
    """The command that launches `program` according to `intent`. Only its environment contains values that may be secret.

    Raises ImbError if the launcher does not support the request.
    """
    if intent.cpus and intent.bind:
        raise ImbError("--cpus and --bind cannot be combined; --cpus pins each rank to one CPU")
    launcher: Launcher = Srun(mpi) if intent.launcher == "srun" else Mpiexec(mpi)
    shown: list[str] = []
    secret: dict[str, str] = {}
    for group in arguments.groups(intent.extra):
        words, values = launcher.split_secrets(group)
        shown += words
        secret |= values
    secret |= {name: value for name, value in intent.env.items() if is_hidden(name, value)}
    return launcher.command(msgspec.structs.replace(intent, extra=tuple(shown)), secret, program, host)
