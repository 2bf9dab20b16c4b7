"""An MPI whose collectives have algorithms of known speed, and its tuner: what `imb tune` does is known before.

Its launcher is a Python script. Without rules a call of n bytes takes 10 µs + n ns; an algorithm takes so many times as long:

    fast      half from 1024 bytes on, twice as long below
    slight    1 % less: not worth a line
    slow      twice as long
    chance    like lucky below 1024 bytes, else twice as long
    lucky     half in launches of a search, as long as the default in others: chance, as far as a proof is concerned
    wrong     delivers wrong data; crash: fails; hang: does not end; same: runs the default in its place

A launch reports what it executes to $FAKE_WATCH. With -alternate (`fake_algorithm=NAME`) each row is there for every variant. Noise of
1 % follows from the number of the launch.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import lab
from imb.model.errors import ImbError
from imb.tune.cells import DEFAULT, Algorithm, Cell, Choices, Switch
from imb.tune.tuner import Executed, Tuner, Watch

LENGTHS = (64, 1024, 16384)
NAMES = ("fast", "slight", "slow", "chance", "lucky", "wrong", "crash", "hang", "same")

_LAUNCHER = r"""#!{python} -IS
import json, os, random, sys, time
words = sys.argv[1:]
if words == ["--version"]:
    print("mpiexec (Open MPI) 5.0.9")
    sys.exit()
counter = {log!r} + ".count"
number_of_launch = 1 + (os.path.getsize(counter) if os.path.exists(counter) else 0)
if os.path.exists({log!r} + ".fails"):
    with open(counter, "a") as file:
        file.write(".")
    with open({log!r} + ".fails") as file:
        if eval(file.read(), {{"n": number_of_launch, "words": words}}):
            print("no slots left in the allocation", file=sys.stderr)
            sys.exit(1)
given = dict(word.split("=", 1) for word in words if word.startswith("FAKE_"))
if given.get("FAKE_WATCH") and given.get(given.get("FAKE_BREAKS", "")):
    sys.exit(9)
program = next(n for n, word in enumerate(words) if "IMB-MPI1" in word)
ranks = int(words[words.index("-n") + 1])
words = words[program + 1:]
if words == ["-version"]:
    sys.exit()
option = lambda name: words[words.index(name) + 1] if name in words else None
names = []
for word in words:
    if word.startswith("-"):
        break
    names.append(word)
records = option("-json")
with open({log!r}, "a") as log:
    print(json.dumps({{"names": names, "words": words, "given": given}}), file=log)
rules = {{}}
if given.get("FAKE_RULES"):
    with open(given["FAKE_RULES"]) as file:
        rules = {{(one[0], one[1], one[2]): one[3] for one in json.load(file)["rules"]}}
forced = given.get("FAKE_ALGORITHM", "default")
lengths = [int(one) for one in option("-msgsize").split(",")] if option("-msgsize") else {lengths!r}
variants = [("", forced)]
if option("-alternate"):
    with open(option("-alternate")) as file:
        variants = [(line.split()[0], (line.split("fake_algorithm=") + ["default\n"])[1].strip()) for line in file]
number = records.split("/")[-2].split(".")[0]
proof = "-turns" in words and "FAKE_ALGORITHM" not in given
def times(algorithm, length):
    return {{"fast": 0.5 if length >= 1024 else 2.0, "slight": 0.99, "slow": 2.0, "slower": 1.5,
             "lucky": 1.0 if proof else 0.5, "chance": 2.0 if length >= 1024 else 1.0 if proof else 0.5}}.get(algorithm, 1.0)
out = open(records, "w")
def write(**row):
    print(json.dumps(row), file=out, flush=True)
write(record="run", schema={schema!r}, component="MPI1", ranks=[{{"rank": n, "host": "here"}} for n in range(ranks)])
executed = []
defects = 0
for name in names:
    for length in lengths:
        for label, algorithm in variants:
            if name != "Sendrecv":
                algorithm = rules.get((name, ranks, length), algorithm)
            run = "default" if algorithm == "same" else algorithm
            if run == "crash":
                sys.exit(3)
            if run == "hang":
                time.sleep(60)
            noise = random.Random(f"{{number}} {{name}} {{length}} {{label}}").gauss(1, 0.01)
            seconds = (1e-5 + 1e-9 * length) * times(run if name != "Sendrecv" else "default", length) * noise
            wrong = 1 if run == "wrong" and "-check" in words else 0
            defects += wrong
            row = {{"variant": label}} if label else {{}}
            write(record="result", benchmark=name, multi="off", processes=ranks, group_count=1, bytes=length,
                  repetitions=10, time_min_seconds=seconds, time_max_seconds=seconds, time_avg_seconds=seconds,
                  **({{"defects": wrong}} if "-check" in words else {{}}), **row)
            if name != "Sendrecv":
                executed.append([name, ranks, length, run])
write(record="end", state="complete", measured=len(names) * len(lengths), failed=0, skipped=0, defects=defects, exit_status=4 if defects else 0)
out.close()
if given.get("FAKE_WATCH"):
    with open(given["FAKE_WATCH"] + "/executed.json", "w") as file:
        json.dump(executed, file)
sys.exit(4 if defects else 0)
"""


def make(folder: Path) -> list[object]:
    """The options --mpi and --programs of an MPI in this new folder. Its launches are listed in `log`."""
    (folder / "bin").mkdir(parents=True)
    text = _LAUNCHER.format(
        python=sys.executable, log=str(folder / "log"), lengths=list(LENGTHS), schema=_schema()
    )
    scripts = {"mpicxx": "#!/bin/sh\necho c++\n", "mpiexec": text, "IMB-MPI1": "#!/bin/sh\n"}
    for name, script in scripts.items():
        (folder / "bin" / name).write_text(script)
        (folder / "bin" / name).chmod(0o755)
    return ["--mpi", folder, "--programs", folder / "bin"]


def fail(folder: Path, launches: str) -> None:
    """Launches of this MPI fail where the expression is true of `n`, their number from now on, and their `words`."""
    (folder / "log.fails").write_text(launches)
    (folder / "log.count").unlink(missing_ok=True)


def launches(folder: Path) -> list[dict[str, Any]]:
    """What was launched, in order."""
    return [json.loads(line) for line in (folder / "log").read_text().splitlines()]


def _schema() -> str:
    line = (lab.TOP / "schema/examples/complete.jsonl").read_text().splitlines()[0]
    return str(json.loads(line)["schema"])


class FakeTuner(Tuner):
    """`names`: its algorithms. `switches`: whether they can change within a launch. `breaks`: launches with this variable fail while ranks
    are watched."""

    files = "list of rules"
    complaint = re.compile("refused: .*")

    def __init__(
        self, names: Sequence[str], *, switches: bool = False, watches: bool = True, breaks: str = ""
    ) -> None:
        self.names = names
        self.switches = switches
        self.watches = watches
        self.breaks = breaks
        self.acting = True

    def collectives(self) -> Sequence[str]:
        return ("Allreduce", "Bcast")

    def algorithms(self, collective: str) -> Sequence[Algorithm]:
        return [Algorithm(name, number) for number, name in enumerate(self.names, 1)]

    def rule_problem(self, cell: Cell) -> str | None:
        return None if cell.collective in self.collectives() else "it has no rules here"

    def base(self) -> Switch:
        return Switch({"FAKE_BASE": "1"})

    def variables(self, collective: str, algorithm: Algorithm) -> Mapping[str, str] | None:
        return {"fake_algorithm": algorithm.name} if self.switches else None

    def forcing_switch(self, collective: str, algorithm: Algorithm) -> Switch:
        return Switch({"FAKE_BASE": "1", "FAKE_ALGORITHM": algorithm.name})

    def write(
        self, choices: Choices, measured: Iterable[Cell], folder: Path, header: Sequence[str]
    ) -> Switch:
        folder.mkdir(parents=True, exist_ok=True)
        kept = choices if self.acting or "file" not in folder.name else {}
        rules = [[cell.collective, cell.ranks, cell.bytes, one.name] for cell, one in kept.items()]
        cells = [[cell.collective, cell.ranks, cell.bytes] for cell in measured]
        said = {"header": list(header), "rules": rules, "measured": cells}
        (folder / "rules.json").write_text(json.dumps(said))
        return self._switch(folder)

    @staticmethod
    def _switch(folder: Path) -> Switch:
        return Switch({"FAKE_BASE": "1", "FAKE_RULES": str(folder / "rules.json")})

    def read(self, folder: Path) -> tuple[dict[Cell, Algorithm], list[Cell], Switch]:
        try:
            said = json.loads((folder / "rules.json").read_text())
        except OSError as error:
            raise ImbError(f"cannot read {folder / 'rules.json'}: {error.strerror}") from error
        choices = {Cell(*one[:3]): self._named(one[0], one[3]) for one in said["rules"]}
        return choices, [Cell(*one) for one in said["measured"]], self._switch(folder)

    def _named(self, collective: str, name: str) -> Algorithm:
        known = (one for one in self.algorithms(collective) if one.name == name)
        return next(known, Algorithm(name, 9))

    def watch(self, folder: Path) -> Watch:
        if not self.watches:
            return Watch(None, reason="there is no compiler")
        return Watch(Switch({"FAKE_WATCH": str(folder), "FAKE_BREAKS": self.breaks}), "what ranks wrote")

    def executed_algorithms(self, folder: Path) -> Executed:
        found: dict[Cell, set[str]] = {}
        for name, ranks, length, run in json.loads((folder / "executed.json").read_text()):
            found.setdefault(Cell(name, ranks, length), set()).add(run)
        return {cell: frozenset(names) for cell, names in found.items()}

    def replacement(self, cell: Cell, algorithm: Algorithm, executed: Executed) -> str | None:
        seen = executed.get(cell, frozenset())
        return None if not seen or seen == {algorithm.name} else f"replaced by {', '.join(seen)}"


__all__ = ["DEFAULT", "FakeTuner", "fail", "launches", "make"]
