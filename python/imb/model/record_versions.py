"""Run records of version 1, whose options had names and values of their own, as those of version 2, which have the options of the
command line. The only place that knows version 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

FIRST = "openimb-record/1"
SCHEMA = "openimb-record/2"
READ = "openimb-record/1 or /2"

_MEBIBYTE, _GIBIBYTE = 2**20, 2**30

# Options whose value is the same, by their place in version 1.
_SAME = {
    "settings.iteration_policy": "iter_policy",
    "settings.seconds_per_sample": "time",
    "settings.warm_up_repetitions": "warmup",
    "lengths_bytes": "msgsize",
    "zero_size": "zero_size",
    "min_processes": "npmin",
    "data.type": "data_type",
    "data.contiguity": "contig_type",
    "reduction.type": "red_data_type",
    "thread_level": "thread_level",
    "warm_up": "warm_up",
    "root_shift": "root_shift",
    "in_place": "in_place",
    "synchronise_each": "sync",
    "own_barrier": "imb_barrier",
    "message_pause": "msg_pause",
    "window": "window_size",
    "partitions": "partitions",
    "progress": "progress",
    "window_kind": "window",
    "sync_mode": "sync_mode",
    "send_mode": "send_mode",
    "layout": "layout",
    "packing": "packing",
    "aggregate_mode": "aggregate_mode",
    "file_sync": "fsync",
    "reorder": "reorder",
    "threads.count": "threads",
    "threads.communicators": "comm",
    "threads.memory": "malloc_algo",
    "threads.alignment_bytes": "malloc_align",
    "threads.pinned": "pin_threads",
    "threads.stride": "stride",
    "threads.meet": "barrier",
    "counts": "count",
    "passes.most": "passes",
    "passes.budget_seconds": "budget",
    "pairs.most_pairs": "pairs",
    "fabric.endpoint": "endpoint",
    "fabric.serial": "serial",
    "fabric.timeout_seconds": "pair_timeout",
    "check": "check",
    "show_tail": "show_tail",
    "dump_file": "dumpfile",
    "bytes_per_megabyte": "mbyte",
}
_PARAMETERS = {
    "barriers": "N_BARR",
    "target_cpu_seconds": "TARGET_CPU_SECS",
    "cache_size_bytes": "CACHE_SIZE",
    "cache_line_bytes": "CACHE_LINE_SIZE",
}
_MULTI = {"summary": 0, "each_group": 1}


def in_version_2(run: dict[str, Any]) -> dict[str, Any]:
    """A record as read from JSON. Raises ValueError where its options are not those of version 1."""
    if run.get("schema") != FIRST:
        return run
    options = run.get("options")
    return {
        **run,
        "schema": SCHEMA,
        "options": options and options_in_version_2(options, run.get("component")),
    }


def options_in_version_2(first: Mapping[str, Any], component: object) -> dict[str, Any]:
    """From those of version 1. Raises ValueError where they are not."""
    try:
        return dict(_options(first, component))
    except (ArithmeticError, AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"options of {FIRST}: {type(error).__name__}: {error}") from None


def _options(first: Mapping[str, Any], component: object) -> Iterator[tuple[str, object]]:
    for place, name in _SAME.items():
        outer, _, inner = place.rpartition(".")
        table = first.get(outer) or {} if outer else first
        if inner in table:
            value = table[inner]
            yield name, (value or None) if isinstance(value, list) else _plain(value)
    if settings := first.get("settings"):
        yield from _settings(settings)
        yield "pause", _plain(first.get("pause_seconds", 0) * 1e6)
        yield "memory", "host"
        if component in ("NBC", "MPI4"):
            yield "load", "cpu"
        if component in ("MPI1", "NBC"):
            yield "topo", "2d"
        yield from dict.fromkeys(("passes", "precision", "budget") if not first.get("passes") else ()).items()
    if "parts" in first:
        yield "turns", first["parts"] if first["parts"] > 1 else None
    if "multi" in first:
        yield "multi", _MULTI.get(first["multi"])
    if "map" in first:
        yield "map", (grid := first["map"]) and f"{grid['rows']}x{grid['columns']}"
    if "info" in first:
        yield "info", [f"{key}={value}" for key, value in first["info"].items()] or None
    if passes := first.get("passes"):
        precision = passes.get("precision")
        yield "precision", None if precision is None else _plain(precision * 100)
    if pairs := first.get("pairs"):
        yield "seed", pairs["seed"]
        yield "halo", f"{pairs['halo_dimensions']}{',corners' if pairs['halo_corners'] else ''}"
    if topology := first.get("topology"):
        yield from _topology(topology)
    if fabric := first.get("fabric"):
        yield from _fabric(fabric)
    if memory := first.get("memory"):
        send, receive = memory.get("send", "host"), memory.get("receive", "host")
        yield "memory", send if send == receive else f"{send},{receive}"
        if memory.get("load", "cpu") != "cpu":
            yield "load", memory["load"]


def _settings(settings: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    if {"min_message_log", "max_message_log"} <= settings.keys():
        yield "msglog", f"{settings['min_message_log']}:{settings['max_message_log']}"
    if {"repetitions", "overall_volume_bytes", "non_aggregate_repetitions"} <= settings.keys():
        volume = _plain(settings["overall_volume_bytes"] / _MEBIBYTE)
        yield "iter", f"{settings['repetitions']},{volume},{settings['non_aggregate_repetitions']}"
    if "max_memory_bytes" in settings:
        yield "mem", _plain(settings["max_memory_bytes"] / _GIBIBYTE)
    if settings.keys() >= _PARAMETERS.keys():
        yield "set", [f"{name}={_plain(settings[place])}" for place, name in _PARAMETERS.items()]


def _topology(topology: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    if topology["kind"] == "random":
        yield "topo", f"random:{topology['degree']}"
        yield "seed", topology["seed"]
        return
    extents = topology.get("extents")
    grid = "x".join(map(str, extents)) if extents else f"{topology['dimensions']}d"
    yield "topo", f"graph:{grid}" if topology["kind"] == "graph" else grid


def _fabric(fabric: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    if "seed" in fabric:
        yield "seed", fabric["seed"]
    if rounds := fabric.get("rounds"):
        kind = rounds["kind"]
        values = {"some": rounds.get("count"), "one_to_all": kind, "all_to_one": kind}
        yield "rounds", values.get(kind)
        yield "halves", kind == "halves"
        yield "pairs_file", True if kind == "listed" else None


def _plain(value: Any) -> Any:
    """A number as the suite writes it: a whole one without a fraction, others with at most 15 digits."""
    if not isinstance(value, float):
        return value
    rounded = float(f"{value:.15g}")
    return int(rounded) if rounded.is_integer() else rounded
