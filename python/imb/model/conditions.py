"""The conditions of a launch: properties of machine, MPI and environment that may change its times.

Some come from the facts (Conditions, which imb.mpi.host_conditions gathers on the launching host), others from records and intent.
The table CONDITIONS has all that have a name; code that shows, compares or judges a condition finds it there by its id.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from imb.model import path
from imb.model.facts import fact, facts_in
from imb.model.foreign_load import BUSIER_CPUS
from imb.model.gpus import Gpu, gpu_of, memory_of
from imb.model.mpis import LAUNCH_VARIABLES, TRANSPORT_SETTINGS
from imb.model.records import OptionValue, Run, UsedGpu
from imb.model.suite_arguments import option_name
from imb.model.text import natural_key
from imb.model.units import percent_text

if TYPE_CHECKING:
    from imb.model.observations import Launch


class Cache(msgspec.Struct, frozen=True):
    """All caches of one level. `size` is lscpu's text."""

    name: str
    size: str


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Properties of a host that stay the same until a reboot. If `threads_per_core` is above 1, hyperthreads are on."""

    host: str
    system: str
    kernel: str
    cpu_model: str | None = None
    cpus: int | None = None
    cpus_allowed: str | None = None
    cores: int | None = None
    sockets: int | None = None
    threads_per_core: int | None = None
    numa_nodes: int | None = None
    caches: list[Cache] = []
    memory_bytes: int | None = None
    virtual_machine: str | None = None
    container: str | None = None


class Interface(msgspec.Struct, frozen=True, kw_only=True):
    """A network interface, or a port of an RDMA device. `speed`: bits per second; `addressed`: it has an IP address."""

    name: str
    rdma: bool = False
    up: bool = False
    addressed: bool = False
    speed: float | None = None

    @property
    def link(self) -> str:
        """`10 Gb/s`, or empty if the speed is unknown."""
        return f"{self.speed / 1e9:g} Gb/s" if self.speed else ""

    def __str__(self) -> str:
        """`eth0 (10 Gb/s)`, `eth1 (down)`."""
        return self.name + (f" ({self.link or 'up'})" if self.up else " (down)")


# Names that the kernel and udev give to physical interfaces.
_PHYSICAL = re.compile(r"(eth|en|em|ib|hsn|p\d+p)\w*$")


def usable_interfaces(interfaces: Iterable[Interface]) -> list[Interface]:
    """The interfaces that could carry messages."""
    return [
        interface
        for interface in interfaces
        if interface.up and (interface.rdma or (interface.addressed and _PHYSICAL.match(interface.name)))
    ]


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions at one moment on the launching host. `load`: mean number of runnable processes over a minute. `transports`: the transports
    that the MPI itself reports (imb.runner.transports), or None if it reports none. `gpus`: filled only for launches that use GPUs."""

    time: str
    machine: Machine
    governors: list[str] | None = None
    frequency_megahertz: float | None = None
    clock_source: str | None = None
    load: float | None = None
    memory_free_bytes: int | None = None
    mpi: str | None = None
    mpi_wrapper: str | None = None
    launcher: str | None = None
    transports: str | None = None
    interfaces: list[Interface] = []
    gpus: list[Gpu] = []
    environment: dict[str, str] = {}


def interfaces_in(conditions: object) -> list[Interface]:
    """The interfaces in recorded conditions; empty if this version can read none."""
    return fact(list[Interface], conditions, "interfaces") or []


# --- Conditions computed from a launch --------------------------------------------------------------------------------

_ECC = {True: "on", False: "off", None: None}
_MOST_RANKS = 16  # with more ranks, CPUs or GPUs are not listed as a condition
_OUTPUTS = {"json", "dumpfile"}


def _path(launch: Launch) -> str | None:
    message_paths = path.message_paths(launch.run, launch.rows.values())
    return (
        "; ".join(f"{each.placement}: {each.name}" for each in message_paths if each.kind != "unknown")
        or None
    )


def _processes(launch: Launch) -> int | None:
    return len(launch.run.ranks or []) or fact(int, launch.facts, "intent", "ranks")


def _cpus(launch: Launch) -> str | None:
    known = [rank.cpus for rank in launch.run.ranks or [] if rank.cpus]
    return " | ".join(known) if known and len(known) <= _MOST_RANKS else None


def _variants(launch: Launch) -> str | None:
    """`default; ring: coll_tuned_allreduce_algorithm=4`"""
    texts = []
    for variant in launch.run.variants or []:
        variables = " ".join(f"{name}={value}" for name, value in variant.variables.items())
        texts.append(f"{variant.label}: {variables}" if variables else variant.label)
    return "; ".join(texts) or None


def _is_on_host(launch: Launch) -> bool:
    return memory_of(launch.run) == "host" and not launch.run.gpus


def _gpus(launch: Launch) -> str | None:
    """Hosts and addresses of GPUs with the ranks that use them; `none` if all messages are in host memory."""
    used = launch.run.gpus or []
    if _is_on_host(launch):
        return "none"
    places = [
        f"{gpu.host} {gpu.bus_address or gpu.index} (ranks {', '.join(map(str, gpu.ranks))})" for gpu in used
    ]
    return ("; ".join(places) or None) if sum(len(gpu.ranks) for gpu in used) <= _MOST_RANKS else None


def _gpu_support(launch: Launch) -> str | None:
    if _is_on_host(launch):
        return "not asked"
    return str(launch.run.gpu_support) if launch.run.gpu_support else None


def _interface(gpu: UsedGpu) -> str | None:
    return f"{gpu.api} {gpu.driver}" if gpu.api and gpu.driver else None


def _used_gpu_values(get: Callable[[UsedGpu], object]) -> Callable[[Launch], str | None]:
    """A getter of one property of the GPUs, as the ranks report it."""
    return lambda launch: _distinct_text(map(get, launch.run.gpus or []))


def _known_gpu_values(get: Callable[[Gpu], object]) -> Callable[[Launch], str | None]:
    """A getter of one property of the same GPUs, as the host's conditions describe it."""

    def text(launch: Launch) -> str | None:
        host = launch.facts.get("conditions")
        return _distinct_text(get(gpu) for used in launch.run.gpus or [] if (gpu := gpu_of(host, used)))

    return text


def _distinct_text(values: Iterable[object]) -> str | None:
    """The known values, each once, joined to one text; None if all are unknown."""
    return (
        ", ".join(sorted({str(value) for value in values if value not in (None, "")}, key=natural_key))
        or None
    )


# --- The table -------------------------------------------------------------------------------------------------------

# Neither compared nor shown: duplicates of conditions in the table, facts that differ in each launch, and options that only choose
# what is measured or printed.
_IGNORED = (
    "time", "load", "frequency_megahertz", "memory_free_bytes", "mpi", "mpi_wrapper", "machine.host", "machine.kernel",
    "machine.cpus_allowed", "platform.system", "clock.resolution_seconds", "options.matrix", "options.mbyte", "options.memory",
    "options.passes", "options.precision", "options.budget", "intent.ranks", "intent.hosts", "intent.cpus",
)  # fmt: skip


class LeastDifference(NamedTuple):
    """Compares numbers: two sides differ if their medians over launches are at least `least` apart. `text` formats a number."""

    least: float
    text: Callable[[float], str]

    def range(self, values: Sequence[float]) -> str:
        low, high = self.text(min(values)), self.text(max(values))
        return low if low == high else f"{low} to {high}"


class Condition(NamedTuple):
    """A named condition. `label`: the name that users see. `get`: returns the value in a launch, or None if unknown; without `get`, the
    value is at the path `id` of records and facts.

    `compare`: "equal" if all launches must have one value; "set" if both sides must have the same set of values, since an equal variation
    on both sides is a design; a LeastDifference for numbers that must be close; "ignored" if it is neither compared nor shown.
    `names_side`: the user chooses this condition for a launch, so its value ("value"), or its label and value ("labeled"), can name a
    side that differs in it.
    """

    id: str
    label: str
    get: Callable[[Launch], object] | None = None
    compare: Literal["equal", "set", "ignored"] | LeastDifference = "equal"
    names_side: Literal["value", "labeled"] | None = None


_BUSIER = LeastDifference(BUSIER_CPUS, lambda cpus: percent_text(cpus, 0))
CONDITIONS = (
    # Differences are listed in this order, the most frequent questions first.
    Condition("placement", "placement", lambda launch: launch.placement()),
    Condition("path", "path of messages", _path),
    Condition("transports", "transports reported by the MPI"),
    Condition("processes", "ranks", _processes, names_side="labeled"),
    Condition("hosts", "hosts", lambda launch: ", ".join(launch.hosts()) or None, "set", "value"),
    Condition("cpus", "CPUs of ranks", _cpus, "set"),
    Condition("memory", "memory of messages", lambda launch: memory_of(launch.run), names_side="labeled"),
    Condition("gpu.name", "GPU", _used_gpu_values(lambda gpu: gpu.name), names_side="labeled"),
    Condition("gpus", "GPUs of ranks", _gpus, "set"),
    Condition("gpu.driver", "GPU driver", _known_gpu_values(lambda gpu: gpu.driver), names_side="labeled"),
    Condition("gpu.interface", "GPU interface", _used_gpu_values(_interface)),
    Condition("gpu.link", "GPU link", _known_gpu_values(lambda gpu: gpu.link if gpu.link.rate else None)),
    Condition("gpu.nvlinks", "NVLinks of a GPU", _known_gpu_values(lambda gpu: gpu.nvlinks)),
    Condition("gpu.ecc", "ECC of GPU memory", _known_gpu_values(lambda gpu: _ECC[gpu.ecc])),
    Condition("gpu_support", "GPU memory, by the MPI", _gpu_support),
    Condition("options.load", "overlap load on"),
    Condition("mpi.name", "MPI library", names_side="labeled"),
    Condition("mpi.standard", "MPI standard"),
    Condition("mpi.thread_level", "thread level"),
    Condition("build.compiler", "compiler", names_side="labeled"),
    Condition("build.flags", "compiler flags"),
    Condition("build.interface", "binary interface"),
    Condition("program", "program"),
    Condition("version", "version", names_side="labeled"),
    Condition("machine.cpu_model", "CPU", names_side="value"),
    Condition("machine.cores", "cores"),
    Condition("machine.cpus", "CPUs"),
    Condition("machine.sockets", "sockets"),
    Condition("machine.threads_per_core", "threads per core"),
    Condition("machine.numa_nodes", "NUMA nodes"),
    Condition("machine.caches", "caches"),
    Condition("machine.memory_bytes", "memory in bytes"),
    Condition("platform.release", "kernel", names_side="labeled"),
    Condition("platform.kernel", "kernel build"),
    Condition("platform.machine", "architecture"),
    Condition("machine.system", "operating system"),
    Condition("machine.virtual_machine", "virtual machine"),
    Condition("machine.container", "container"),
    Condition("governors", "frequency governor", names_side="labeled"),
    Condition("clock_source", "clock source"),
    Condition("clock.source", "clock"),
    Condition("options.turns", "interleaved segments"),
    Condition("passes", "passes", lambda launch: launch.passes() if launch.rows else None),
    Condition("variants", "variants of the MPI's variables", _variants, names_side="value"),
    Condition("options.topo", "topology of neighborhood collectives", names_side="labeled"),
    Condition("launcher", "launcher"),
    Condition("intent.bind", "binding", names_side="labeled"),
    Condition("intent.ppn", "ranks per host", names_side="labeled"),
    Condition("intent.launcher", "kind of launcher", names_side="labeled"),
    Condition("intent.extra", "launcher arguments", names_side="value"),
    Condition("file.path", "folder of files"),
    Condition("file.file_system", "file system", names_side="labeled"),
    # Other activity on the machine while a launch ran, and when it started (`load`: mean runnable processes over a minute).
    Condition("load.other_cpus", "CPU used by other processes", compare=_BUSIER),
    Condition("load.stolen_cpus", "CPU given to other virtual machines", compare=_BUSIER),
    # On a saturated machine, further processes do not add to the CPU time that others use.
    Condition(
        "load.runnable", "runnable processes at the start", compare=LeastDifference(1.0, "{:.0f}".format)
    ),
    Condition("conditions.load", "load", compare=LeastDifference(0.5, "{:.2f}".format)),
    *(Condition(id, id, compare="ignored") for id in _IGNORED),
)
BY_ID = {condition.id: condition for condition in CONDITIONS}
COMPARED = [condition for condition in CONDITIONS if condition.compare in ("equal", "set")]
_BY_LABEL = {condition.label: condition for condition in CONDITIONS if condition.compare != "ignored"}


def condition(id: str) -> Condition:
    """The condition with this id. An id that is not in the table (a variable, an option of the suite, another fact) gets a new condition."""
    if id.startswith("$"):
        return Condition(id, id, names_side="labeled")
    option = id.removeprefix("options.")
    label = f"-{option}" if option != id else id.replace(".", " ").replace("_", " ")
    return BY_ID.get(id) or Condition(id, label)


def condition_labeled(label: str) -> Condition:
    """The condition that users see as `label`."""
    option = label.startswith("-")
    return _BY_LABEL.get(label) or condition(f"options.{label[1:]}" if option else label)


def describes_job(id: str) -> bool:
    """Whether this is a variable that the launcher sets for its ranks, with another value in every launch."""
    return id.startswith("$") and LAUNCH_VARIABLES.match(id[1:]) is not None


# --- All conditions of a launch -----------------------------------------------------------------------------------------------------


def conditions_of(launch: Launch, listed: Sequence[Condition] = COMPARED) -> dict[str, str]:
    """Texts of the known conditions by id: first the `listed` ones, in this order, then other facts, then environment variables
    (`$NAME`)."""
    known = dict(_leaves(_facts(launch)))
    values = {entry.id: entry.get(launch) if entry.get else known.get(entry.id) for entry in listed}
    texts = {id: _text(value) for id, value in values.items() if value is not None}
    texts |= {id: text for id, text in known.items() if id not in BY_ID}
    return texts | {f"${name}": text for name, text in environment_of(launch.run, launch.facts).items()}


def environment_of(run: Run, facts: Mapping[str, Any]) -> dict[str, str]:
    """Environment variables. Values that the ranks saw take precedence over values of the intent, and these over the launcher's values."""
    outside, intended = facts_in(facts, "conditions", "environment"), facts_in(facts, "intent", "env")
    return {name: _text(value) for name, value in {**outside, **intended, **(run.environment or {})}.items()}


def transport_settings(run: Run, facts: Mapping[str, Any]) -> dict[str, str]:
    """The variables that choose the MPI's transports."""
    variables = sorted(environment_of(run, facts).items())
    return {name: value for name, value in variables if TRANSPORT_SETTINGS.match(name)}


def knows_environment(launch: Launch) -> bool:
    """Whether the environment was recorded: a variable that environment_of lacks was then not set."""
    return launch.run.environment is not None or bool(facts_in(launch.facts, "conditions"))


def _facts(launch: Launch) -> dict[str, Any]:
    """The contents of records, conditions and intent, without variables."""
    run, outside = launch.run, facts_in(launch.facts, "conditions")
    if "interfaces" in outside:
        outside = {**outside, "interfaces": [str(interface) for interface in interfaces_in(outside)]}
    parts = ("program", "version", "build", "platform", "clock", "file", "off_cache")
    return {
        **outside,
        "environment": None,
        "mpi": msgspec.structs.asdict(run.mpi) if run.mpi else None,
        **{name: msgspec.to_builtins(getattr(run, name)) for name in parts},
        "options": {name: _option(name, value) for name, value in (run.options or {}).items()},
        "arguments": _arguments(launch),
        "intent": {**facts_in(launch.facts, "intent"), "env": None},
    }


def _option(name: str, value: OptionValue) -> str:
    """The value as on the command line. An output file is only `on` or `off`, since its name does not affect the measurement."""
    if value is None:
        return "none"
    if name == "dumpfile" or isinstance(value, bool):
        return "on" if value else "off"
    return ", ".join(map(_text, value)) if isinstance(value, list) else _text(value)


def _arguments(launch: Launch) -> str | None:
    """Arguments of the suite, without names of output files, if a log has them but no options; else None."""
    words = launch.run.command_line
    if not words or launch.run.has_all_options:
        return None
    words = words[next((at for at, word in enumerate(words) if "IMB-" in word), 0) :]
    kept = [
        word for before, word in pairwise(words) if not {option_name(before), option_name(word)} & _OUTPUTS
    ]
    return " ".join(kept) or "none"


def _leaves(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yields the leaves of nested objects with their dotted paths; skips null."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list | tuple):
        if value:
            yield path, ", ".join(_text(item) for item in value)
    elif value is not None:
        yield path, _text(value)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return " ".join(str(inner) for inner in value.values())
    return " ".join(str(value).split())
