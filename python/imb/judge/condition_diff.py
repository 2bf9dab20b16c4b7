"""Conditions that were not the same in all launches of two sides. Pure.

What is known of a launch lies in three places: the records (what the suite saw from inside), the facts of the launch
(what `imb` saw from outside) and the intent (what was asked for). Here each condition has one name and one text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

import msgspec

from imb.model import path
from imb.model.conditions import interfaces_in
from imb.model.gpus import gpu_of, memory_of
from imb.model.mpis import JOB_VARIABLES, library_name
from imb.model.observations import Launch, Side
from imb.model.records import OptionValue
from imb.model.text import natural

BUSIER = 0.5  # runnable processes: less difference in load is nothing
MORE_RUNNABLE = 1.0  # of others, when a launch starts: the same
BUSIER_CPUS = 0.2  # CPUs that others use while a launch runs: the same

_ENVIRONMENT = "environment"  # in conditions_of: it is known, whatever is set in it

# How often it is asked for first; what is not here comes behind, under the name of its field.
NAMES = {
    "placement": "placement",
    "path": "path of messages",
    "transports": "transports reported by the MPI",
    "processes": "ranks",
    "hosts": "hosts",
    "cpus": "CPUs of ranks",
    "memory": "memory of messages",
    "gpu": "GPU",
    "gpus": "GPUs of ranks",
    "gpu_driver": "GPU driver",
    "gpu_interface": "GPU interface",
    "gpu_link": "GPU link",
    "nvlinks": "NVLinks of a GPU",
    "ecc": "ECC of GPU memory",
    "gpu_support": "GPU memory, by the MPI",
    "options.load": "overlap load on",
    "mpi.name": "MPI library",
    "mpi.standard": "MPI standard",
    "mpi.thread_level": "thread level",
    "build.compiler": "compiler",
    "build.flags": "compiler flags",
    "build.interface": "binary interface",
    "program": "program",
    "version": "version",
    "machine.cpu_model": "CPU",
    "machine.cores": "cores",
    "machine.cpus": "CPUs",
    "machine.sockets": "sockets",
    "machine.threads_per_core": "threads per core",
    "machine.numa_nodes": "NUMA nodes",
    "machine.caches": "caches",
    "machine.memory_bytes": "memory in bytes",
    "platform.release": "kernel",
    "platform.kernel": "kernel build",
    "platform.machine": "architecture",
    "machine.system": "operating system",
    "machine.virtual_machine": "virtual machine",
    "machine.container": "container",
    "governors": "frequency governor",
    "clock_source": "clock source",
    "clock.source": "clock",
    "options.turns": "interleaved segments",
    "passes": "passes",
    "options.topo": "topology of neighborhood collectives",
    "launcher": "launcher",
    "intent.bind": "binding",
    "intent.ppn": "ranks per host",
    "intent.launcher": "kind of launcher",
    "intent.extra": "launcher arguments",
    "file.path": "folder of files",
    "file.file_system": "file system",
}
# What is chosen for a launch, besides variables of the environment.
_CHOSEN = {
    NAMES[place]
    for place in (
        "mpi.name", "intent.extra", "intent.bind", "intent.ppn", "intent.launcher", "hosts", "processes", "memory", "gpu",
        "gpu_driver", "build.compiler", "version", "machine.cpu_model", "platform.release", "governors", "file.file_system", "options.topo",
    )
}  # fmt: skip
_AS_THEY_ARE = (NAMES["intent.extra"], NAMES["hosts"], NAMES["machine.cpu_model"])
_NAMED = 2  # choices in the name of a side
_LONGEST = 40  # characters of each
_OF_GPUS = ("gpu", "gpu_driver", "gpu_interface", "gpu_link", "nvlinks", "ecc")
_VARIED = ("hosts", "CPUs of ranks", "GPUs of ranks")
_MOST_RANKS = 16  # whose places are one condition
# Duplicates of the above, facts that differ in each launch, and what is compared.
_PASSED_OVER = {
    "time",
    "load",
    "frequency_megahertz",
    "memory_free_bytes",
    "mpi",
    "mpi_wrapper",
    "machine.host",
    "machine.kernel",
    "machine.cpus_allowed",
    "platform.system",
    "clock.resolution_seconds",
    "options.matrix",
    "options.mbyte",
    "options.memory",
    "options.passes",
    "options.precision",
    "options.budget",
    "load_flops_per_second",
    "intent.ranks",
    "intent.hosts",
    "intent.cpus",
}


class Difference(msgspec.Struct, frozen=True):
    """A condition that was not the same in all launches: its values on side A and on side B, each once."""

    name: str
    a: list[str]
    b: list[str]


def differences(a: Side, b: Side) -> list[Difference]:
    """Conditions that differ between the sides or within one, and are known on both; what matters most comes first."""
    of_a, of_b = _said(a, b)
    order = {name: place for place, name in enumerate(NAMES.values())}
    names = sorted(of_a.keys() & of_b.keys(), key=lambda name: (order.get(name, len(order)), name))
    launches = len(a.launches) + len(b.launches)
    found = [
        Difference(name, of_a[name], of_b[name])
        for name in names
        if _differ(name, of_a[name], of_b[name]) and not _of_each(name, of_a[name], of_b[name], launches)
    ]
    return [_with_interface(one, of_a, of_b) for one in found] + _loads(a, b)


def names_of_sides(found: Sequence[Difference]) -> tuple[str, str] | None:
    """What to call A and B: by the MPI library, else by what else was chosen for them and differs; None where nothing does. What
    follows from a choice (transports, CPUs of ranks) and the state of the machine name no side."""
    chosen = {
        one.name: (one.a[0], one.b[0])
        for one in found
        if (one.name in _CHOSEN or one.name[0] == "$") and len(one.a) == len(one.b) == 1 and one.a != one.b
    }
    libraries = [library_name(one) for one in chosen.pop(NAMES["mpi.name"], ())]
    if libraries and libraries[0] != libraries[1]:
        return libraries[0], libraries[1]
    if any(name[0] == "$" for name in chosen):
        chosen.pop(NAMES["intent.extra"], None)  # a launcher turns its arguments into variables
    names = sorted(chosen, key=lambda name: name[0] != "$")
    if not names:
        return None
    a, b = (", ".join(_setting(name, chosen[name][side]) for name in names[:_NAMED]) for side in (0, 1))
    more = ", …" if len(names) > _NAMED else ""
    return a + more, b + more


def same_path(a: Side, b: Side, found: Sequence[Difference]) -> str | None:
    """That sides which differ by a setting took the same path for their messages: the setting selected no other. None where it did, or
    where the path is not known."""
    names = names_of_sides(found)
    if names is None or not any(one.name[0] == "$" or one.name == NAMES["intent.extra"] for one in found):
        return None
    of_a, of_b = _said(a, b)
    ways = [(of_a.get(name), of_b.get(name)) for name in (NAMES["path"], NAMES["transports"])]
    known = [(first, second) for first, second in ways if first and second]
    if not known or any(first != second or len(first) > 1 for first, second in known):
        return None
    return f"both sides took the same path: {known[0][0][0]}; {names[0]} and {names[1]} select no other transport"


def _setting(name: str, value: str) -> str:
    """`btl=tcp`, `UCX_TLS unset`, `kernel 6.2.0`, launcher arguments as they are."""
    if name in _AS_THEY_ARE:
        text = value
    elif name[0] == "$":
        variable = name[1:].removeprefix("OMPI_MCA_")
        text = f"{variable} unset" if value == "unset" else f"{variable}={value}"
    else:
        text = f"{name} {value}"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _with_interface(found: Difference, of_a: dict[str, list[str]], of_b: dict[str, list[str]]) -> Difference:
    """Different libraries behind one binary interface: it is named, as the executable can then be the same."""
    interfaces = [said.get(NAMES["build.interface"], []) for said in (of_a, of_b)]
    if found.name != NAMES["mpi.name"] or interfaces[0] != interfaces[1] or len(interfaces[0]) != 1:
        return found
    a, b = ([f"{one}, {interfaces[0][0]}" for one in side] for side in (found.a, found.b))
    return Difference(found.name, a, b)


def unknown(a: Side, b: Side) -> tuple[list[str], list[str]]:
    """Conditions that are known for B only, and those for A only."""
    of_a, of_b = _said(a, b)
    without = ["none"] in (of_a.get(NAMES["gpus"]), of_b.get(NAMES["gpus"]))
    names = [name for place, name in NAMES.items() if not (without and place in _OF_GPUS)]
    return (
        [name for name in names if name in of_b and name not in of_a],
        [name for name in names if name in of_a and name not in of_b],
    )


def _differ(name: str, a: Sequence[str], b: Sequence[str]) -> bool:
    # Places that vary in the same way on both sides are a design, not a difference.
    return set(a) != set(b) if name in _VARIED else len({*a, *b}) > 1


def of_the_job(name: str) -> bool:
    """Whether the launcher sets a variable for its ranks about this job, with another value in every launch."""
    return name[:1] == "$" and JOB_VARIABLES.match(name[1:]) is not None


def _of_each(name: str, a: Sequence[str], b: Sequence[str], launches: int) -> bool:
    """A variable that is another one in every launch is a launch's own name for something, such as a job's number."""
    return name[0] == "$" and (of_the_job(name) or (launches > 4 and len({*a, *b}) == launches))


def _said(a: Side, b: Side) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Values by name, each once, in the order of launches, of either side. A launch that does not say counts for
    nothing; a variable that it could have named and did not is `unset`."""
    sides = [[dict(conditions_of(launch)) for launch in side.launches] for side in (a, b)]
    variables = {name for side in sides for one in side for name in one if name.startswith("$")}
    said = []
    for side in sides:
        for one in side:
            if one.pop(_ENVIRONMENT, None):
                one |= dict.fromkeys(sorted(variables - one.keys()), "unset")
        names = dict.fromkeys(name for one in side for name in one)
        said.append({name: list(dict.fromkeys(one[name] for one in side if name in one)) for name in names})
    return said[0], said[1]


def conditions_of(launch: Launch) -> Iterator[tuple[str, str]]:
    """Name and text of what is known, each name once; a variable of the environment is `$NAME`."""
    run = msgspec.to_builtins(launch.run)
    outside = launch.facts.get("conditions")
    intent = launch.facts.get("intent")
    outside = dict(outside) if isinstance(outside, dict) else {}
    if "interfaces" in outside:
        outside["interfaces"] = [str(one) for one in interfaces_in(outside)]
    intent = intent if isinstance(intent, dict) else {}
    parts: dict[str, Any] = {
        "placement": launch.placement(),
        "path": "; ".join(
            f"{one.placement}: {one.name}"
            for one in path.ways(launch.run, launch.rows.values())
            if one.kind != "unknown"
        )
        or None,
        "transports": outside.pop("transports", None),
        "processes": len(launch.run.ranks) if launch.run.ranks else intent.get("ranks"),
        "hosts": ", ".join(launch.hosts()) or None,
        "cpus": _cpus(launch),
        **_gpus(launch, outside),
        "mpi": msgspec.structs.asdict(launch.run.mpi) if launch.run.mpi else None,
        **{name: run[name] for name in ("program", "version", "build", "platform", "clock", "file")},
        "options": {name: _option(name, value) for name, value in (launch.run.options or {}).items()},
        "arguments": _arguments(launch),
        "passes": launch.passes() if launch.rows else None,
        "off_cache": run["off_cache"],
    }
    told = dict(_flat({**parts, "intent": {**intent, "env": None}}))
    told = {**dict(_flat({k: v for k, v in outside.items() if k != "environment"})), **told}
    for place, text in told.items():
        if place not in _PASSED_OVER:
            yield _name(place), text
    if run["environment"] is not None or outside:
        yield _ENVIRONMENT, "known"
    # What the ranks saw goes before what the launcher saw, and that before what was asked for.
    merged: dict[str, object] = {}
    for variables in (intent.get("env"), outside.get("environment"), run["environment"]):
        merged |= variables if isinstance(variables, dict) else {}
    for name, value in merged.items():
        yield f"${name}", _text(value)


def _gpus(launch: Launch, outside: dict[str, Any]) -> dict[str, str | None]:
    """Memory of messages, and what is used for it: `none` where it is the host's alone."""
    memory, run, used = memory_of(launch.run), launch.run, launch.run.gpus or []
    known = [gpu for one in used if (gpu := gpu_of(outside, one))]
    outside.pop("gpus", None)
    if memory == "host" and not used:
        return {"memory": memory, "gpus": "none", "gpu_support": "not asked"}
    support = run.gpu_support
    places = [
        f"{gpu.host} {gpu.bus_address or gpu.index} (ranks {', '.join(map(str, gpu.ranks))})" for gpu in used
    ]
    return {
        "memory": memory,
        "gpu": _each(gpu.name for gpu in used),
        "gpus": ("; ".join(places) or None) if sum(len(gpu.ranks) for gpu in used) <= _MOST_RANKS else None,
        "gpu_driver": _each(gpu.driver for gpu in known),
        "gpu_interface": _each(f"{gpu.api} {gpu.driver}" if gpu.api and gpu.driver else None for gpu in used),
        "gpu_link": _each(str(gpu.link) if gpu.link.rate else None for gpu in known),
        "nvlinks": _each(None if gpu.nvlinks is None else str(gpu.nvlinks) for gpu in known),
        "ecc": _each(None if gpu.ecc is None else "on" if gpu.ecc else "off" for gpu in known),
        "gpu_support": " by ".join(filter(None, [support.answer, support.source])) if support else None,
    }


def _each(values: Iterable[str | None]) -> str | None:
    """Known values, each once."""
    return ", ".join(sorted({value for value in values if value}, key=natural)) or None


def _name(place: str) -> str:
    """What a condition is called; an option of the suite by its name."""
    if place not in NAMES and place.startswith("options."):
        return "-" + place.removeprefix("options.")
    return NAMES.get(place, place.replace(".", " ").replace("_", " "))


def _option(name: str, value: OptionValue) -> str:
    """As on the command line. What is written to a file is the same whatever the file's name."""
    if value is None:
        return "none"
    if name == "dumpfile" or isinstance(value, bool):
        return "on" if value else "off"
    return ", ".join(map(_text, value)) if isinstance(value, list) else _text(value)


_OUTPUTS = ("-json", "-dumpfile")


def _arguments(launch: Launch) -> str | None:
    """Of the suite, where a log has them but no options; without names of output files."""
    words = launch.run.command_line
    if not words or launch.run.has_all_options:
        return None
    words = words[next((at for at, word in enumerate(words) if "IMB-" in word), 0) :]
    kept = [word for before, word in pairwise(words) if not {before, word} & {*_OUTPUTS}]
    return " ".join(kept) or "none"


def _cpus(launch: Launch) -> str | None:
    known = [rank.cpus for rank in launch.run.ranks or [] if rank.cpus]
    return " | ".join(known) if known and len(known) <= _MOST_RANKS else None


def _flat(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Leaves of nested objects by dotted path; null is left out."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(inner, f"{path}.{name}" if path else str(name))
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


def _loads(a: Side, b: Side) -> list[Difference]:
    """What kept the machine busy: at the start of launches (mean of a minute), and while they ran."""
    places = (
        ("CPU used by other processes", ("load", "other_cpus"), BUSIER_CPUS, _percent),
        ("CPU given to other virtual machines", ("load", "stolen_cpus"), BUSIER_CPUS, _percent),
        # On a saturated machine others use no more CPU, however many they are.
        ("runnable processes at the start", ("load", "runnable"), MORE_RUNNABLE, "{:.0f}".format),
        ("load", ("conditions", "load"), BUSIER, "{:.2f}".format),
    )
    found = []
    for name, place, least, text in places:
        of_a, of_b = (_numbers(side, place) for side in (a, b))
        if of_a and of_b and abs(median(of_a) - median(of_b)) >= least:
            found.append(Difference(name, [_range(of_a, text)], [_range(of_b, text)]))
    return found


def _numbers(side: Side, place: tuple[str, str]) -> list[float]:
    """A number of the facts of each launch that has it."""
    of = [launch.facts.get(place[0]) for launch in side.launches]
    values = [one.get(place[1]) for one in of if isinstance(one, dict)]
    return [float(value) for value in values if isinstance(value, int | float)]


def _percent(cpus: float) -> str:
    return f"{cpus * 100:.0f} %"


def _range(values: Sequence[float], text: Callable[[float], str]) -> str:
    low, high = text(min(values)), text(max(values))
    return low if low == high else f"{low} to {high}"
