"""Plans a repetition of a baseline's launches."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec

from imb.model import gpus
from imb.model.baseline_record import Baseline, Hardware, placements_of
from imb.model.errors import ImbError
from imb.model.facts import fact
from imb.model.intent import Intent
from imb.model.schedulers import RECORDED_VARIABLES
from imb.model.secrecy import HIDDEN
from imb.model.text import now
from imb.mpi import host_conditions
from imb.mpi.arguments import override_arguments
from imb.mpi.installations import Installation
from imb.runner import session
from imb.runner.campaign_definition import VariantSettings, gpu_arguments, split_words

USUAL_PAIRS = 10  # default number of pairs of an old and a new launch


def this_machine(nodes: int) -> Hardware:
    """The hardware that `imb` runs on."""
    machine = host_conditions.gather().machine
    hardware = msgspec.convert(machine, Hardware, from_attributes=True)
    return msgspec.structs.replace(hardware, nodes=nodes, hosts=[machine.host])


def baseline_to_repeat(versions: Sequence[Baseline], placement: str | None, force: bool) -> Baseline:
    """The newest of these versions that was measured on this machine, with this placement. `force`: on any machine. Raises ImbError if none
    matches, or if both placements do."""
    matching = [
        version
        for version in versions
        if placement in (None, version.placement)
        and (force or version.machine.is_same(this_machine(version.machine.nodes or 1)) is not False)
    ]
    if not matching:
        raise ImbError(
            f"baseline {versions[-1].name} has nothing for {placement or 'launches'} on this machine, only: {placements_of(versions)}"
        )
    if len({version.placement for version in matching}) > 1:
        raise ImbError(
            f"baseline {versions[-1].name} has intra-node and inter-node results; choose with --placement"
        )
    return matching[-1]


def refuse_if_imported(baseline: Baseline) -> None:
    """Raises ImbError if the facts do not contain how its launches were started."""
    if any(
        kept.facts.get("intent") is None or kept.facts.get("arguments") is None for kept in baseline.launches
    ):
        raise ImbError(
            f"baseline {baseline} was not launched by imb; give the results to check (check {baseline.name} RESULTS)"
        )


def baseline_plan(
    baseline: Baseline, mpi: Installation, programs: Path | None, launches: int | None, timeout: float | None
) -> session.Plan:
    """A plan that repeats the launches of the baseline with this MPI. Raises ImbError."""
    label = f"baseline-check/{baseline.name}"
    cells = cells_of(baseline)
    variants = [_variant(str(baseline), mpi, programs, cell) for cell in cells]
    items = [_item(cell, place, place, label) for place, cell in enumerate(cells)]
    turns = launches or max(cells.values())
    rounds = [items] * turns
    return _plan_of_rounds(variants, rounds, timeout)


def plan_with_old(
    baseline: Baseline,
    old: Installation,
    new: Installation,
    programs: Path | None,
    launches: int | None,
    timeout: float | None,
    *,
    seed: int,
    setting: VariantSettings | None = None,
) -> session.Plan:
    """A plan that repeats the baseline's launches in two ways: with its own MPI, programs and environment (`old`), and with the new ones and
    this setting. Each round has both, in random order. Raises ImbError."""
    cells = cells_of(baseline)
    setting = setting or VariantSettings()
    _refuse_options(setting)
    old = msgspec.structs.replace(old, env={**old.env, **environment_of(baseline)[0]})
    missing = sorted(
        {
            launch["programs"]
            for launch in map(msgspec.json.decode, cells)
            if not Path(launch["programs"]).is_dir()
        }
    )
    if missing:
        raise ImbError(
            f"baseline {baseline}: its programs do not exist: {', '.join(missing)}; restore them, or omit --with-old"
        )
    variants: list[session.Variant] = []
    pairs: list[list[session.Item]] = []
    for place, cell in enumerate(cells):
        changed = _variant("new", new, programs, cell)
        changed = msgspec.structs.replace(changed, intent=_apply_setting(changed.intent, setting))
        variants += [_variant("old", old, None, cell), changed]
        before, after = (
            _item(cell, place, 2 * place + index, f"baseline-check/{baseline.name}/{name}")
            for index, name in enumerate(("old", "new"))
        )
        pairs.append([before, _apply_arguments(after, setting)])
    alike = (
        _launch_settings(first) == _launch_settings(second)
        for first, second in zip(variants[::2], variants[1::2], strict=True)
    )
    if all(alike) and all(first.arguments == second.arguments for first, second in pairs):
        raise ImbError(
            f"baseline {baseline}: old and new are the same MPI, programs and settings; give the new ones with --mpi,"
            " --programs or --setting"
        )
    random = Random(seed)
    rounds = []
    for _ in range(launches or USUAL_PAIRS):
        cells_of_round = random.sample(pairs, len(pairs))
        rounds.append([item for pair in cells_of_round for item in random.sample(pair, 2)])
    return _plan_of_rounds(variants, rounds, timeout, seed=seed)


def environment_of(baseline: Baseline) -> tuple[dict[str, str], list[str]]:
    """The variables that influenced the baseline's launches and have another value now, with their values then; and a list of other
    differences, as far as known, that imb cannot restore."""
    environments = [
        fact(dict[str, str], kept.facts, "conditions", "environment") for kept in baseline.launches
    ]
    recorded = [environment for environment in environments if environment is not None]
    if len(recorded) < len(environments):
        return {}, ["environment (not recorded)"]
    present = {
        name
        for name, _ in host_conditions.steering_variables(os.environ.items()).items()
        if _is_setting(name)
    }
    restored: dict[str, str] = {}
    lost = []
    for name in sorted(present.union(*recorded)):
        values = {environment.get(name) for environment in recorded}
        if not _is_setting(name) or values == {os.environ.get(name)}:
            continue
        [value, *others] = values
        if others:
            lost.append(f"{name} (not the same in all launches)")
        elif value is None:
            lost.append(f"{name} (was not set)")
        elif value == HIDDEN:
            if name not in os.environ:
                lost.append(f"{name} (value not recorded)")
        else:
            restored[name] = value
    commands = {command: None for kept in baseline.launches for command in kept.facts.get("setup") or ()}
    return restored, lost + [f"setup command {command}" for command in commands]


def _is_setting(name: str) -> bool:
    """Whether a variable that influences a launch is a setting, and not one that a scheduler sets for each job."""
    return not RECORDED_VARIABLES.match(name)


def _refuse_options(setting: VariantSettings) -> None:
    for name in ("mpi", "programs", "compiler"):
        if getattr(setting, name) is not None:
            raise ImbError(f"--setting: {name} is not a setting of a launch; use --mpi or --programs")


def _apply_setting(intent: Intent, setting: VariantSettings) -> Intent:
    """The recorded intent with this setting applied. A new binding also replaces recorded CPUs, and vice versa."""
    pinned = setting.bind is not None or bool(setting.cpus)
    return msgspec.structs.replace(
        intent,
        env={**intent.env, **{name: str(value) for name, value in setting.env.items()}},
        bind=setting.bind if pinned else intent.bind,
        cpus=tuple(setting.cpus or ()) if pinned else intent.cpus,
        hosts=tuple(setting.hosts or intent.hosts),
        ppn=setting.ppn or intent.ppn,
        launcher=setting.launcher or intent.launcher,
        extra=tuple(override_arguments(intent.extra, split_words(setting.launcher_options))),
    )


def _apply_arguments(item: session.Item, setting: VariantSettings) -> session.Item:
    words = [*item.arguments, *split_words(setting.arguments)]
    gpus.refuse_twice(setting.memory, setting.gpu, words, "--setting: ")
    return msgspec.structs.replace(item, arguments=[*words, *gpu_arguments(setting, "--setting: ")])


def _launch_settings(variant: session.Variant) -> tuple[object, ...]:
    return (
        Path(variant.mpi.place).resolve(),
        Path(variant.programs).resolve(),
        variant.mpi.env,
        variant.intent,
    )


def cells_of(baseline: Baseline) -> Counter[bytes]:
    """Counts the launches of each cell; a cell is a JSON text that says what was launched. Raises ImbError."""
    refuse_if_imported(baseline)
    cells: Counter[bytes] = Counter()
    for kept in baseline.launches:
        names = ("component", "arguments", "intent", "programs")
        cells[msgspec.json.encode({name: kept.facts[name] for name in names})] += 1
    return cells


def _variant(name: str, mpi: Installation, programs: Path | None, cell: bytes) -> session.Variant:
    launch = msgspec.json.decode(cell)
    intent = msgspec.convert(launch["intent"], Intent)
    return session.Variant(name=name, mpi=mpi, programs=str(programs or launch["programs"]), intent=intent)


def _item(cell: bytes, place: int, variant: int, label: str) -> session.Item:
    launch = msgspec.json.decode(cell)
    ranks = msgspec.convert(launch["intent"], Intent).ranks
    return session.Item(
        0, launch["component"], launch["arguments"], 0, variant, ranks, labels=[label], cell=place
    )


def _plan_of_rounds(
    variants: list[session.Variant],
    rounds: Sequence[Sequence[session.Item]],
    timeout: float | None,
    seed: int | None = None,
) -> session.Plan:
    ordered = [
        msgspec.structs.replace(item, turn=turn) for turn, items in enumerate(rounds, 1) for item in items
    ]
    plan = session.Plan(
        id=session.new_id(),
        created=now(),
        timeout=timeout,
        variants=variants,
        items=[msgspec.structs.replace(item, number=number) for number, item in enumerate(ordered, 1)],
        seed=seed,
    )
    session.examine(plan)
    session.refuse_missing_programs(plan)
    return plan
