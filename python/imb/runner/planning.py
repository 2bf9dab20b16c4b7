"""Plans the launches of a campaign: a matrix of variants, benchmarks and process counts, in random order. Pure.

Each round contains every cell of the matrix once, in a new random order, so that drift of the machine affects all cells equally
(randomized complete blocks: Box, Hunter and Hunter, Statistics for Experimenters, chapter 4).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from random import Random
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from imb.model import sequential_design
from imb.model.defaults import LAUNCHES, SEGMENTS
from imb.model.intent import Intent
from imb.model.mpis import STANDARD_INTERFACE
from imb.model.suite import packaged_programs
from imb.model.suite_arguments import options_of
from imb.model.text import now
from imb.mpi import prebuilt_programs
from imb.mpi.installations import Installation
from imb.runner import passes, session
from imb.runner.campaign_definition import (
    Campaign,
    VariantSettings,
    commands,
    examine_campaign,
    examine_name,
    gpu_arguments,
    imb_arguments,
    interleaving_obstacle,
    is_classic,
    sampling_of,
    selections,
    split_words,
    variants,
)
from imb.runner.interleave import TURN_LIMIT

Prepare: TypeAlias = Callable[[VariantSettings], tuple[Installation, Path]]


def place_campaign(campaign: Campaign, pair: tuple[str, str]) -> Campaign:
    """The campaign on these two hosts, in place of the hosts of its variants, with the name `NAME/n1-n2`. Raises ImbError."""

    def drop_hosts(variant: VariantSettings) -> VariantSettings:
        return msgspec.structs.replace(variant, hosts=None)

    name = f"{campaign.name}/{'-'.join(pair)}"
    examine_name(name)
    return msgspec.structs.replace(
        campaign,
        name=name,
        common=msgspec.structs.replace(campaign.common, hosts=list(pair)),
        variants={key: drop_hosts(variant) for key, variant in campaign.variants.items()},
        axes={
            axis: {key: drop_hosts(variant) for key, variant in values.items()}
            for axis, values in campaign.axes.items()
        },
    )


def most_launches(campaign: Campaign) -> int:
    """The number of planned rounds."""
    return campaign.launches or (sequential_design.MOST if campaign.until_decided else LAUNCHES)


def complete_campaign(
    campaign: Campaign, segments: int | None, repeats: int | None
) -> tuple[Campaign, str | None]:
    """The campaign with these segments and repeats, or with the usual ones if they are None; and why its launches are not interleaved although
    `segments` leaves it open, or None. Raises ImbError if settings contradict each other."""
    obstacle = interleaving_obstacle(campaign) if segments is None else None
    segments = segments or (1 if obstacle else SEGMENTS)
    repeats = _usual_repeats(campaign) if repeats is None else repeats
    completed = msgspec.structs.replace(campaign, segments=segments, repeats=repeats)
    examine_campaign(completed)
    return completed, obstacle


def _usual_repeats(campaign: Campaign) -> int:
    """The default number of repeats: a quarter of all variants' launches, or 0 if launches cannot be repeated. docs/evidence/validation.md has
    the error rates."""
    named = variants(campaign)
    if campaign.until_decided or any(is_classic(campaign, variant) for variant in named.values()):
        return 0
    return len(named) * most_launches(campaign) // 4


def rounds(groups: Sequence[Hashable], launches: int, seed: int) -> list[list[int]]:
    """The order of the cells 0 ... len(groups) - 1 in each of `launches` rounds.

    The cells of a group need the same setup and stay together within a round, so a round sets each group up at most once.
    The order of groups, and of cells in a group, is random. But a round begins with the group with which the previous round
    ended. For two groups, this halves the number of setups and balances the order (AB BA AB ...).
    """
    random = Random(seed)
    order: list[list[int]] = []
    last: Hashable | None = None
    for _ in range(launches):
        names = list(dict.fromkeys(groups))
        random.shuffle(names)
        if order:
            names.sort(key=lambda name: name != last)
        cells: list[int] = []
        for name in names:
            group_cells = [cell for cell, group in enumerate(groups) if group == name]
            random.shuffle(group_cells)
            cells += group_cells
        last = names[-1]
        order.append(cells)
    return order


def campaign_plan(
    campaign: Campaign, prepare: Prepare, *, seed: int, source: str | None = None
) -> session.Plan:
    """The plan with all launches of the campaign in order. `prepare` finds MPI and programs. Raises ImbError."""
    counts = (
        [campaign.processes]
        if isinstance(campaign.processes, int)
        else list(dict.fromkeys(campaign.processes))
    )
    named = variants(campaign)
    built = _share_binary([_variant(name, variant, prepare) for name, variant in named.items()])
    cells: list[session.Item] = []
    chosen_names = selections(campaign)
    for index, (name, variant) in enumerate(named.items()):
        place = itertools.count()
        for ranks, chosen in itertools.product(counts, chosen_names):
            labels = [f"{campaign.name}/{name}"]
            labels += [f"{campaign.name}/{name}/np{ranks}"] if len(counts) > 1 else []
            words = [*gpu_arguments(variant), *imb_arguments(campaign, variant)]
            # Each process count is a cell, so a launch must not also measure smaller counts.
            if "npmin" not in options_of(words):
                words = ["-npmin", str(ranks), *words]
            sampling = sampling_of(campaign, variant)
            for component, names in chosen.items():
                more = passes.sampling_arguments(
                    sampling,
                    component,
                    names,
                    words,
                    ranks,
                    timeout=campaign.timeout,
                    parts=campaign.segments,
                )
                arguments = [*names, *words, *more]
                cells.append(session.Item(0, component, arguments, 0, index, ranks, labels, next(place)))
    groups = [(tuple(built[item.variant].setup), tuple(built[item.variant].teardown)) for item in cells]
    most = most_launches(campaign)
    order = rounds(groups, most, seed)
    turns = [(turn, cell) for turn, indices in enumerate(order, 1) for cell in indices]
    plan = session.Plan(
        id=session.new_id(),
        created=now(),
        timeout=campaign.timeout,
        variants=built,
        items=[
            msgspec.structs.replace(cells[cell], number=number, turn=turn)
            for number, (turn, cell) in enumerate(turns, 1)
        ],
        campaign=campaign.name,
        seed=seed,
        source=source,
        setup_timeout=campaign.setup_timeout,
        parts=campaign.segments,
        repeats=campaign.repeats,
        jobs=campaign.jobs,
        turn_limit=campaign.turn_timeout or TURN_LIMIT,
        until=session.StoppingRule(
            design=sequential_design.SequentialDesign(most=most),
            relevant=campaign.relevant,
            metric=campaign.metric,
            budget=campaign.budget,
        )
        if campaign.until_decided
        else None,
    )
    session.examine(plan)
    return plan


def _share_binary(built: list[session.Variant]) -> list[session.Variant]:
    """The variants. If they have several MPIs, and all use the package's programs and support the standard binary interface, they use that
    interface, so that all run the same executable."""
    several = len({variant.mpi.place for variant in built}) > 1
    chosen = any(prebuilt_programs.CHOICE in variant.intent.env for variant in built)
    packaged = all(
        Path(variant.programs) == packaged_programs() and prebuilt_programs.has_standard(variant.mpi)
        for variant in built
    )
    if not several or chosen or not packaged:
        return built
    variables = {prebuilt_programs.CHOICE: STANDARD_INTERFACE.key}
    return [
        replace(variant, intent=replace(variant.intent, env={**variant.intent.env, **variables}))
        for variant in built
    ]


def _variant(name: str, settings: VariantSettings, prepare: Prepare) -> session.Variant:
    mpi, programs = prepare(settings)
    return session.Variant(
        name=name,
        mpi=mpi,
        programs=str(programs.absolute()),
        intent=Intent(
            ranks=1,  # each item has its own number
            hosts=tuple(settings.hosts or ()),
            ppn=settings.ppn,
            bind=settings.bind,
            cpus=tuple(settings.cpus or ()),
            env={key: str(value) for key, value in settings.env.items()},
            launcher=settings.launcher or "mpiexec",
            extra=tuple(split_words(settings.launcher_options)),
        ),
        setup=commands(settings.setup),
        teardown=commands(settings.teardown),
    )
