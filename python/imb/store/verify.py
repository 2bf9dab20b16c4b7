"""Verifies that runs, labels and baselines of the archive are unchanged."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import jsonschema_rs
import msgspec

from imb.model.errors import UNDECODABLE, ImbError
from imb.model.records import decode
from imb.model.suite import suite_folder
from imb.model.units import count_of
from imb.store import baseline_versions
from imb.store.labels import LabelChange
from imb.store.reading import UnreadableFile, names_in, read_json, read_part
from imb.store.store import CONTENT, FORMAT, SHORT, Archive, FileFacts, Manifest, name_of
from imb.store.unfinished_runs import unfinished_runs

_GROUP, _RUN, _REMOVED = map(re.compile, ("[0-9a-f]{2}", "[0-9a-f]{64}", r"[0-9a-f]{64}-\d+"))
_decoder = msgspec.json.Decoder()  # the module json takes four times as long
_MOST = 5  # most lines of one file to name


class Damage(msgspec.Struct):
    """The finding on a run or another file. `damage`: differences from what was stored; `remarks`: other unexpected things; `invalid`: the run
    was stored with lines that are not records."""

    is_run: bool = False
    cut_off: bool = False
    invalid: bool = False
    damage: list[str] = []
    remarks: list[str] = []


def verify_archive(archive: Archive, runs: Sequence[str] | None = None) -> Iterator[Damage]:
    """Yields findings on these runs, or on the whole archive if None."""
    schema = json.loads((suite_folder() / "schema" / "record.schema.json").read_text())
    validator = jsonschema_rs.validator_for(schema)
    for run_id in archive.ids() if runs is None else runs:
        yield _verify_run(archive, run_id, validator)
    if runs is None:
        yield from _verify_labels(archive)
        yield from _verify_baselines(archive)
        yield from _verify_places(archive)
        if incomplete := len(unfinished_runs(archive)):
            message = f"{archive.tmp}: {count_of(incomplete, 'incomplete run')}: being added, or the writers were killed"
            advice = "the next import deletes those of this host that are older than an hour; delete others yourself"
            yield Damage(remarks=[f"{message}; {advice}"])


def _verify_places(archive: Archive) -> Iterator[Damage]:
    """Yields findings on entries of runs/ that are not runs at their place."""
    for group in sorted(archive.runs.iterdir()) if archive.runs.is_dir() else ():
        if group.is_dir() and _GROUP.fullmatch(group.name):
            unexpected = [group / name for name in names_in(group) if not _is_place(group / name)]
        else:
            unexpected = [group]
        for path in sorted(unexpected):
            advice = (
                "; move it to removed/ and use `imb archive restore`" if _REMOVED.fullmatch(path.name) else ""
            )
            yield Damage(damage=[f"{path}: does not belong here{advice}"])


def _is_place(run: Path) -> bool:
    return bool(_RUN.fullmatch(run.name)) and run.name.startswith(run.parent.name) and run.is_dir()


def _verify_run(archive: Archive, run_id: str, validator: jsonschema_rs.Validator) -> Damage:
    place, short = archive.path_of(run_id), run_id[:SHORT]
    finding = Damage(is_run=True, damage=[], remarks=[])
    try:
        manifest = read_json(place / "manifest.json", Manifest)
    except UnreadableFile as error:
        finding.damage.append(f"{short}: {error}")
        return finding
    if manifest.format != FORMAT or manifest.id != run_id or name_of(manifest.files) != run_id:
        finding.damage.append(f"{short}: {place / 'manifest.json'}: does not belong to this run")
    for name, facts in manifest.files.items():
        _verify_file(finding, f"{short}: {place / name}", archive, run_id, name, facts, validator)
    try:
        unexpected = sorted({path.name for path in place.iterdir()} - {*manifest.files, "manifest.json"})
    except OSError:
        unexpected = []
    finding.damage.extend(f"{short}: {place / name}: does not belong to the run" for name in unexpected)
    return finding


def _verify_file(
    finding: Damage,
    where: str,
    archive: Archive,
    run_id: str,
    name: str,
    facts: FileFacts,
    validator: jsonschema_rs.Validator,
) -> None:
    if name not in CONTENT:
        finding.damage.append(f"{where}: unexpected file")
        return
    try:
        data = read_part(archive.path_of(run_id) / name)
    except UnreadableFile as error:
        finding.damage.append(f"{run_id[:SHORT]}: {error}")
        return
    if len(data) < facts.bytes:
        finding.damage.append(f"{where}: is truncated, {len(data)} of {facts.bytes} bytes are left")
    elif hashlib.sha256(data).hexdigest() != facts.sha256:
        finding.damage.append(f"{where}: has changed since it was added")
    elif name == "records.jsonl":
        _verify_records(finding, where, data, validator)


def _verify_records(finding: Damage, where: str, data: bytes, validator: jsonschema_rs.Validator) -> None:
    """Checks unchanged records against the schema. Records that were invalid when they were stored are a remark, not damage."""
    last = ""
    wrong: list[str] = []
    lines = data.split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = _decoder.decode(line)
        except UNDECODABLE:
            wrong.append(
                f"{where}:{number}: {'incomplete last line' if number == len(lines) else 'not JSON'}"
            )
            continue
        try:
            error = next(iter(validator.iter_errors(record)), None)
            reason = f"does not satisfy the schema ({' '.join(error.message.split())[:120]})" if error else ""
            last = str(record.get("record", "")) if isinstance(record, dict) else last
            if not reason:
                decode(line)  # the schema allows larger numbers than the columns can hold
        except UNDECODABLE as failure:
            reason = f"cannot be read ({failure})"
        if reason:
            wrong.append(f"{where}:{number}: {reason}")
    finding.invalid = bool(wrong)
    finding.remarks.extend(wrong[:_MOST])
    if len(wrong) > _MOST:
        finding.remarks.append(f"{where}: and {count_of(len(wrong) - _MOST, 'more line')}")
    if last != "end":
        finding.cut_off = True
        finding.remarks.append(f"{where}: no end record: the launch was cut off; its results are valid")


def _verify_baselines(archive: Archive) -> Iterator[Damage]:
    for path in baseline_versions.files(archive):
        try:
            baseline_versions.load_baseline(path)
        except ImbError as error:
            yield Damage(damage=[str(error)])


def _verify_labels(archive: Archive) -> Iterator[Damage]:
    known = {*archive.ids(), *archive.removed_copies()}
    for path in archive.label_files():
        try:
            change = read_json(path, LabelChange)
        except UnreadableFile as error:
            yield Damage(damage=[str(error)])
            continue
        if change.run not in known:
            yield Damage(remarks=[f"{path}: labels {change.run[:SHORT]}, which is not in this archive"])
