"""The launcher of an MPI whose launches are real ones of the suite on SimGrid.

SMPI has neither tuning files nor MPI_T, but each algorithm of a collective can be forced for a whole launch. This launcher makes more of
it: it simulates once for each algorithm that a launch needs, at the lengths that have it, and joins the records. Launches with -check are
simulated, as the command orders. All others repeat the times that those had, each row with noise of its own, which follows from the number
of the launch: simulations of the same have the same times, which is checked here wherever one is repeated.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simgrid import MACHINES, Simulated, simulated

DEFAULT = "default"
CONTROL = "Sendrecv"  # of launches that are compared: no file changes it
NOISE = 0.02
_SWITCHED = re.compile(r"Switch to algorithm (\S+) for collective (\S+)")
_OURS = ("-json", "-alternate", "-turns", "-budget", "-precision", "-msgsize", "-npmin")  # each with a value


class Simulator(NamedTuple):
    """`machine`: of simgrid.MACHINES; `kept`: folder of what simulations left; `lengths`: all of the session; `chooser`: what
    chooses by default."""

    machine: str
    program: str
    smpirun: str
    kept: str
    lengths: list[int]
    chooser: str

    def launch(self, words: Sequence[str]) -> int:
        """Words after `mpiexec`; the exit status."""
        if words == ["--version"]:
            print("mpiexec (Open MPI) 5.0.9")
            return 0
        given = dict(word.split("=", 1) for word in words if word.startswith("FAKE_"))
        at = next(n for n, word in enumerate(words) if word.endswith("IMB-MPI1"))
        suite = list(words[at + 1 :])
        if suite == ["-version"]:
            return 0
        launch = _Launch(self, suite, given)
        return launch.checked() if "-check" in suite else launch.repeated()

    def kept_file(self, collective: str, algorithm: str) -> Path:
        """Rows of what it took, by length."""
        return Path(self.kept) / f"{collective}-{algorithm}.json"

    def keep(self, collective: str, algorithm: str, done: Simulated) -> None:
        """Its rows, and the records around them. Ends the launch where a length took another time before."""
        known = self.known(collective, algorithm)
        rows = {str(row["bytes"]): row for row in done.rows}
        for length in known.keys() & rows.keys():
            before, now = (rows_[length]["time_max_seconds"] for rows_ in (known, rows))
            if not math.isclose(before, now, rel_tol=1e-9):
                raise SystemExit(f"{collective} {algorithm}, {length} bytes: {now} s, and {before} s before")
        kept = {"first": done.records[0], "last": done.records[-1], **rows, **known}
        file = self.kept_file(collective, algorithm)
        partial = file.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(kept))
        partial.rename(file)

    def known(self, collective: str, algorithm: str) -> dict[str, dict[str, Any]]:
        """What simulations have left of it: rows by length, and the records around them."""
        file = self.kept_file(collective, algorithm)
        kept: dict[str, dict[str, Any]] = json.loads(file.read_text()) if file.exists() else {}
        return kept


class _Launch:
    def __init__(self, simulator: Simulator, words: list[str], given: dict[str, str]) -> None:
        self.simulator = simulator
        self.ranks = MACHINES[simulator.machine].ranks
        self.names = [word for n, word in enumerate(words) if not any(w[0] == "-" for w in words[: n + 1])]
        self.values = {name: words[n + 1] for n, name in enumerate(words) if name in _OURS}
        self.rest = [
            word
            for n, word in enumerate(words)
            if n >= len(self.names) and word not in _OURS and words[n - 1] not in _OURS
        ]
        asked = self.values.get("-msgsize")
        self.lengths = [int(one) for one in asked.split(",")] if asked else simulator.lengths
        self.forced = given.get("FAKE_ALGORITHM", DEFAULT)
        self.rules: dict[tuple[str, int, int], str] = {}
        if "FAKE_RULES" in given:
            rules = json.loads(Path(given["FAKE_RULES"]).read_text())["rules"]
            self.rules = {(one[0], one[1], one[2]): one[3] for one in rules}
        self.watch = given.get("FAKE_WATCH")

    def algorithm(self, collective: str, length: int) -> str:
        """What the file, or else the variable, says."""
        if collective == CONTROL:
            return DEFAULT
        return self.rules.get((collective, self.ranks, length), self.forced)

    def simulate(
        self, collective: str, algorithm: str, lengths: Sequence[int], words: Sequence[str]
    ) -> Simulated:
        """And keeps the times."""
        setting = self.simulator.chooser if algorithm == DEFAULT else f"smpi/{collective.lower()}:{algorithm}"
        sizes = ",".join(map(str, lengths))
        done = simulated(
            MACHINES[self.simulator.machine],
            Path(self.simulator.program),
            [collective, "-npmin", str(self.ranks), "-msgsize", sizes, *words],
            [setting],
            smpirun=self.simulator.smpirun,
            logged=[],
        )
        if done.code == 0:
            self.simulator.keep(collective, algorithm, done)
        return done

    def checked(self) -> int:
        """Simulates each algorithm at its lengths, with the words of the command."""
        records: list[dict[str, Any]] = []
        executed: list[tuple[str, int, int, str]] = []
        for collective in self.names:
            of_each: dict[str, list[int]] = {}
            for length in self.lengths:
                of_each.setdefault(self.algorithm(collective, length), []).append(length)
            for algorithm, lengths in of_each.items():
                done = self.simulate(collective, algorithm, lengths, self.rest)
                print(done.text, flush=True)
                records = joined(records, done.records)
                said = switched(done.text, collective)
                executed += [(collective, self.ranks, length, said) for length in lengths]
                if done.code:
                    self.write(records)
                    return int(done.code) % 256
        self.write(records)
        if self.watch:
            (Path(self.watch) / "executed.json").write_text(json.dumps(executed))
        return 0

    def repeated(self) -> int:
        """Repeats the times of the algorithms, in each variant of -alternate."""
        variants = [("", "")]
        if "-alternate" in self.values:
            lines = Path(self.values["-alternate"]).read_text().splitlines()
            variants = [(line.split()[0], line.partition("algorithm=")[2] or DEFAULT) for line in lines]
        number = Path(self.values["-json"]).parent.name.split(".")[0]
        rows = []
        for collective in self.names:
            for length in self.lengths:
                for label, algorithm in variants:
                    noise = random.Random(f"{number} {collective} {length} {label}").lognormvariate(0, NOISE)
                    row = self.row(collective, algorithm or self.algorithm(collective, length), length)
                    times = {name: noise * one for name, one in row.items() if name.endswith("_seconds")}
                    rows.append(row | times | ({"variant": label} if label else {}))
        ends = self.simulator.known(self.names[0], DEFAULT)
        self.write([ends["first"], *rows, ends["last"] | {"measured": len(rows)}])
        return 0

    def row(self, collective: str, algorithm: str, length: int) -> dict[str, Any]:
        """Of a simulation, which is made where there is none: of the rows that no file changes."""
        known = self.simulator.known(collective, algorithm)
        if str(length) not in known:
            lengths = self.simulator.lengths
            done = self.simulate(collective, algorithm, lengths, ["-iter", "3", "-iter_policy", "off"])
            if done.code:
                raise SystemExit(f"{collective} {algorithm}: exit status {done.code}\n{done.text[-2000:]}")
            known = self.simulator.known(collective, algorithm)
        return {name: one for name, one in known[str(length)].items() if name != "defects"}

    def write(self, records: Sequence[dict[str, Any]]) -> None:
        with Path(self.values["-json"]).open("w") as file:
            file.writelines(json.dumps(one) + "\n" for one in records)


def switched(text: str, collective: str) -> str:
    """The algorithm that SMPI says it switched to, or what chooses among them: `ompi`."""
    said = {name.lower(): algorithm for algorithm, name in _SWITCHED.findall(text)}
    return str(said.get(collective.lower(), DEFAULT))


def joined(before: list[dict[str, Any]], records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One launch of two: what it says at the end is said of both."""
    if not before or not records or records[-1]["record"] != "end" or before[-1]["record"] != "end":
        return before[:-1] + records[1:] if before else records
    end = dict(records[-1])
    for name in ("measured", "failed", "skipped", "defects"):
        if name in end:
            end[name] += before[-1].get(name, 0)
    return [*before[:-1], *records[1:-1], end]
