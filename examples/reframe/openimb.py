"""OpenIMB as ReFrame tests: values for ReFrame's performance log, and a verdict by `imb`.

    reframe -C SETTINGS.py -c examples/reframe/openimb.py -r -S program=/opt/openimb/bin/IMB-MPI1
    reframe -C SETTINGS.py -c examples/reframe/openimb.py -n ImbBaseline -r -S archive=/shared/imb -S mpi=openmpi

`ImbFigures` launches benchmarks with ReFrame's own scheduler and launcher, and logs latency and bandwidth; give it
references for your system. `ImbBaseline` repeats the measurement of a baseline with `imb baseline check`, and fails if any
row became slower. If there is no baseline yet, it sets one from its first launches.
"""

import json
import shlex
from pathlib import Path
from typing import ClassVar

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import (
    parameter,
    performance_function,
    run_after,
    run_before,
    sanity_function,
    variable,
)


@rfm.simple_test
class ImbFigures(rfm.RunOnlyRegressionTest):
    """One benchmark: its time at the smallest message size, its bandwidth at the largest. Every byte is checked."""

    descr = "OpenIMB: latency and bandwidth"
    valid_systems: ClassVar = ["*"]
    valid_prog_environs: ClassVar = ["*"]
    benchmark = parameter(["PingPong", "Sendrecv", "Exchange"])
    program = variable(str, value="IMB-MPI1")
    ranks = variable(int, value=2)
    imb_options = variable(str, value="-time 5")

    @run_after("init")
    def what_to_launch(self):
        self.num_tasks = self.ranks
        self.executable = self.program
        self.executable_opts = [self.benchmark, "-npmin", str(self.ranks), "-check", "-json", "records.jsonl"]
        self.executable_opts += shlex.split(self.imb_options)

    def records(self, kind):
        """The records of a kind, in order (schema/record.schema.json)."""
        lines = Path(self.stagedir, "records.jsonl").read_text().splitlines()
        return [record for record in map(json.loads, lines) if record["record"] == kind]

    @sanity_function
    def all_was_measured_and_right(self):
        ends = self.records("end")
        complete = [end["state"] == "complete" and not end["failed"] and not end["defects"] for end in ends]
        return sn.assert_eq(complete, [True], msg=f"the launch did not end well: {ends or 'it was cut off'}")

    @performance_function("us")
    def latency(self):
        return round(self.records("result")[0]["time_max_seconds"] * 1e6, 3)

    @performance_function("MB/s")
    def bandwidth(self):
        return round(self.records("result")[-1]["bytes_per_second"] / 1e6, 3)


@rfm.simple_test
class ImbBaseline(rfm.RunOnlyRegressionTest):
    """Output of `imb baseline check`."""

    descr = "OpenIMB: compared with a baseline"
    valid_systems: ClassVar = ["*"]
    valid_prog_environs: ClassVar = ["*"]
    baseline = variable(str, value="reframe")
    benchmarks = variable(str, value="PingPong Allreduce")
    imb_options = variable(str, value="")
    ranks = variable(int, value=2)
    launches = variable(int, value=10)
    tolerance = variable(str, value="time=10%")
    imb = variable(str, value="imb")
    archive = variable(str, value="")
    mpi = variable(str, value="")
    programs = variable(str, value="")
    # --with-old also measures the old MPI or programs, if mpi or programs name the new ones: then one session suffices for a verdict.
    check = variable(str, value="")

    @run_after("init")
    def what_to_launch(self):
        where = [f"--archive {shlex.quote(self.archive)}"] if self.archive else []
        how = [
            f"--{name} {shlex.quote(value)}" for name in ("mpi", "programs") if (value := getattr(self, name))
        ]
        name = shlex.quote(self.baseline)
        label = f'{name}-"$(date +%s)"'
        words = [
            self.imb,
            "run",
            self.benchmarks,
            f"--np {self.ranks} --launches {self.launches} --label $label",
        ]
        measure = " ".join([*words, *how, *where, "--", self.imb_options])
        keep = " ".join([self.imb, "baseline set", name, "$label --tolerance", self.tolerance, *where])
        known = " ".join([self.imb, "baseline show", name, *where])
        self.prerun_cmds = [f"{known} || {{ label={label}; {measure} && {keep}; }}"]
        self.executable = self.imb
        self.executable_opts = [
            "baseline check",
            name,
            self.check,
            *how,
            *where,
            "--format json > verdict.json",
        ]

    @run_before("run")
    def imb_starts_the_ranks(self):
        self.job.launcher = getlauncher("local")()

    def checked(self):
        """The JSON of the check; empty if it did not reach a verdict."""
        text = Path(self.stagedir, "verdict.json").read_text()
        return json.loads(text) if text else {}

    @sanity_function
    def nothing_is_slower(self):
        """An inconclusive verdict passes, and so do differences that are small or unclear."""
        verdict = self.checked().get("verdict", "nothing; see rfm_job.err")
        return sn.assert_in(
            verdict, ["same", "faster", "differs", "inconclusive"], msg=f"verdict of imb: {verdict}"
        )

    @performance_function("x")
    def slowest_band(self):
        """The speedup of the slowest band: 1 is as fast as the baseline."""
        bands = [band for one in self.checked()["comparisons"] for band in one["bands"]]
        return round(min(band["effect"]["speed"] for band in bands), 3)
