"""Reads options of the suite that the companion uses from a run record."""

from __future__ import annotations

from typing import NamedTuple

from imb.model.records import Run


class PassLimits(NamedTuple):
    """Values of -passes, -precision (percent) and -budget (seconds), or None if not limited."""

    passes: float | None = None
    precision: float | None = None
    budget: float | None = None

    @property
    def precision_text(self) -> str:
        """`±2 %`"""
        return f"±{self.precision or 0:.12g} %"

    def __str__(self) -> str:
        """The text of the suite's banner: `until each row is within ±1 % or 30 s have passed`."""
        words = [f"each row is within {self.precision_text}"] if self.precision else []
        if self.passes:
            words.append("1 pass is done" if self.passes == 1 else f"{self.passes:.12g} passes are done")
        words += [f"{self.budget:.12g} s have passed"] if self.budget else []
        return "until " + " or ".join(words) if words else "without a limit"


def pass_limits(run: Run) -> PassLimits | None:
    """The limits, or None if the launch was not measured in passes."""
    limits = PassLimits(*(run.option(name, float) for name in PassLimits._fields))
    return limits if any(limits) else None


class Memory(NamedTuple):
    """The value of -memory: the kinds of memory of send and receive buffers."""

    send: str
    receive: str

    def __str__(self) -> str:
        """`cuda`, `cuda to host`."""
        return self.send if self.send == self.receive else f"{self.send} to {self.receive}"


def memory(run: Run) -> Memory | None:
    """The value of -memory, or None if the records do not have it."""
    kinds = run.option("memory", str)
    return Memory(kinds.split(",")[0], kinds.split(",")[-1]) if kinds else None
