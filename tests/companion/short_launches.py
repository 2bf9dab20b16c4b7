"""`imb` whose launches are few and short, for tests of what its commands do, not of what they measure."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

from imb.runner import passes, planning, recheck

sampling_arguments = passes.sampling_arguments
SHORT = {
    "-passes": "10",
    "-precision": "100",
    "-budget": "3",
}  # the budget ends launches on a busy machine only


def shorter(*args: Any, **named: Any) -> list[str]:
    """As `passes.sampling_arguments`, with few passes and, unless the user chose any, with two message sizes."""
    words = sampling_arguments(*args, **named)
    if "-budget" in words and "-passes" not in words:
        words += ["-passes", ""]
    sizes = [] if {"-msglog", "-msgsize"} & set(args[3]) else ["-msgsize", "8,1024"]
    return [SHORT.get(before, word) for before, word in pairwise(["", *words])] + sizes


PATCHES: tuple[tuple[ModuleType, str, object], ...] = (
    (passes, "sampling_arguments", shorter),
    (planning, "LAUNCHES", 1),
    (recheck, "USUAL_PAIRS", 1),
)


def for_processes(folder: Path) -> None:
    """`python -m imb` is patched so in processes that have this folder in PYTHONPATH."""
    (folder / "sitecustomize.py").write_text(
        "import sys\n"
        "if sys.orig_argv[1:3] == ['-m', 'imb']:\n"
        f"    sys.path.insert(0, {str(Path(__file__).parent.parent)!r})\n"
        "    from companion import short_launches\n"
        "    for one in short_launches.PATCHES:\n"
        "        setattr(*one)\n"
    )
