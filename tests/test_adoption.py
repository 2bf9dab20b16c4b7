"""OpenIMB in the harnesses of others: an application of Ramble, an experiment of Benchpark, a job of Kubernetes."""

from __future__ import annotations

import enum
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
import lab
import pytest
from test_packaging import needs, version

EXAMPLES = lab.TOP / "examples"
KUBERNETES = lab.TOP / "packaging" / "kubernetes"


def module(monkeypatch: pytest.MonkeyPatch, name: str, **names: Any) -> None:
    """A stand-in for a module that the machine lacks."""
    stand_in = types.ModuleType(name)
    vars(stand_in).update(names)
    monkeypatch.setitem(sys.modules, name, stand_in)


# --- Ramble and Benchpark ------------------------------------------------------------------------

FINALIZED = r".*?All processes entering MPI_Finalize"


def row_of(decimals: int) -> re.Pattern[str]:
    """What Ramble's intel-mpi-benchmarks takes for a row of so many figures: 2 have a bandwidth, 3 times, 4 both."""
    return re.compile(r"^\s+\d+\s+\d+" + r"\s+\d+\.\d+" * decimals + "$")


class FomType(enum.Enum):
    TIME, THROUGHPUT, INFO = range(3)


@dataclass
class RambleStandIn:
    """The directives that the application uses, with the arguments in Ramble's sources, and what they define. Ramble is not on
    PyPI: the package of this name is another program."""

    executables: dict[str, str] = field(default_factory=dict)
    workloads: dict[str, str] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)
    variables: dict[str, dict[str, str]] = field(default_factory=dict)
    contexts: dict[str, dict[str, str]] = field(default_factory=dict)
    figures: dict[str, dict[str, Any]] = field(default_factory=dict)
    criteria: dict[str, dict[str, Any]] = field(default_factory=dict)

    def tags(self, *values: str) -> None: ...

    def software_spec(self, name: str, pkg_spec: str, when: list[str]) -> None: ...

    def required_package(self, name: str, when: list[str]) -> None: ...

    def executable(self, name: str, template: str, use_mpi: bool) -> None:
        assert use_mpi
        self.executables[name] = template

    def workload(self, name: str, executable: str) -> None:
        self.workloads[name] = self.executables[executable]
        self.variables[name] = {}

    def workload_group(self, name: str, workloads: list[str]) -> None:
        assert set(workloads) <= set(self.workloads)
        self.groups[name] = workloads

    def workload_variable(
        self,
        name: str,
        default: str,
        description: str,
        values: list[str] | None = None,
        workload: str = "",
        workload_group: str = "",
    ) -> None:
        assert values is None or default in values
        for each in self.groups[workload_group] if workload_group else [workload]:
            self.variables[each][name] = default

    def figure_of_merit_context(self, name: str, regex: str, output_format: str) -> None:
        self.contexts[name] = {"regex": regex, "output_format": output_format}

    def figure_of_merit(
        self,
        name: str,
        fom_regex: str,
        group_name: str,
        log_file: str,
        fom_type: FomType,
        units: str = "",
        contexts: list[str] | None = None,
    ) -> None:
        assert set(contexts or []) <= set(self.contexts)
        self.figures[name] = {
            "regex": fom_regex,
            "group": group_name,
            "file": log_file,
            "contexts": contexts or [],
        }

    def success_criteria(
        self, name: str, mode: str, match: str = "", anti_match: str = "", file: str = "{log_file}"
    ) -> None:
        assert mode == "string" and bool(match) != bool(anti_match)
        self.criteria[name] = {"match": match, "anti_match": anti_match, "file": file}

    def command(self, workload: str, **given: object) -> list[str]:
        """The command of an experiment, with variables expanded; each variable in it must have a value."""
        text = self.workloads[workload]
        values = {**self.variables[workload], **{name: str(value) for name, value in given.items()}}
        while "{" in text:
            text = re.sub(r"\{([\w-]+)\}", lambda found: values[found[1]], text)
        return text.split()

    def analyzed(self, files: dict[str, str]) -> tuple[bool, dict[str, dict[str, str]]]:
        """Whether the experiment succeeded, and the figures by context: line after line, as Ramble does."""
        passed = []
        for each in self.criteria.values():
            lines = files[each["file"]].splitlines()
            found = [line for line in lines if re.match(each["match"] or each["anti_match"], line)]
            passed.append(bool(found) == bool(each["match"]))
        figures: dict[str, dict[str, str]] = {}
        for file, text in files.items():
            active: dict[str, str] = {}
            for line in text.splitlines():
                for name, context in self.contexts.items():
                    if match := re.match(context["regex"], line):
                        active[name] = context["output_format"].format(**match.groupdict())
                for name, figure in self.figures.items():
                    if figure["file"] == file and (match := re.match(figure["regex"], line)):
                        for where in [active[each] for each in figure["contexts"] if each in active] or [""]:
                            figures.setdefault(where, {})[name] = match[figure["group"]]
        return all(passed), figures


@pytest.fixture
def ramble(monkeypatch: pytest.MonkeyPatch) -> RambleStandIn:
    stand_in = RambleStandIn()
    directives = {
        name: getattr(stand_in, name)
        for name in vars(RambleStandIn)
        if name not in ("command", "analyzed") and callable(getattr(stand_in, name)) and name[0] != "_"
    }
    module(monkeypatch, "ramble.appkit", ExecutableApplication=object, FomType=FomType, **directives)
    application = runpy.run_path(str(EXAMPLES / "ramble" / "applications" / "openimb" / "application.py"))
    assert application["Openimb"].name == "openimb"
    return stand_in


@dataclass
class Experiment:
    """`of_ramble`: how many figures Ramble's own regexes find in each row of the text; None: they match no row."""

    workload: str
    given: dict[str, str]
    of_ramble: int | None
    rows: int
    failures: int = 0


EXPERIMENTS = [
    # 8 bytes and more are beyond -mem.
    Experiment("pingpong", {"additional_args": "-mem 1e-8", "msglog_max": "30"}, 2, 3, failures=28),
    Experiment("pingpong", {"additional_args": "-check -passes 12"}, None, 4),
    Experiment("multi-pingpong", {"num_cores": "1"}, 4, 4),
    Experiment("multi-pingpong", {"num_cores": "1", "multi_val": "1"}, None, 4),
    Experiment("exchange", {}, 4, 4),
    Experiment("collective", {"collective_type": "Allreduce"}, 3, 3),
    Experiment("collective", {"collective_type": "Barrier", "additional_args": "-check"}, None, 1),
    Experiment("random", {}, None, 4),
]


@pytest.mark.needs_mpi
def test_figures_and_success_of_ramble(ramble: RambleStandIn, tmp_path: Path) -> None:
    """One launch of each workload, and of what changes columns or rows."""
    mpi = lab.MAIN[0]
    assert set(ramble.workloads) == {each.workload for each in EXPERIMENTS}
    for each in EXPERIMENTS:
        words = ramble.command(
            each.workload,
            **{
                "install_path": mpi.program().parent,
                "experiment_run_dir": tmp_path,
                "experiment_name": "experiment",
                "n_ranks": 2,
                "msglog_max": 3,
                "num_iterations": 20,
                **each.given,
            },
        )
        component = Path(words[0]).name.removeprefix("IMB-")
        done = lab.run(mpi, 2, words[1:], component=component)
        assert done.code == 0, done.errors
        records = (tmp_path / "experiment.jsonl").read_text()
        success, figures = ramble.analyzed(
            {"{log_file}": done.text, "{experiment_run_dir}/{experiment_name}.jsonl": records}
        )
        assert success
        assert figures.pop("") == {"Failure rows": str(each.failures)}

        # The figures are those of the text.
        (table,) = lab.tables(done.text)
        rows = [row for row in table.rows if "out-of-mem.;" not in row]
        assert (len(rows), len(table.rows) - len(rows), len(figures)) == (each.rows, each.failures, each.rows)
        ours = list(figures.items())
        if each.given.get("multi_val") == "1":
            assert all(", group 0, " in context for context, _ in ours)
        for row, (context, values) in zip(rows, ours, strict=True):
            cells = dict(zip(table.columns, row, strict=True))
            assert context.startswith(f"{table.name.split()[0]}, 2 processes, ")
            assert context.endswith(f" {cells.get('#bytes', 0)} B")
            assert float(values["Repetitions"]) == int(cells["#repetitions"])
            for column, name in (
                ("t[usec]", "Time avg" if component == "P2P" else "Time max"),
                ("t_min[usec]", "Time min"),
                ("t_max[usec]", "Time max"),
                ("t_avg[usec]", "Time avg"),
            ):
                if column in cells:
                    assert float(values[name]) * 1e6 == pytest.approx(float(cells[column]), abs=0.0051)
            assert ("Bandwidth" in values) == ("Mbytes/sec" in cells)
            if "Bandwidth" in values:
                bandwidth = float(values["Bandwidth"]) / 2**20
                assert bandwidth == pytest.approx(float(cells["Mbytes/sec"]), abs=0.0051)
            assert ("+-[%]" in cells) == ("-passes" in words)
            assert re.fullmatch(r"n/a|[\d.]+%", cells.get("+-[%]", "n/a"))
            assert values.get("Defects") == ("0" if "defects" in cells else None)

        # Ramble's intel-mpi-benchmarks over the text.
        lines = done.text.splitlines()
        assert any(re.match(FINALIZED, line) for line in lines)
        found = {n: sum(bool(row_of(n).match(line)) for line in lines) for n in (2, 3, 4)}
        assert found == {n: each.rows if n == each.of_ramble else 0 for n in (2, 3, 4)}, done.text


def test_ramble_expands_no_regex(ramble: RambleStandIn) -> None:
    """Ramble expands variables in braces."""
    regexes = [each["regex"] for each in (*ramble.contexts.values(), *ramble.figures.values())]
    regexes += [each["match"] + each["anti_match"] for each in ramble.criteria.values()]
    assert not [regex for regex in regexes if "{" in regex]


def test_wrong_bytes_and_a_launch_without_end_are_no_success_of_ramble(ramble: RambleStandIn) -> None:
    end = '{"record":"end","state":"complete","reason":null,"measured":1,"failed":0,"defects":%d}'
    for text, defects, success in (
        ("# All processes entering MPI_Finalize", 0, True),
        ("# All processes entering MPI_Finalize", 2, False),
        ("", 0, False),
    ):
        files = {"{log_file}": text, "{experiment_run_dir}/{experiment_name}.jsonl": end % defects}
        assert ramble.analyzed(files)[0] == success


class BenchparkStandIn:
    """What the experiment uses of Benchpark's class."""

    name = "openimb"

    def __init__(self, workload: str) -> None:
        self.spec = types.SimpleNamespace(satisfies=lambda text: text == f"workload={workload}")
        self.variables: dict[str, Any] = {}
        self.packages: dict[str, list[str]] = {}

    def add_experiment_variable(self, name: str, values: Any, use_in_expr_name: bool = False) -> None:
        self.variables[name] = values

    def set_required_variables(
        self, *, n_resources: str, process_problem_size: str, total_problem_size: str
    ) -> None:
        self.variables |= {"n_resources": n_resources}

    def determine_version(self) -> str:
        return "@VERSION"

    def add_package_spec(self, package_name: str, spec: list[str]) -> None:
        self.packages[package_name] = spec


def test_experiment_of_benchpark(ramble: RambleStandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the workloads of the application, and sets variables that these have."""
    variants: dict[str, dict[str, Any]] = {}
    module(
        monkeypatch,
        "benchpark.directives",
        variant=lambda name, *, default, values, description, multi=False: variants.update(
            {name: {"default": default, "values": values}}
        ),
    )
    module(monkeypatch, "benchpark.experiment", Experiment=BenchparkStandIn)
    made = runpy.run_path(str(EXAMPLES / "benchpark" / "experiment.py"))["Openimb"]
    assert set(variants["workload"]["values"]) == set(ramble.workloads)
    assert all(each["default"] in each["values"] for each in variants.values())
    assert variants["version"]["default"] == version()
    for workload in ramble.workloads:
        experiment = made(workload)
        experiment.compute_applications_section()
        experiment.compute_package_section()
        assert experiment.packages == {"openimb": ["openimb@VERSION"]}
        one_per_node = experiment.variables["n_ranks"] == "{n_nodes}*1"
        assert one_per_node == (workload == "pingpong")
        assert "msglog_max" in ramble.variables[workload]


def test_workspace_of_ramble(ramble: RambleStandIn) -> None:
    needs("check_jsonschema")
    from ruamel.yaml import YAML  # of check-jsonschema

    workspace = YAML(typ="safe").load(EXAMPLES / "ramble" / "ramble.yaml")["ramble"]
    (application,) = workspace["applications"]
    assert application == "openimb" and set(workspace["software"]["environments"]) == {application}
    for name, workload in workspace["applications"][application]["workloads"].items():
        known = {*ramble.variables[name], "n_nodes"}
        for experiment in workload["experiments"].values():
            assert set(experiment["variables"]) <= known


# --- Kubernetes ----------------------------------------------------------------------------------

POLICIES = ("Always", "OnFailure", "Never")


def an_object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": properties,
    }


def a_replica(replicas: dict[str, Any]) -> dict[str, Any]:
    policies = {"enum": [*POLICIES, "ExitCode"]}
    return an_object(
        ("template",), replicas=replicas, restartPolicy=policies, template=an_object((), metadata={}, spec={})
    )


# kubeflow's mpi-operator, pkg/apis/kubeflow/v2beta1/types.go. Of the status nothing: the operator writes it.
MPIJOB = an_object(
    ("apiVersion", "kind", "metadata", "spec"),
    apiVersion={"const": "kubeflow.org/v2beta1"},
    kind={"const": "MPIJob"},
    metadata=an_object(("name",), name={"type": "string"}, namespace={"type": "string"}, labels={}),
    spec=an_object(
        ("mpiReplicaSpecs",),
        slotsPerWorker={"type": "integer"},
        runLauncherAsWorker={"type": "boolean"},
        runPolicy=an_object(
            (),
            cleanPodPolicy={"enum": ["All", "Running", "None"]},
            ttlSecondsAfterFinished={"type": "integer"},
            activeDeadlineSeconds={"type": "integer", "minimum": 1},
            backoffLimit={"type": "integer", "minimum": 0},
            schedulingPolicy={"type": "object"},
            suspend={"type": "boolean"},
            managedBy={"enum": ["kubeflow.org/mpi-operator", "kueue.x-k8s.io/multikueue"]},
        ),
        mpiReplicaSpecs=an_object(
            ("Launcher", "Worker"),
            Launcher=a_replica({"const": 1}),
            Worker=a_replica({"type": "integer", "minimum": 1}),
        ),
        sshAuthMountPath={"type": "string"},
        launcherCreationPolicy={"enum": ["AtStartup", "WaitForWorkersReady"]},
        mpiImplementation={"enum": ["OpenMPI", "Intel", "MPICH"]},
    ),
)
HOME = "/home/openimb"


@pytest.fixture(scope="module")
def job() -> Any:
    needs("check_jsonschema")
    from ruamel.yaml import YAML  # of check-jsonschema

    return YAML(typ="safe").load(KUBERNETES / "mpijob.yaml")


def container_of(job: Any, replica: str) -> Any:
    (container,) = job["spec"]["mpiReplicaSpecs"][replica]["template"]["spec"]["containers"]
    return container


def test_manifest_of_kubernetes(job: Any, tmp_path: Path) -> None:
    needs("kubernetes_validate")
    jsonschema.validate(job, MPIJOB)
    spec = job["spec"]
    # A bad verdict must not be repeated, and a launcher that is early does not reach the workers.
    assert spec["runPolicy"]["backoffLimit"] == 0
    assert spec["launcherCreationPolicy"] == "WaitForWorkersReady"
    pods = []
    for name, replica in spec["mpiReplicaSpecs"].items():
        assert replica["restartPolicy"] == "Never"
        template = replica["template"]
        pods.append({"apiVersion": "v1", "kind": "Pod", **template})
        pods[-1]["metadata"] = {**template["metadata"], "name": name.lower()}
    misspelled = json.loads(json.dumps(pods[0]))
    misspelled["spec"]["containers"][0]["terminationMessagesPath"] = "/dev/null"
    files = []
    for number, pod in enumerate([*pods, misspelled]):
        files.append(tmp_path / f"{number}.json")
        files[-1].write_text(json.dumps(pod))
    done = subprocess.run(
        [sys.executable, "-m", "kubernetes_validate", "--strict", *map(str, files)],
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert "terminationMessagesPath" in said and done.returncode == 1
    assert [line.split()[0] for line in said.splitlines() if str(tmp_path) in line] == [
        "INFO",
        "INFO",
        "ERROR",
    ]


def test_image_and_manifest_of_kubernetes_agree(job: Any) -> None:
    """User, home, port and files are repeated in four files."""
    image = (KUBERNETES / "Containerfile").read_text()
    sshd = (KUBERNETES / "sshd_config").read_text()
    client = (KUBERNETES / "ssh_config").read_text()
    assert " openimb\n" in image and f"WORKDIR {HOME}\n" in image and "USER 1000\n" in image
    assert job["spec"]["sshAuthMountPath"] == f"{HOME}/.ssh"
    assert set(re.findall(r"/home/\S+", sshd)) == {
        f"{HOME}/.ssh/id_rsa",
        f"{HOME}/.ssh/authorized_keys",
    }
    worker = container_of(job, "Worker")
    port = worker["readinessProbe"]["tcpSocket"]["port"]
    assert re.findall(r"Port (\d+)", sshd) == re.findall(r"Port (\d+)", client) == [str(port)]
    for copied in re.findall(r"(?m)^COPY (\S+) ", image):
        assert (KUBERNETES / copied).is_file()
    assert f"COPY sshd_config {worker['args'][0].split()[-1]}\n" in image
    for replica in ("Launcher", "Worker"):
        pod = job["spec"]["mpiReplicaSpecs"][replica]["template"]["spec"]
        assert pod["securityContext"] == {"runAsNonRoot": True, "runAsUser": 1000}


def test_sshd_of_workers_starts_as_an_ordinary_user(tmp_path: Path) -> None:
    program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    if not program:
        lab.missing("no sshd (Debian: openssh-server)")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        home = Path(folder)
        home.chmod(0o755)
        (home / ".ssh").mkdir()
        key = home / ".ssh" / "id_rsa"
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ecdsa", "-b", "521", "-m", "PEM", "-N", "", "-f", key], check=True
        )
        key.chmod(0o644 if os.geteuid() == 0 else 0o600)  # the operator's are those of root
        config = home / "sshd_config"
        config.write_text((KUBERNETES / "sshd_config").read_text().replace(HOME, folder))
        user: dict[str, Any] = (
            {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        )
        done = subprocess.run(
            [program, "-T", "-f", config], capture_output=True, text=True, check=False, **user
        )
    assert done.returncode == 0, done.stderr
    assert {"port 2222", "usepam no", "strictmodes no", "passwordauthentication no"} <= set(
        done.stdout.splitlines()
    )
    asked = subprocess.run(
        ["ssh", "-G", "-F", KUBERNETES / "ssh_config", "worker"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert {"port 2222", "batchmode yes", "stricthostkeychecking false"} <= set(asked)


HOSTS = [f"openimb-fabric-worker-{number}.openimb-fabric.hpc.svc" for number in (0, 1, 10)]
# Its byte 3,000 is in the middle of a character.
LONG = "bad: slow: host openimb-fabric-worker-10\n" + "±" * 3000 + "\n"


@pytest.mark.parametrize(
    ("verdict", "errors", "status", "says"),
    [
        ("healthy: no part is slower\n", "", 0, ["healthy: no part is slower"]),
        (
            LONG,
            "a note\n" * 1000,
            10,
            ["bad: slow: host", "openimb-fabric-worker-10 ran on node node-of-", "a note"],
        ),
        ("", "imb: no launcher\n", 2, ["imb: no launcher"]),
    ],
)
@pytest.mark.parametrize("line", ["{}:1\n", "{} slots=1\n"], ids=["mpich", "openmpi"])
def test_launcher_of_kubernetes(
    job: Any, verdict: str, errors: str, status: int, says: list[str], line: str, tmp_path: Path
) -> None:
    """Its exit status is that of imb; its message is at most 4,096 bytes of UTF-8, and names nodes of slow workers."""
    container = container_of(job, "Launcher")
    assert container["terminationMessagePath"] == "/dev/termination-log"
    (script,) = container["args"]
    for path, name in (("/etc/mpi/hostfile", "hostfile"), ("/dev/termination-log", "message")):
        assert script.count(path) == 1
        script = script.replace(path, str(tmp_path / name))
    (tmp_path / "hostfile").write_text("".join(line.format(host) for host in HOSTS))
    (tmp_path / "verdict").write_text(verdict)
    (tmp_path / "errors").write_text(errors)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (
        (
            "imb",
            f'echo "$@" > {tmp_path}/arguments; cat {tmp_path}/verdict; cat {tmp_path}/errors >&2; exit {status}',
        ),
        ("ssh", 'echo "node-of-$2"'),
    ):
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    done = subprocess.run(
        [*container["command"], script],
        env={"PATH": f"{programs}:{os.environ['PATH']}", "LANG": "C.UTF-8", "TMPDIR": str(tmp_path)}
        | {each["name"]: each["value"] for each in container["env"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status
    assert (tmp_path / "arguments").read_text() == f"fabric --hosts {','.join(HOSTS)} --budget 600\n"
    # The log has all of it.
    assert done.stdout.startswith(verdict) and done.stderr == errors
    message = (tmp_path / "message").read_bytes()
    assert len(message) <= 4096
    text = message.decode()
    assert "\N{REPLACEMENT CHARACTER}" not in text
    assert [each for each in says if each not in text] == []
    named = [f"{host.split('.')[0]} ran on node node-of-{host}" for host in HOSTS[2:] if status == 10]
    assert [one for one in text.splitlines() if " ran on node " in one] == named
