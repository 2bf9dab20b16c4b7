"""Reads and validates the definition of a campaign, from a file or a command line. Pure, except `read_campaign`. imb.runner.planning plans
the launches."""

from __future__ import annotations

import difflib
import hashlib
import itertools
import re
import shlex
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin

import msgspec

from imb.model import gpus, sequential_design
from imb.model.defaults import RELEVANT
from imb.model.errors import ImbError
from imb.model.folders import expand_path
from imb.model.intent import Bind, LauncherName
from imb.model.records import Component
from imb.model.units import share_of
from imb.mpi.arguments import override_arguments
from imb.runner import passes, selection

Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
Seconds: TypeAlias = Annotated[float, msgspec.Meta(gt=0)]
Share: TypeAlias = Annotated[float, msgspec.Meta(ge=1e-5, le=1)]
Budget: TypeAlias = Annotated[float, msgspec.Meta(ge=passes.SHORTEST_BUDGET, le=passes.LONGEST_BUDGET)]
Value: TypeAlias = str | int | float
Words: TypeAlias = str | list[str]  # a string is divided into words as a shell does
_NAME = re.compile(r"[\w.+=:-]+(/[\w.+=:-]+)*$", re.ASCII)


class VariantSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of a variant. A setting that is None or empty has the default of `imb run`."""

    mpi: str | None = None
    compiler: str | None = None
    programs: str | None = None
    env: dict[str, Value] = {}
    launcher: LauncherName | None = None
    launcher_options: Words = ()  # type: ignore[assignment]
    bind: Bind | None = None
    cpus: list[Annotated[int, msgspec.Meta(ge=0)]] | None = None
    hosts: list[str] | None = None
    ppn: Positive | None = None
    memory: str | None = None
    gpu: int | str | None = None
    arguments: Words = ()  # type: ignore[assignment]
    setup: Words = ()  # type: ignore[assignment]
    teardown: Words = ()  # type: ignore[assignment]
    classic: bool | None = None
    precision: Share | None = None
    launch_budget: Budget | None = None


class Campaign(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a campaign file. Its variants are `variants`, or all combinations of the values of `axes`. With `until_decided`,
    `launches` is the largest number of rounds, and each variant is compared with the first one; `relevant` and `metric` have the
    meaning of these options of `imb compare`."""

    benchmarks: list[str | list[str]]
    name: str = ""
    class_: Literal["single", "parallel", "collective"] | None = msgspec.field(name="class", default=None)
    processes: Positive | list[Positive] = 2
    launches: Positive | None = None
    until_decided: bool = False
    budget: Seconds | None = None
    relevant: Annotated[float, msgspec.Meta(gt=0, lt=100)] = RELEVANT
    metric: str = "time"
    segments: Annotated[int, msgspec.Meta(ge=1, le=passes.MOST_SEGMENTS)] = 1
    repeats: Annotated[int, msgspec.Meta(ge=0)] = 0
    classic: bool = False
    precision: Share | None = None
    launch_budget: Budget | None = None
    arguments: Words = ()  # type: ignore[assignment]
    timeout: Seconds | None = None
    setup_timeout: Seconds = 300
    turn_timeout: Seconds | None = None
    jobs: Annotated[int, msgspec.Meta(ge=1, le=100)] = 1
    host_pairs: list[str] = []
    seed: int | None = None
    common: VariantSettings = VariantSettings()
    variants: dict[str, VariantSettings] = {}
    axes: dict[str, dict[str, VariantSettings]] = {}


def read_campaign(path: Path) -> tuple[Campaign, str]:
    """The campaign in a file, and a hash of the file. Raises OSError, or ImbError with the name of the wrong key."""
    data = path.read_bytes()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ImbError(f"{path} is no TOML file ({error.reason} at byte {error.start})") from error
    return parse_campaign(text, path), hashlib.sha256(data).hexdigest()


def parse_campaign(text: str, path: Path) -> Campaign:
    """The campaign in a file's text. Relative paths in it are relative to the file's folder. Raises ImbError."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ImbError(f"{path} is not TOML: {error}") from error
    try:
        campaign: Campaign = _converted(_read_percentages(data), Campaign)
        campaign = msgspec.structs.replace(campaign, name=campaign.name or path.stem)
        examine_campaign(campaign)
    except ImbError as error:
        raise ImbError(f"{path}: {error}") from error
    return _resolve_paths(campaign, path.parent)


def _read_percentages(table: dict[str, Any], key: str = "") -> dict[str, Any]:
    """The table with percentages such as "2%" converted to shares. Raises ImbError if such a key has another value."""
    shares: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict) and name != "env":
            shares[name] = _read_percentages(value, f"{key}{name}.")
        elif name in ("precision", "relevant"):
            shares[name] = _read_percentage(value, key + name)
    return table | shares


def _read_percentage(value: object, key: str) -> float:
    if not isinstance(value, str):
        raise ImbError(f'{key}: expected a percentage in quotes, such as "2%", got {value}')
    if key.endswith("precision"):
        try:
            return passes.precision_share(value)
        except ImbError as error:
            raise ImbError(f"{key}: {error}") from error
    return share_of(value, key)


def _converted(data: object, kind: Any, key: str = "", *, strict: bool = True) -> Any:
    """`data` converted to this type. Raises ImbError with msgspec's reason and the key in TOML's notation."""
    try:
        return msgspec.convert(data, kind, strict=strict)
    except msgspec.ValidationError as error:
        # In a table of tables, msgspec does not name the inner table.
        for name, value, value_kind in _keys(data, kind):
            _converted(value, value_kind, f"{key}.{name}" if key else name, strict=strict)
        reason, _, inner = str(error).partition(" - at `$")
        raise ImbError(_explain(reason, kind, key + inner.strip("`"))) from error


def _keys(data: object, kind: Any) -> list[tuple[str, object, Any]]:
    """Name, value and type of each known key of a table."""
    if not isinstance(data, dict):
        return []
    if get_origin(kind) is dict:
        return [(name, value, get_args(kind)[1]) for name, value in data.items()]
    known = {field.encode_name: field.type for field in _fields(kind)}
    return [(name, value, known[name]) for name, value in data.items() if name in known]


def _fields(kind: Any) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind) if hasattr(kind, "__struct_fields__") else ()


def _explain(reason: str, kind: Any, key: str) -> str:
    """The message for a reason that msgspec reports."""
    if unknown := re.search(r"unknown field `(.*)`", reason):
        known = [field.encode_name for field in _fields(kind)]
        near = difflib.get_close_matches(unknown[1], known, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        return f"no key {f'{key}.' if key else ''}{unknown[1]}; {hint}"
    if missing := re.search(r"missing required field `(.*)`", reason):
        return f'{missing[1]} is missing; give for instance {missing[1]} = ["PingPong", "Allreduce"]'
    if "enum" in reason:
        literals = (annotation for annotation in (kind, *get_args(kind)) if get_origin(annotation) is Literal)
        choices = ", ".join(choice for literal in literals for choice in get_args(literal))
        return f"{key}: {reason.split()[-1]} is not one of {choices}"
    return f"{key}: {_plain_reason(reason[:1].lower() + reason[1:])}"


_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "object": "a table",
    "array": "a list",
}
_LIMITS = {">= ": "of at least ", "<= ": "of at most ", "> ": "above ", "< ": "below "}


def _plain_reason(reason: str) -> str:
    """The reason with msgspec's types in plain English: `expected a whole number of at least 1`."""
    reason = reason.replace(" | null`", "`")
    reason = re.sub(
        r"`([\w |]+)`",
        lambda match: " or ".join(_TYPES.get(name, name) for name in match[1].split(" | ")),
        reason,
    )
    return re.sub(r"[<>]=? ", lambda match: _LIMITS[match[0]], reason)


def examine_campaign(campaign: Campaign) -> None:
    """Raises ImbError if settings contradict each other."""
    from imb.model.observations import refuse_unknown_metric

    refuse_unknown_metric(campaign.metric)
    if not campaign.variants and not campaign.axes:
        raise ImbError("no variants; give at least one table [variants.NAME], or [axes.AXIS.NAME]")
    if campaign.variants and campaign.axes:
        raise ImbError("both variants and axes; give one of them")
    for name in (
        campaign.name,
        *campaign.variants,
        *(value for axis in campaign.axes.values() for value in axis),
    ):
        examine_name(name)
    for axis, values in campaign.axes.items():
        if not values:
            raise ImbError(f"axes.{axis} has no values; give tables [axes.{axis}.NAME]")
    if not campaign.benchmarks:
        raise ImbError('benchmarks is empty; give for instance ["PingPong", "Allreduce"]')
    selections(campaign)
    for name, variant in variants(campaign).items():
        if variant.bind and variant.cpus:
            raise ImbError(
                f"variant {name}: cpus and bind cannot be combined; cpus pins each rank to one CPU"
            )
        _refuse_memory(campaign, name, variant)
    if campaign.repeats:
        _refuse_repeats(campaign)
    if campaign.until_decided:
        _refuse_until_decided(campaign)
    elif campaign.budget:
        raise ImbError("budget needs until_decided = true; without it, give launches")
    if campaign.segments > 1:
        _refuse_segments(campaign)
    elif campaign.turn_timeout is not None:
        raise ImbError("turn_timeout applies only to interleaved launches; give segments, or omit it")
    if campaign.until_decided or campaign.segments > 1:
        _refuse_both_ways(campaign)


def _refuse_memory(campaign: Campaign, name: str, variant: VariantSettings) -> None:
    """Raises ImbError if the memory or GPU does not exist, if IMB-IO is selected, or if IMB's arguments repeat the option."""
    gpus.refuse_twice(variant.memory, variant.gpu, imb_arguments(campaign, variant), f"variant {name}: ")
    if gpu_arguments(variant, f"variant {name}: "):
        for chosen in selections(campaign):
            selection.refuse_files(chosen, f"variant {name}: memory and gpu")


def gpu_arguments(variant: VariantSettings, where: str = "") -> list[str]:
    """The suite's arguments -memory and -gpu for a variant. Raises ImbError."""
    return gpus.arguments(variant.memory, variant.gpu, where)


def examine_name(name: str) -> None:
    """Raises ImbError if the name cannot be part of a label."""
    if not _NAME.match(name):
        raise ImbError(f"{name!r} becomes part of a label: letters, digits and ._+=:- only")


def _refuse_repeats(campaign: Campaign) -> None:
    """Raises ImbError if imb could not tell which launches are outside the dominant state, or if looks would count repeats."""
    if campaign.until_decided:
        raise ImbError("repeats and until_decided cannot be combined; with until_decided, more rounds follow")
    for name, variant in variants(campaign).items():
        if is_classic(campaign, variant):
            raise ImbError(
                f"variant {name}: repeats needs the state probes of rows in passes; omit it, or classic"
            )


def _refuse_until_decided(campaign: Campaign) -> None:
    """Raises ImbError if the comparison could never be decided."""
    if campaign.launches is not None and campaign.launches < sequential_design.FIRST:
        raise ImbError(
            f"launches: {campaign.launches} is too few with until_decided, which looks first after"
            f" {sequential_design.FIRST} rounds"
        )
    if len(variants(campaign)) < 2:
        raise ImbError("until_decided judges variants against the first one; give two or more")


def _refuse_segments(campaign: Campaign) -> None:
    """Raises ImbError if the campaign has segments, but its launches cannot run at the same time."""
    hint = "with segments all variants run at the same time"
    if any("IO" in chosen for chosen in selections(campaign)):
        raise ImbError(f"{hint}, and IMB-IO's files are in one folder; leave segments out")
    for name, variant in variants(campaign).items():
        if variant.setup or variant.teardown:
            raise ImbError(
                f"variant {name}: {hint}, so none can be set up; leave segments out, or setup and teardown"
            )
        if variant.launcher == "srun":
            raise ImbError(f"variant {name}: {hint}, and steps of srun share no CPUs; leave segments out")


def interleaving_obstacle(campaign: Campaign) -> str | None:
    """Why the launches of these variants are not interleaved by default, or None if they can run at the same time. Raises ImbError if
    names or arguments are wrong."""
    if any("IO" in chosen for chosen in selections(campaign)):
        return "IMB-IO's files are in one folder"
    for name, variant in variants(campaign).items():
        if variant.setup or variant.teardown:
            return f"variant {name} has setup or teardown commands"
        if variant.launcher == "srun":
            return "steps of srun share no CPUs"
        if variant.memory not in (None, "host") or variant.gpu is not None:
            return "a GPU may allow one process at a time"
        if is_classic(campaign, variant):
            return "classic rows need segments of 0.1 s or more; --segments interleaves them"
    return None


def _refuse_both_ways(campaign: Campaign) -> None:
    """Raises ImbError if some variants are classic and others in passes, so that they cannot be compared."""
    classic = {name: is_classic(campaign, variant) for name, variant in variants(campaign).items()}
    if len({*classic.values()}) > 1:
        first = next(name for name, value in classic.items() if value)
        raise ImbError(
            f"variant {first} is classic and others are measured in passes, which are not compared with each other"
        )


def imb_arguments(campaign: Campaign, variant: VariantSettings) -> list[str]:
    """IMB's arguments for a variant: first the campaign's, then the variant's. Raises ImbError."""
    return [*split_words(campaign.arguments), *split_words(variant.arguments)]


def is_classic(campaign: Campaign, variant: VariantSettings) -> bool:
    """Whether the launches of a variant are classic."""
    reason = passes.classic_reason(imb_arguments(campaign, variant))
    return sampling_of(campaign, variant).classic or reason is not None


def classic_argument(campaign: Campaign) -> str | None:
    """The first IMB argument that makes a variant classic although its settings do not."""
    reasons = (
        passes.classic_reason(imb_arguments(campaign, variant))
        for variant in variants(campaign).values()
        if not sampling_of(campaign, variant).classic
    )
    return next(filter(None, reasons), None)


def sampling_of(campaign: Campaign, variant: VariantSettings) -> passes.Sampling:
    """How the rows of a variant are measured. Settings of the variant take precedence over settings of the campaign."""
    if variant.classic:
        return passes.Sampling(classic=True, precision=variant.precision, budget=variant.launch_budget)
    return passes.Sampling(
        classic=campaign.classic if variant.classic is None else False,
        precision=campaign.precision if variant.precision is None else variant.precision,
        budget=campaign.launch_budget if variant.launch_budget is None else variant.launch_budget,
    )


def _resolve_paths(campaign: Campaign, folder: Path) -> Campaign:
    """The campaign with paths made absolute; relative ones start from this folder."""

    def path(text: str) -> str:
        return str((folder / expand_path(Path(text))).absolute())

    def place(settings: VariantSettings) -> VariantSettings:
        mpi, programs = settings.mpi, settings.programs
        if mpi is not None and ("/" in mpi or mpi.startswith("~")):  # else it is a name
            mpi = path(mpi)
        return msgspec.structs.replace(settings, mpi=mpi, programs=path(programs) if programs else None)

    return msgspec.structs.replace(
        campaign,
        common=place(campaign.common),
        variants={name: place(variant) for name, variant in campaign.variants.items()},
        axes={
            axis: {name: place(variant) for name, variant in values.items()}
            for axis, values in campaign.axes.items()
        },
    )


def variants(campaign: Campaign) -> dict[str, VariantSettings]:
    """Name -> variant, with the common settings included. A combination of axes is named after its values: `gcc/2x4`."""
    if campaign.variants:
        return {name: merge_settings(campaign.common, variant) for name, variant in campaign.variants.items()}
    named: dict[str, VariantSettings] = {}
    for values in itertools.product(*(axis.items() for axis in campaign.axes.values())):
        settings = campaign.common
        for _, variant in values:
            settings = merge_settings(settings, variant)
        named["/".join(name for name, _ in values)] = settings
    return named


def merge_settings(first: VariantSettings, then: VariantSettings) -> VariantSettings:
    """Merges two sets of settings. Variables, arguments and commands of both are kept, with teardowns in reverse order. For every other
    setting, and for launcher options that set the same thing, `then` overrides `first`."""
    settings = {
        field.name: getattr(then, field.name)
        for field in msgspec.structs.fields(then)
        if getattr(then, field.name) is not None
    }
    added: dict[str, Any] = {
        "env": {**first.env, **then.env},
        "launcher_options": override_arguments(
            split_words(first.launcher_options), split_words(then.launcher_options)
        ),
        "arguments": [*split_words(first.arguments), *split_words(then.arguments)],
        "setup": [*commands(first.setup), *commands(then.setup)],
        "teardown": [*commands(then.teardown), *commands(first.teardown)],
    }
    return msgspec.structs.replace(first, **(settings | added))


def split_words(words: Words) -> list[str]:
    """The words. A string is divided as a shell does. Raises ImbError if it cannot be divided."""
    try:
        return shlex.split(words) if isinstance(words, str) else list(words)
    except ValueError as error:
        raise ImbError(f"{words!r}: {error}".lower()) from error


def commands(words: Words) -> list[str]:
    """The shell commands. A string is one command."""
    return [words] if isinstance(words, str) else list(words)


def selections(campaign: Campaign) -> list[dict[Component, list[str]]]:
    """The benchmarks of each launch: one launch for all names, or one for each list if there are lists."""
    names = campaign.benchmarks
    if all(isinstance(name, str) for name in names):
        return [selection.select([name for name in names if isinstance(name, str)], campaign.class_)]
    return [selection.select([name] if isinstance(name, str) else name, campaign.class_) for name in names]


_KEYS = {field.encode_name for field in msgspec.structs.fields(VariantSettings)} - {
    "env",
    "setup",
    "teardown",
    "launcher_options",
    "classic",
    "precision",
    "launch_budget",
}


def parse_variant(text: str) -> VariantSettings:
    """A variant in one line: `UCX_TLS=tcp bind=core cpus=0,3 arguments='-off_cache -1' --mca btl self,tcp`.

    A word NAME=VALUE sets a variable, or a setting if NAME is in _KEYS. The first word that begins with - and all words after it
    are launcher arguments. Raises ImbError.
    """
    words = split_words(text)
    first = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    settings: dict[str, Any] = {"launcher_options": words[first:], "env": {}}
    for word in words[:first]:
        key, equals, value = word.partition("=")
        if not equals or not key:
            near = difflib.get_close_matches(key, _KEYS, 1)
            raise ImbError(
                f'{word!r}: give NAME=VALUE{f", such as {near[0]}=..." if near else ""}; "" is a variant without settings'
            )
        if key not in _KEYS:
            if key.islower() and (near := difflib.get_close_matches(key, _KEYS, 1)):
                raise ImbError(
                    f"{word!r}: no setting {key}; did you mean {near[0]}? (a variable of such a name: `env {word} imb ...`)"
                )
            settings["env"][key] = value
        elif key in ("cpus", "hosts"):
            settings[key] = value.split(",")
        else:
            settings[key] = value
    try:
        variant: VariantSettings = _converted(settings, VariantSettings, strict=False)
    except ImbError as error:
        raise ImbError(f"{text!r}: {error}") from error
    return variant
