"""Recognizes lines that launchers, MPI libraries and batch systems write into a log, which are neither commands nor titles. Some
state that a launch failed."""

from __future__ import annotations

import re

from imb.readers.launch_errors import reason

LAUNCHER = r"(?:mpirun|mpiexec(?:\.\w+)?|orterun|prterun|srun|aprun|jsrun|prun)"
_VERB = (
    r"(?:noticed|detected|was|were|has|have|had|is|are|will|would|did|does|do|can|cannot|could|should|must|may|might|failed|fails"
    r"|received|encountered|exited|exiting|terminated|aborted|aborting|unable|found|lost|needs|requires|expects|attempted"
    r"|tried|killed|and|or|to|in|on|for|with|from|by|as|command|process|processes|job|launcher|options?|version)\b(?!\s*=)"
)
# Text that only a failed launch writes.
_FAILED = re.compile(
    rf"\b{LAUNCHER} (?:noticed that (?:process|the job)|detected that one or more|has exited due to)"
    r"|\*\*\* An error occurred in |\*\*\* Process received signal|MPI_ABORT was invoked|\bPrimary job\s+terminated"
    r"|A daemon .{0,40}died unexpectedly|ORTE has lost communication|exited on signal \d"
    r"|\bFatal error in (?:P?MPI_|internal_)|^\S{0,40}\s?Abort\(|BAD TERMINATION OF ONE OF|EXIT STRING: .*signal"
    r"|Assertion failed in file |Transport retry count exceeded|\b(?:srun|slurmstepd): error: |Job step aborted"
    r"|=>> PBS: job killed|\bcore dumped\b|^(?:\S+: line \d+:\s+\d+ )?(?:Killed|Segmentation fault|Bus error|Aborted|Terminated)\b"
    r"|^IMB-\w+: error"
)
_IN_FAILED = (  # each line that matches _FAILED has one of these
    "noticed", "detected", "exited", "An error occurred", "received signal", "MPI_", "Primary job", "died", "has lost", "Fatal",
    "Abort", "BAD TERM", "EXIT STRING", "Assertion", "Transport", "error", "aborted", "PBS", "dumped", "Killed", "fault",
    "Bus error", "Terminated",
)  # fmt: skip
_OTHER = re.compile(
    rf"^\W*{LAUNCHER}(?:\s+{_VERB}|:\s)|^\[?\S{{1,60}}:\d+\]|^\*\*\* |^IMB-\w+: |^(?:WARNING|ERROR|Warning|Error|Note|NOTE):?\s"
    r"|^=\s{2,}|\bUCX\s+(?:ERROR|WARN|INFO|FATAL|DIAG)\b|^(?:srun|slurmstepd): |ALLOCATED NODES|\bJOB MAP\b|^Data for (?:JOB|node)"
)
_NO_COMMAND = re.compile(rf"\s*[+$>%]*\s*(?:\S*/)?{LAUNCHER}\s+{_VERB}")
WARNING_OF_SUITE = re.compile(r"IMB-\w+: warning: ")
_MOST = 200  # most lines from which a reason is chosen


def states_failure(line: str) -> bool:
    """Whether a line states that the launch before it failed."""
    return bool(_FAILED.search(line))


def may_state_failure(text: bytes) -> bool:
    """Whether a line of a text may state that a launch failed: a quick search in long texts."""
    return any(word.encode() in text for word in _IN_FAILED)


def is_message(line: str) -> bool:
    """Whether a line comes from a launcher, an MPI library or the suite, and so is neither a command nor a title."""
    return bool(states_failure(line) or _OTHER.search(line.strip()))


def is_about_launcher(line: str) -> bool:
    """Whether a line that begins with the name of a launcher is a sentence, not a command."""
    return bool(_NO_COMMAND.match(line))


class FailureMessages:
    """The lines from the first one that states a failure, until the launch continues or another begins."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def take(self, line: str) -> bool:
        """Takes a line; returns whether it states a failure. Other lines are kept only after such a line."""
        states = states_failure(line)
        if (states or self.lines) and len(self.lines) < _MOST:
            self.lines.append(line)
        return states

    def reason(self) -> str | None:
        """Why the launch failed, or None if no line states that it failed. Forgets the lines."""
        lines, self.lines = self.lines, []
        return reason("\n".join(lines).encode()) if lines else None
