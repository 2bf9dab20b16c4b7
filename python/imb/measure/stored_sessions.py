"""Sessions in the archive: which one to resume, and how long their launches took."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from imb.archive.store import Archive
from imb.measure import ownership, passes
from imb.measure.lock import is_held
from imb.measure.session import Plan, done
from imb.model.errors import ImbError


def find_session(archive: Archive, session: str | None = None, *, force_owner: bool = False) -> Plan:
    """The plan of this session, of which the beginning is enough; None: the one that `to_resume` chooses of this user's.

    Raises ImbError where there is none, and where it is another user's, unless `force_owner`.
    """
    if session is not None and not session.strip():
        raise ImbError("a name is empty; give a session, or --resume alone for your newest")
    files = (archive.folder / "sessions").glob("*/plan.json")
    plans = sorted(file for file in files if file.parent.name.startswith(session or ""))
    if not plans:
        raise ImbError(f"no session {session or 'to resume'} in {archive.folder}; start one with `imb run`")
    if session and len(plans) > 1:
        raise ImbError(f"{session} matches {len(plans)} sessions; give more of the name")
    if session or force_owner:
        made = _read(plans[-1])
        if not force_owner:
            ownership.refuse_strangers(made.id, plans[-1], made.owner)
        return made
    if (own := to_resume(archive, _own(reversed(plans)))) is None:
        raise ImbError(
            f"you have no session in {archive.folder}; give a session NAME to resume one of another user"
        )
    return own


def with_timeout(made: Plan, timeout: float | None) -> Plan:
    """The plan with this time limit for its launches; None: its own. Raises ImbError where launches would exceed it that measure
    as planned."""
    if timeout is None:
        return made
    budget = max((passes.budget_of(item.arguments) or 0.0 for item in made.items), default=0.0)
    if budget >= timeout:
        raise ImbError(
            f"--timeout {timeout:g}: launches of session {made.id} measure for {budget:g} s; give a longer limit"
        )
    return msgspec.structs.replace(made, timeout=timeout)


def to_resume(archive: Archive, newest_first: Iterable[Plan]) -> Plan | None:
    """The newest session that is neither finished nor executed by a process; where there is none, the newest; None: no
    session."""
    newest: Plan | None = None
    for made in newest_first:
        newest = newest or made
        if len(done(archive, made)) < len(made.items) and not is_held(archive, made):
            return made
    return newest


def of_campaign(archive: Archive, name: str | None, *, own: bool = False) -> list[Plan]:
    """The plans of sessions of this campaign, None: of any; the oldest first. `own`: only of this user. Raises ImbError."""
    files = sorted((archive.folder / "sessions").glob("*/plan.json"))
    plans = _own(files) if own else map(_read, files)
    return [made for made in plans if made.campaign and name in (None, made.campaign)]


def _own(files: Iterable[Path]) -> Iterator[Plan]:
    """The plans of this user. Those of others are not even read: they may be anything."""
    for file in files:
        if not ownership.strangers(file, None) and not ownership.strangers(file, (made := _read(file)).owner):
            yield made


def _read(file: Path) -> Plan:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Plan)
    except msgspec.MsgspecError as error:
        raise ImbError(f"cannot read {file} ({error}); use the version of imb that wrote it") from error


def usual_seconds(archive: Archive, made: Plan) -> dict[tuple[object, ...], float]:
    """Seconds by `Item.like` that launches of the same took in earlier sessions of this campaign; of those in passes that were
    never made, what they may take at most."""
    most = {item.like(): passes.most_seconds(item.arguments) for item in made.items}
    names = {variant.name: index for index, variant in enumerate(made.variants)}
    took: dict[tuple[object, ...], list[float]] = {}
    for old in of_campaign(archive, made.campaign or "") if made.campaign else []:
        numbered = {item.number: item for item in old.items}
        for one in done(archive, old).values():
            item = numbered[one.number]
            name = old.variants[item.variant].name
            if one.wall is not None and name in names:
                like = msgspec.structs.replace(item, variant=names[name]).like()
                took.setdefault(like, []).append(one.wall)
    return {like: seconds for like, seconds in most.items() if seconds is not None} | {
        like: sum(times) / len(times) for like, times in took.items()
    }
