"""A campaign as its file or a command line says it, read and examined. Pure, but for `read_campaign`. imb.measure.planning makes the launches."""

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

from imb.measure import passes, selection
from imb.model import gpus, moved, sequential_design
from imb.model.errors import ImbError
from imb.model.intent import Bind
from imb.model.notes import note
from imb.model.records import Component
from imb.mpi.arguments import overriding

Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
Seconds: TypeAlias = Annotated[float, msgspec.Meta(gt=0)]
MOST_SEGMENTS = 1000  # of the suite's -turns
USUAL_SEGMENTS = 100  # of imb ab
Share: TypeAlias = Annotated[float, msgspec.Meta(ge=1e-5, le=1)]
Budget: TypeAlias = Annotated[float, msgspec.Meta(ge=0.1, le=1e7)]  # as the suite takes it
Value: TypeAlias = str | int | float
Words: TypeAlias = str | list[str]  # a string is divided as a shell does
_NAME = re.compile(r"[\w.+=:-]+(/[\w.+=:-]+)*$", re.ASCII)


class VariantSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What makes a variant; all that is None or empty is as `imb run` does it without being told."""

    mpi: str | None = None
    compiler: str | None = None
    programs: str | None = None
    env: dict[str, Value] = {}
    launcher: Literal["mpiexec", "srun"] | None = None
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
    """The file. `variants` are given one by one, or are all combinations of the values of `axes`. With `until_decided`,
    `launches` is the most, and variants are judged against the first one; `relevant` and `metric` as of `imb compare`."""

    benchmarks: list[str | list[str]]
    name: str = ""
    class_: Literal["single", "parallel", "collective"] | None = msgspec.field(name="class", default=None)
    processes: Positive | list[Positive] = 2
    launches: Positive | None = None
    until_decided: bool = False
    budget: Seconds | None = None
    relevant: Annotated[float, msgspec.Meta(gt=0, lt=100)] = 0.05
    metric: str = "time"
    segments: Annotated[int, msgspec.Meta(ge=1, le=MOST_SEGMENTS)] = 1
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
    """The campaign of a file, and a hash of the file. Raises ImbError that names the key that is wrong, OSError."""
    data = path.read_bytes()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ImbError(f"{path} is no TOML file ({error.reason} at byte {error.start})") from error
    return parse_campaign(text, path), hashlib.sha256(data).hexdigest()


def parse_campaign(text: str, path: Path) -> Campaign:
    """The campaign of a file's text; relative paths in it are relative to the file. Raises ImbError."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ImbError(f"{path} is not TOML: {error}") from error
    try:
        table, moved_lines = moved.current_keys(found)
        made: Campaign = _converted(table, Campaign)
        made = msgspec.structs.replace(made, name=made.name or path.stem)
        examine_campaign(made)
    except ImbError as error:
        raise ImbError(f"{path}: {error}") from error
    for line in moved_lines:
        note(f"{path}: {line}")
    return _anchored(made, path.parent)


def _converted(found: object, kind: Any, key: str = "", *, strict: bool = True) -> Any:
    """`found` as this type. Raises ImbError with msgspec's words and the key as TOML writes it."""
    try:
        return msgspec.convert(found, kind, strict=strict)
    except msgspec.ValidationError as error:
        for name, value, of in _keys(found, kind):  # msgspec does not name the table in a table of tables
            _converted(value, of, f"{key}.{name}" if key else name, strict=strict)
        words, _, inner = str(error).partition(" - at `$")
        raise ImbError(_explained(words, kind, key + inner.strip("`"))) from error


def _keys(found: object, kind: Any) -> list[tuple[str, object, Any]]:
    """Name, value and type of each known key of a table."""
    if not isinstance(found, dict):
        return []
    if get_origin(kind) is dict:
        return [(name, value, get_args(kind)[1]) for name, value in found.items()]
    known = {field.encode_name: field.type for field in _fields(kind)}
    return [(name, value, known[name]) for name, value in found.items() if name in known]


def _fields(kind: Any) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind) if hasattr(kind, "__struct_fields__") else ()


def _explained(words: str, kind: Any, key: str) -> str:
    if unknown := re.search(r"unknown field `(.*)`", words):
        known = [field.encode_name for field in _fields(kind)]
        near = difflib.get_close_matches(unknown[1], known, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        return f"no key {f'{key}.' if key else ''}{unknown[1]}; {hint}"
    if missing := re.search(r"missing required field `(.*)`", words):
        return f'{missing[1]} is missing; give for instance {missing[1]} = ["PingPong", "Allreduce"]'
    if "enum" in words:
        literals = (one for one in (kind, *get_args(kind)) if get_origin(one) is Literal)
        choices = ", ".join(choice for literal in literals for choice in get_args(literal))
        return f"{key}: {words.split()[-1]} is none of {choices}"
    words = re.sub(r"\b(object|array)\b", lambda kind: {"object": "table", "array": "list"}[kind[0]], words)
    return f"{key}: {words[:1].lower()}{words[1:]}"


def examine_campaign(made: Campaign) -> None:
    """Raises ImbError where what is wanted does not go together."""
    from imb.model.observations import refuse_unknown_metric

    refuse_unknown_metric(made.metric)
    if not made.variants and not made.axes:
        raise ImbError("no variants; give at least one table [variants.NAME], or [axes.AXIS.NAME]")
    if made.variants and made.axes:
        raise ImbError("both variants and axes; give one of them")
    for name in (made.name, *made.variants, *(value for axis in made.axes.values() for value in axis)):
        examine_name(name)
    for axis, values in made.axes.items():
        if not values:
            raise ImbError(f"axes.{axis} has no values; give tables [axes.{axis}.NAME]")
    if not made.benchmarks:
        raise ImbError('benchmarks is empty; give for instance ["PingPong", "Allreduce"]')
    selections(made)
    for name, variant in variants(made).items():
        if variant.bind and variant.cpus:
            raise ImbError(
                f"variant {name}: cpus and bind exclude each other; cpus pins each rank to one CPU"
            )
        _refuse_memory(made, name, variant)
    if made.repeats:
        _refuse_repeats(made)
    if made.until_decided:
        _refuse_until_decided(made)
    elif made.budget:
        raise ImbError("budget is of until_decided = true; without it, give launches")
    if made.segments > 1:
        _refuse_segments(made)
    elif made.turn_timeout is not None:
        raise ImbError("turn_timeout is of interleaved launches; give segments, or omit it")
    if made.until_decided or made.segments > 1:
        _refuse_both_ways(made)


def _refuse_memory(made: Campaign, name: str, variant: VariantSettings) -> None:
    """Raises ImbError where there is no such memory or GPU, it is of files, or IMB's arguments have another one."""
    words = [*split_words(made.arguments), *split_words(variant.arguments)]
    gpus.refuse_twice(variant.memory, variant.gpu, words, f"variant {name}: ")
    if gpu_arguments(variant, f"variant {name}: "):
        for chosen in selections(made):
            selection.refuse_files(chosen, f"variant {name}: memory and gpu")


def gpu_arguments(variant: VariantSettings, where: str = "") -> list[str]:
    """The suite's -memory and -gpu. Raises ImbError."""
    return gpus.arguments(variant.memory, variant.gpu, where)


def examine_name(name: str) -> None:
    """Raises ImbError where it cannot be part of a label."""
    if not _NAME.match(name):
        raise ImbError(f"{name!r} becomes part of a label: letters, digits and ._+=:- only")


def _refuse_repeats(made: Campaign) -> None:
    """Raises ImbError where no launch could be known to be outside the dominant state, or looks would count repeats."""
    if made.until_decided:
        raise ImbError("repeats and until_decided exclude each other; with until_decided, more rounds follow")
    for name, one in variants(made).items():
        if is_classic(made, one):
            raise ImbError(
                f"variant {name}: repeats needs the state probes of rows in passes; omit it, or classic"
            )


def _refuse_until_decided(made: Campaign) -> None:
    """Raises ImbError where nothing could ever be decided."""
    if made.launches is not None and made.launches < sequential_design.FIRST:
        raise ImbError(
            f"launches: {made.launches} is too few with until_decided, which looks first after"
            f" {sequential_design.FIRST} rounds"
        )
    if len(variants(made)) < 2:
        raise ImbError("until_decided judges variants against the first one; give two or more")


def _refuse_segments(made: Campaign) -> None:
    """Raises ImbError where launches cannot run at the same time."""
    hint = "with segments all variants run at the same time"
    if any("IO" in chosen for chosen in selections(made)):
        raise ImbError(f"{hint}, and IMB-IO's files are in one folder; leave segments out")
    for name, variant in variants(made).items():
        if variant.setup or variant.teardown:
            raise ImbError(
                f"variant {name}: {hint}, so none can be set up; leave segments out, or setup and teardown"
            )
        if variant.launcher == "srun":
            raise ImbError(f"variant {name}: {hint}, and steps of srun share no CPUs; leave segments out")


def why_launch_by_launch(made: Campaign) -> str | None:
    """Why the launches of these variants are not interleaved unless the user wants that; None: they can run side by side. Raises
    ImbError where names or arguments are wrong."""
    if any("IO" in chosen for chosen in selections(made)):
        return "IMB-IO's files are in one folder"
    for name, one in variants(made).items():
        if one.setup or one.teardown:
            return f"variant {name} has setup or teardown commands"
        if one.launcher == "srun":
            return "steps of srun share no CPUs"
        if one.memory not in (None, "host") or one.gpu is not None:
            return "a GPU may be of one process at a time"
        if is_classic(made, one):
            return "rows of one burst need segments of 0.1 s or more; --segments interleaves them"
    return None


def _refuse_both_ways(made: Campaign) -> None:
    """Raises ImbError where variants could not be judged against each other."""
    ways = {name: is_classic(made, one) for name, one in variants(made).items()}
    if len({*ways.values()}) > 1:
        classic = next(name for name, one in ways.items() if one)
        raise ImbError(
            f"variant {classic} is classic and others are measured in passes, which are not compared with each other"
        )


def is_classic(made: Campaign, one: VariantSettings) -> bool:
    """Whether the launches of a variant measure each row in one burst."""
    arguments = [*split_words(made.arguments), *split_words(one.arguments)]
    return sampling_of(made, one).classic or passes.why_classic(arguments) is not None


def why_variant_classic(made: Campaign) -> str | None:
    """The first of IMB's arguments that makes a variant classic which was not asked to be."""
    found = (
        passes.why_classic([*split_words(made.arguments), *split_words(one.arguments)])
        for one in variants(made).values()
        if not sampling_of(made, one).classic
    )
    return next(filter(None, found), None)


def sampling_of(made: Campaign, one: VariantSettings) -> passes.Sampling:
    """How the rows of a variant are measured: what it says goes before what the campaign says."""
    if one.classic:
        return passes.Sampling(classic=True, precision=one.precision, budget=one.launch_budget)
    return passes.Sampling(
        classic=made.classic if one.classic is None else False,
        precision=made.precision if one.precision is None else one.precision,
        budget=made.launch_budget if one.launch_budget is None else one.launch_budget,
    )


def _anchored(made: Campaign, folder: Path) -> Campaign:
    def place(settings: VariantSettings) -> VariantSettings:
        def path(word: str | None) -> str | None:
            if word is None or ("/" not in word and not word.startswith("~")):
                return word
            return str((folder / Path(word).expanduser()).absolute())

        programs = (
            str((folder / Path(settings.programs).expanduser()).absolute()) if settings.programs else None
        )
        return msgspec.structs.replace(settings, mpi=path(settings.mpi), programs=programs)

    return msgspec.structs.replace(
        made,
        common=place(made.common),
        variants={name: place(one) for name, one in made.variants.items()},
        axes={axis: {n: place(one) for n, one in values.items()} for axis, values in made.axes.items()},
    )


def variants(made: Campaign) -> dict[str, VariantSettings]:
    """By name, each with what is common to all. Those of axes are named by their values: `gcc/2x4`."""
    if made.variants:
        return {name: merged(made.common, one) for name, one in made.variants.items()}
    found: dict[str, VariantSettings] = {}
    for values in itertools.product(*(axis.items() for axis in made.axes.values())):
        settings = made.common
        for _, one in values:
            settings = merged(settings, one)
        found["/".join(name for name, _ in values)] = settings
    return found


def merged(first: VariantSettings, then: VariantSettings) -> VariantSettings:
    """Both: variables, arguments and commands add up (tear-downs in reverse), of the others, and of launcher options for the same,
    the latter wins."""
    said = {
        field.name: getattr(then, field.name)
        for field in msgspec.structs.fields(then)
        if getattr(then, field.name) is not None
    }
    added: dict[str, Any] = {
        "env": {**first.env, **then.env},
        "launcher_options": overriding(
            split_words(first.launcher_options), split_words(then.launcher_options)
        ),
        "arguments": [*split_words(first.arguments), *split_words(then.arguments)],
        "setup": [*commands(first.setup), *commands(then.setup)],
        "teardown": [*commands(then.teardown), *commands(first.teardown)],
    }
    return msgspec.structs.replace(first, **(said | added))


def split_words(words: Words) -> list[str]:
    """Words, of a string as a shell divides it. Raises ImbError."""
    try:
        return shlex.split(words) if isinstance(words, str) else list(words)
    except ValueError as error:
        raise ImbError(f"{words!r}: {error}".lower()) from error


def commands(words: Words) -> list[str]:
    """Shell commands: a string is one."""
    return [words] if isinstance(words, str) else list(words)


def selections(made: Campaign) -> list[dict[Component, list[str]]]:
    """What is launched by itself: all names together, or list by list."""
    names = made.benchmarks
    if all(isinstance(name, str) for name in names):
        return [selection.select([name for name in names if isinstance(name, str)], made.class_)]
    return [selection.select([name] if isinstance(name, str) else name, made.class_) for name in names]


_KEYS = {field.encode_name for field in msgspec.structs.fields(VariantSettings)} - {
    "env",
    "setup",
    "teardown",
    "launcher_options",
    "classic",
    "precision",
    "launch_budget",
}


def spoken(text: str) -> VariantSettings:
    """A variant in one line: `UCX_TLS=tcp bind=core cpus=0,3 arguments='-off_cache -1' --mca btl self,tcp`.

    Words NAME=VALUE are variables, but those that begin with a key of a variant (mpi, compiler, programs, launcher, bind,
    cpus, hosts, ppn, memory, gpu, arguments); from the first word that begins with - on all go to the launcher. Raises ImbError.
    """
    words = split_words(text)
    first = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    said: dict[str, Any] = {"launcher_options": words[first:], "env": {}}
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
            said["env"][key] = value
        elif key in ("cpus", "hosts"):
            said[key] = value.split(",")
        else:
            said[key] = value
    try:
        made: VariantSettings = _converted(said, VariantSettings, strict=False)
    except ImbError as error:
        raise ImbError(f"{text!r}: {error}") from error
    return made
