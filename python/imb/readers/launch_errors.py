"""Finds why a launch failed: chooses one line from the messages of launcher, MPI and transports."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from imb.model.text import one_line

LONGEST = 200  # most characters of a reason
_RULE = re.compile(r"^-{20,}$")
_STACK = re.compile(r"^[\w:]+\(\d+\)\.*:\s*(.*)$")
_FIELD = re.compile(r"^\s*(?!(?i:error|warning):)([A-Z][\w ]{0,30}):\s+(\S.*)$")
_UNAVAILABLE = re.compile(r"UCX\s+\w+\s+(transport .* (?:is|are) not available)")
_UCX = re.compile(r"UCX\s+(ERROR|FATAL)\s+(.*)$")
_UCX_ANY = re.compile(r"UCX\s+(?:WARN|INFO|DIAG)\b")
_SIGNAL = re.compile(
    r"EXIT STRING: (.+ \(signal \d+\))|KILLED BY SIGNAL: (.+)$|Signal: ([A-Z][\w ]+ \(\d+\))$"
)
# Messages of ssh and srun about a host that they cannot reach. A host that refuses a login was reached.
_UNREACHABLE = re.compile(
    r"^(?:\[[^\]]*\]\s*)?(?P<text>ssh: (?:Could not resolve hostname |connect to host )(?P<ssh>[\w.-]+)[: ].*"
    r"|srun: error: Task launch for \S+ failed on node (?P<srun>[\w.-]+): .*)$"
)
# Help texts that report only that a rank ended.
_CONSEQUENCE = re.compile(
    r"detected that one or more processes exited|MPI_ABORT was invoked|Primary job|noticed that process rank"
)


def reason(errors: bytes, output: bytes = b"") -> str | None:
    """The most informative line of standard error, at most LONGEST characters, cleaned, or None if there is none.

    `output`, the standard output with the tables, is searched only for messages of UCX, which go there by default, and for the
    signal that ended a rank.
    """
    lines, printed = (
        [one_line(line).rstrip() for line in text.decode(errors="replace").splitlines()]
        for text in (errors, output)
    )
    best = next(_candidates(lines, printed), None) or _signal(printed)
    return _shorten(" ".join(best.split())) if best else None


def unreachable_hosts(errors: bytes, hosts: Collection[str]) -> dict[str, str]:
    """Host -> why the launcher could not reach it, for these hosts (all if empty). Other hosts in the text do not count, as they may be
    gateways."""
    reasons: dict[str, str] = {}
    for line in errors.decode(errors="replace").splitlines():
        if match := _UNREACHABLE.match(one_line(line).rstrip()):
            name = match["ssh"] or match["srun"]
            for host in hosts or [name]:
                if name in (host, host.partition(".")[0]) or name.partition(".")[0] == host:
                    reasons.setdefault(host, _shorten(" ".join(match["text"].split())))
    return reasons


def _candidates(lines: list[str], printed: list[str]) -> Iterator[str]:
    """Yields candidates, best first: messages of the suite, of transports, MPICH's error stacks, Open MPI's help texts, other lines."""
    yield from (line for line in lines if line.startswith(("IMB-", "ssh: ")))
    for pattern, group in ((_UNAVAILABLE, 1), (_UCX, 2)):
        yield from (match[group] for line in (*lines, *printed) if (match := pattern.search(line)))
    yield from _stacks(lines)
    helps = _helps(lines)
    yield from (text for text in helps if not _CONSEQUENCE.search(text))
    if signal := _signal(lines):
        yield signal
    yield from helps
    plain = [line for line in lines if line.strip().strip("-=*")]
    yield from (line for line in plain if not _UCX_ANY.search(line))
    yield from plain


def _stacks(lines: list[str]) -> Iterator[str]:
    """Yields the deepest line with text of each of MPICH's error stacks."""
    for number, line in enumerate(lines):
        if line.endswith("error stack:"):
            deepest = ""
            for below in lines[number + 1 :]:
                if not (match := _STACK.match(below)):
                    break
                deepest = match[1] or deepest
            if deepest:
                yield deepest


def _helps(lines: list[str]) -> list[str]:
    """Open MPI's help texts, each between two rules: whole sentences, then fields such as `Component: nonsense`."""
    texts: list[str] = []
    rules = [number for number, line in enumerate(lines) if _RULE.match(line.strip())]
    for first, last in zip(rules[::2], [*rules[1::2], len(lines)], strict=False):
        block = lines[first + 1 : last]
        fields = [f"{field[1]}: {field[2]}" for line in block if (field := _FIELD.match(line))]
        prose = [line for line in block if not _FIELD.match(line)]
        if text := _sentences(_paragraph(prose), LONGEST - len(", ".join(fields)) - 3):
            texts.append(f"{text} ({', '.join(fields)})" if fields else text)
    return texts


def _paragraph(lines: list[str]) -> str:
    """The first paragraph; if it ends with a colon, also the next one."""
    words: list[str] = []
    for line in lines:
        if line.strip():
            words.append(line.strip())
        elif words and not words[-1].endswith(":"):
            break
    return " ".join(words)


def _sentences(text: str, room: int) -> str:
    """As many whole sentences as fit into `room` characters, at least one."""
    first, *others = re.split(r"(?<=[.!?])\s+(?=[A-Z])", text)
    for sentence in others:
        if len(first) + 1 + len(sentence) > room:
            break
        first += f" {sentence}"
    return first.rstrip(":")


def _signal(lines: list[str]) -> str | None:
    for line in lines:
        if match := _SIGNAL.search(line):
            return f"a rank was ended by a signal: {one_line(next(filter(None, match.groups()))).strip()}"
    return None


def _shorten(text: str) -> str:
    """The text, cut at a blank to at most LONGEST characters."""
    if len(text) <= LONGEST:
        return text
    kept = text[: LONGEST - 4]
    return f"{kept.rpartition(' ')[0].rstrip(',;:') or kept} ..."
