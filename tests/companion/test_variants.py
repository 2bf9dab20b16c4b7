"""Rows of -alternate: each variant is a row of its own, everywhere; imb compare --variants takes launches two by two."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from companion import classic_text
from companion.door import Imb
from companion.machines import row, save
from imb.model.observations import key_of
from imb.model.records import End, Record, Result, Run, VariantRecord
from imb.readers.formats import read_log
from imb.runner.passes import rows_of

VARIANTS = [VariantRecord("default"), VariantRecord("ring", {"coll_tuned_allreduce_algorithm": "ring"})]
LENGTHS = (8, 64, 1024, 65536)


def launch(random: np.random.Generator, effect: float, *, date: str = "2026-11-27T10:00:00Z") -> list[Record]:
    """A launch has 20 % of its own; both variants have it, and 1 % each."""
    own = np.exp(random.normal(0, 0.2))
    records: list[Record] = [
        Run(program="OpenIMB", component="MPI1", benchmarks=["Allreduce"], date=date, variants=VARIANTS)
    ]
    for variant, factor in (("default", 1.0), ("ring", effect)):
        for length in LENGTHS:
            seconds = 1e-6 * (1 + length / 1000) * factor * own * np.exp(random.normal(0, 0.01))
            records.append(row("Allreduce", 4, length, float(seconds), "collective", variant=variant))
    return [*records, End(state="complete", measured=2 * len(LENGTHS), failed=0, defects=0)]


@pytest.fixture
def launches(tmp_path: Path) -> list[Path]:
    random = np.random.default_rng(7)
    (tmp_path / "runs").mkdir()
    dates = [f"2026-11-27T10:{minute:02}:00Z" for minute in range(10)]
    return [save(tmp_path / "runs" / f"{date}.jsonl", launch(random, 0.95, date=date)) for date in dates]


def test_a_variant_is_part_of_the_key() -> None:
    one, other = (row("Allreduce", 4, 8, 1e-6, "collective", variant=label) for label in ("default", "ring"))
    assert key_of(one, None) != key_of(other, None)
    assert str(key_of(other, None)) == "Allreduce, variant ring, 4 ranks, 8 bytes"
    assert key_of(row("Allreduce", 4, 8, 1e-6, "collective"), None).variant is None


def test_variants_of_the_same_launches_are_pairs(imb: Imb, launches: list[Path]) -> None:
    """5 % is far below what launches differ by, and far above what pairs differ by."""
    folder = launches[0].parent
    done = imb(
        "compare", folder, folder, "--variants", "default,ring", "--format", "json", "--relevant", "2%"
    )
    made = json.loads(done.out)
    assert made["verdict"] == "faster" and done.code == 0
    assert made["pairs"] and made["launches_a"] == made["launches_b"] == 10
    assert {one["key"]["bytes"] for one in made["rows"]} == set(LENGTHS)
    assert not made["only_a"] and not made["only_b"]
    assert not any("same runs" in warning for warning in made["warnings"])
    conditions = {one["name"]: (one["a"], one["b"]) for one in made["conditions"]}
    assert conditions["variants of the MPI's variables"] == (
        ["default"],
        ["ring: coll_tuned_allreduce_algorithm=ring"],
    )
    text = imb("compare", folder, folder, "--variants", "default,ring").out
    text = " ".join(text.split())  # folded
    assert "10 launches, judged in pairs" in text and "ring: coll_tuned_allreduce_algorithm=ring" in text


def test_variants_of_a_launch_have_its_measured_width_in_common(imb: Imb, tmp_path: Path) -> None:
    """Of -arrival xN. Another launch has another width: its rows are compared with none of these."""
    random = np.random.default_rng(7)
    (tmp_path / "runs").mkdir()
    files = []
    for minute in range(10):
        date = f"2026-11-27T10:{minute:02}:00Z"
        records = launch(random, 0.95, date=date)
        for record in records:
            if isinstance(record, Run):
                record.options = {"sync_start": "clock", "arrival": "last:x2"}
            elif isinstance(record, Result):
                record.valid_percent, record.arrival_width_seconds = 100.0, (50 + minute) * 1e-6
                record.time_from_last_arrival_seconds = record.time_max_seconds
        files.append(save(tmp_path / "runs" / f"{date}.jsonl", records))
    folder = tmp_path / "runs"
    done = imb(
        "compare", folder, folder, "--variants", "default,ring", "--format", "json", "--relevant", "2%"
    )
    made = json.loads(done.out)
    assert made["verdict"] == "faster" and made["pairs"] and made["launches_a"] == 10
    done = imb("compare", files[0], files[1])
    assert done.code == 2 and "no row of the same arrival width" in done.err
    done = imb("compare", files[0], files[1], "--variants", "default,ring")
    assert done.code == 2 and "no row of the same arrival width" in done.err


def test_without_labels_rows_are_compared_variant_by_variant(imb: Imb, launches: list[Path]) -> None:
    made = json.loads(imb("compare", launches[0], launches[1], "--format", "json").out)
    assert sorted({one["key"]["variant"] for one in made["rows"]}) == ["default", "ring"]
    assert len(made["rows"]) == 2 * len(LENGTHS)


def test_the_same_variant_of_the_same_launches_is_a_mistake_that_is_noted(
    imb: Imb, launches: list[Path]
) -> None:
    folder = launches[0].parent
    done = imb("compare", folder, folder, "--variants", "ring,ring")
    assert "the same runs on both sides" in re.sub(r"\s+", " ", done.out)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("default", "--variants: 'default' is not two labels; for example: --variants default,ring"),
        ("default,", "--variants: 'default,' is not two labels; for example: --variants default,ring"),
        ("default,tree", "has the variant tree; they have default, ring"),
    ],
)
def test_labels_that_are_none(imb: Imb, launches: list[Path], words: str, message: str) -> None:
    folder = launches[0].parent
    done = imb("compare", folder, folder, "--variants", words)
    assert done.code == 2 and message in done.err and done.err.count("\n") == 1


def test_labels_may_have_commas(imb: Imb, tmp_path: Path) -> None:
    records = launch(np.random.default_rng(7), 0.5)
    for record in records:
        if isinstance(record, Run):
            record.variants = [VariantRecord("default"), VariantRecord("ring,1")]
        elif isinstance(record, Result) and record.variant == "ring":
            record.variant = "ring,1"
    file = save(tmp_path / "a.jsonl", records)
    for words, sides in (
        ("default,ring,1", ("default", "ring,1")),
        ("ring,1,default", ("ring,1", "default")),
    ):
        said = imb("compare", file, file, "--variants", words)
        assert said.code in (0, 10, 11), said
        for letter, side in zip("AB", sides, strict=True):
            assert f"{letter}: {side} ({file}, {side}), 1 launch" in " ".join(said.out.split())
    said = imb("compare", file, file, "--variants", "default,ring,2")
    assert said.code == 2 and "'default,ring,2' is not two labels; they have default and ring,1" in said.err


def test_launches_without_variants(imb: Imb, tmp_path: Path) -> None:
    plain = save(tmp_path / "plain.jsonl", [Run(), row("Allreduce", 4, 8, 1e-6, "collective")])
    done = imb("compare", plain, plain, "--variants", "a,b")
    assert done.code == 2 and "none was launched with -alternate" in done.err


def test_a_log_has_the_variant_of_each_table(launches: list[Path], tmp_path: Path) -> None:
    records = launch(np.random.default_rng(1), 0.5)
    text = classic_text.text(records)
    assert text.count("# variant = ring\n") == 1
    rows = list(read_log(text.encode(), "a.log").of(Result))
    assert [(one.variant, one.bytes) for one in rows] == [
        (v.label, length) for v in VARIANTS for length in LENGTHS
    ]


def test_exports_and_tables_have_it(imb: Imb, launches: list[Path]) -> None:
    table = imb("export", launches[0], "--format", "csv").out.splitlines()
    assert [one["variant"] for one in csv.DictReader(table)] == ["default"] * 4 + ["ring"] * 4
    shown = imb("show", launches[0]).out
    for label in ("default", "ring"):
        assert f"Allreduce, 4 ranks, variant {label}" in shown


def test_a_launch_has_each_row_under_each_variant(tmp_path: Path) -> None:
    file = tmp_path / "variants.txt"
    file.write_text("default  # as it is\n\nring a=1\ntree a=2\n")
    once = rows_of("MPI1", ["Allreduce"], ["-msglog", "4"], 4)
    assert rows_of("MPI1", ["Allreduce"], ["-msglog", "4", "-alternate", str(file)], 4) == 3 * once


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--a-cvar", "x", "Bcast"], "a control variable: 'x' is not NAME=VALUE, without blanks"),
        (["--a-cvar", "x=1 2", "Bcast"], "a control variable: 'x=1 2' is not NAME=VALUE, without blanks"),
        (["--a-cvar", "x=1", "--b", "A=b", "Bcast"], "--a-cvar and --b-cvar cannot be combined with --a"),
        (
            ["--a-cvar", "x=1", "--until-decided", "Bcast"],
            "--a-cvar and --b-cvar cannot be combined with --a",
        ),
        (["--a", "A=b", "Bcast"], "no variant B: give --a and --b, or --a-cvar and --b-cvar"),
        (["Bcast"], "no variant A: give --a and --b, or --a-cvar and --b-cvar"),
    ],
)
def test_ab_takes_variables_or_settings(imb: Imb, words: list[str], message: str) -> None:
    done = imb("ab", *words)
    assert done.code == 2 and message in done.err and done.err.count("\n") == 1
