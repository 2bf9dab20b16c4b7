#!/usr/bin/env python3
"""Outputs that README.md and docs/ show, printed from recordings of real launches. Nothing is measured: tools/record.py does that.

    tools/recordings.py [NAME ...]    write the blocks of these recordings anew (all: none named)
    tools/recordings.py --pictures    the same, and take the pictures of docs/images/

A block with `<!-- recording: NAME -->` above it belongs to docs/recordings/NAME.tar.xz, an archive of what its commands measured. Blocks of
one recording share it: a command is measured once. `to be recorded` instead of `recording`: the block shows an earlier output. In a block, `…` stands for any lines, or for the rest of one.
tests/companion/test_recordings.py compares each block with what the program of today prints.

Of `imb run` and `imb campaign`, the lines of launches and what follows them are printed again; of other commands that measure, their report,
by `imb run --resume` or `imb fabric NAME`; of executables of the suite, the log that `imb export` writes of their records. All other
commands of `imb` are executed, and `cat FILE` writes the file. Of AS_PRINTED the output itself is kept.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import functools
import io
import itertools
import json
import lzma
import os
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

TOP = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TOP / "python"), str(TOP / "tests")]

FOLDER = TOP / "docs" / "recordings"
GAP = "…"
EVERY = ("recording", "to be recorded")  # marks of blocks
# A recording, and what the report in the pictures compares.
PICTURES = ("transports", ["transports-openmpi/shm", "transports-openmpi/tcp"])
GIVEN = TOP / "tests" / "companion" / "data"  # files that commands read
# Recordings of what an archive does not hold: the lines that were printed.
AS_PRINTED = {"doctor", "failed-setup", "tuning"}
_MARK = re.compile(
    r"(?ms)^<!-- (?P<mark>recording|to be recorded): (?P<name>[\w-]+) -->\n```console\n(?P<text>.*?)^```$"
)
_CONSOLE = re.compile(r"(?ms)(?P<before>[^\n]*\n|\A)^```console\n(?P<text>.*?)^```$")


def measuring_commands() -> set[str]:
    """Those of `imb` that launch."""
    from imb import registry

    return {"doctor"} | {name for name, entry in registry.commands().items() if entry.group == "Measure"}


@dataclass
class Step:
    """A command of a block and the lines that it shows."""

    command: str
    shown: list[str] = field(default_factory=list)
    prompt: str = "$ "

    @property
    def words(self) -> list[str]:
        """Without a comment and without what the shell adds."""
        return shlex.split(self.command.partition("; echo exit")[0].replace("\\\n", " "), comments=True)

    @property
    def measures(self) -> bool:
        """Whether it launches; otherwise it reads what others measured."""
        words = self.words
        if words[:3] == ["imb", "baseline", "check"]:
            return len(words) == 4  # not of existing results
        if words[:2] == ["imb", "fabric"]:
            return words[2].startswith("-")
        return words[0] == "mpirun" or (words[0] == "imb" and words[1] in measuring_commands())


@dataclass
class Block:
    """With its mark, "recording" or "to be recorded"."""

    page: Path
    mark: str
    name: str
    text: str

    @property
    def steps(self) -> list[Step]:
        """Its commands with what they show."""
        steps: list[Step] = []
        for line in self.text.splitlines():
            if line.startswith(("$ ", "# imb ")):
                steps.append(Step(line[2:], prompt=line[:2]))
            elif steps and not steps[-1].shown and _continues(steps[-1].command):
                steps[-1].command += f"\n{line}"
            else:
                steps = steps or [Step("")]
                steps[-1].shown.append(line)
        return steps


def _continues(command: str) -> bool:
    try:
        shlex.split(command, comments=True)
    except ValueError:  # within quotes, or after a backslash
        return True
    return False


def pages() -> list[Path]:
    return [TOP / "README.md", *sorted((TOP / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """Those with a mark."""
    return [Block(page, *found.groups()) for found in _MARK.finditer(page.read_text())]


def all_blocks(marks: Sequence[str] = ("recording",)) -> dict[str, list[Block]]:
    """By recording."""
    named: dict[str, list[Block]] = {}
    for block in (block for page in pages() for block in blocks(page)):
        if block.mark in marks:
            named.setdefault(block.name, []).append(block)
    return named


def unmarked(page: Path) -> list[str]:
    """The first commands of blocks that show output without a recording, and without a remark why."""
    found = []
    for block in _CONSOLE.finditer(page.read_text()):
        if block["before"].startswith("<!-- "):
            continue
        steps = Block(page, "", "", block["text"]).steps
        found += [step.command for step in steps[:1] if any(step.shown for step in steps)]
    return found


def write_shown(step: Step, folder: Path) -> None:
    """The file that `cat FILE` shows."""
    (folder / step.words[1]).write_text("".join(f"{line}\n" for line in step.shown))


# --- Printing again --------------------------------------------------------------------------------------------------


def give(folder: Path) -> None:
    """The files that commands read."""
    (folder / "examples").symlink_to(TOP / "examples")
    for file in GIVEN.glob("*.rst"):
        (folder / file.name).symlink_to(file)


def _judging(words: Sequence[str]) -> list[str]:
    """The options of `imb fabric` that are not of launches."""
    named = {"--topology", "--baseline", "--relevant"}
    return [
        word for option, value in itertools.pairwise(words) if option in named for word in (option, value)
    ]


class Recording:
    """One, unpacked into a folder in which commands are executed, with its archive."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self.commands: dict[str, list[str]] = {}
        if (file := FOLDER / f"{name}.tar.xz").exists():
            with lzma.open(file) as packed, tarfile.open(fileobj=packed) as tar:
                if hasattr(tarfile, "data_filter"):  # from Python 3.11.4 on
                    tar.extraction_filter = tarfile.data_filter
                tar.extractall(folder)
            self.commands = json.loads((folder / "commands.json").read_text())
        give(folder)

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Within its folder, with its archive."""
        own = {
            "IMB_ARCHIVE": "archive",
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "HOME": str(self.folder),
        }
        plain = {"NO_COLOR": "1", "TERM": "dumb", "LC_ALL": "C.UTF-8"}
        with contextlib.chdir(self.folder), patch.dict(os.environ, {**own, **plain}):
            os.environ.pop("XDG_DATA_HOME", None)
            yield

    def printed(self, step: Step) -> list[str] | None:
        """What the program of today prints for a command; None: it is no command of `imb` or the suite."""
        words = step.words
        if words[0] == "cat":
            write_shown(step, self.folder)
        if step.measures:
            if step.command not in self.commands:
                raise LookupError(
                    f"`{step.command}` is not in the recording {self.name}; tools/record.py {self.name}"
                )
            ids = self.commands[step.command]
            if self.name in AS_PRINTED:
                return ids
            if not step.shown:
                return None
            if words[0] != "imb":
                sent = step.shown[:1] if step.shown[:1] == ["^C"] else []
                return sent + self._log(ids[0])
            if words[1] == "fabric":
                return imb(["fabric", *self._runs(ids), *_judging(words)])[1].splitlines()
            if words[1] in ("run", "campaign"):
                return self._launches(ids[0])
            code, text = imb(["run", "--resume", ids[-1], "--force-owner"])
            text = re.sub(r"(?s)\A.*?: nothing left to run, [^\n]*\n", "", text, count=1)
        elif words[0] == "imb":
            code, text = imb(words[1:])
        else:
            return None
        if "; echo exit $?" in step.command:
            text += f"exit {code}\n"
        return text.splitlines()

    def _launches(self, session: str) -> list[str]:
        """The table of a single launch, then the lines of launches and what follows them."""
        from imb.experiments.launch_lines import launch_line, warn_of_others
        from imb.experiments.run_experiment import RunExperiment
        from imb.report.run_tables import print_tables
        from imb.report.terminal import say
        from imb.runner.experiment import SessionEnd
        from imb.runner.session import finished_launches
        from imb.runner.stored_sessions import find_session
        from imb.store.store import Archive

        archive = Archive()
        plan = find_session(archive, session, force_owner=True)
        over = list(finished_launches(archive, plan).values())
        with _captured() as text:
            if len(plan.items) == 1:
                print_tables(archive.run(over[0].run).records(), failures=False)
            for ended in over:
                say(launch_line(archive, plan, ended))
            warn_of_others(archive, (ended.run for ended in over))
            runs = RunExperiment(archive, plan)
            runs.over_before = 0
            runs.conclude(SessionEnd(over, 0, None, plan))
        return text.getvalue().decode().splitlines()

    def _runs(self, sessions: Iterable[str]) -> list[str]:
        """Of these sessions, in their order."""
        ended = (
            path for name in sessions for path in sorted(Path("archive/sessions", name).glob("[0-9]*.json"))
        )
        return [json.loads(path.read_text())["run"] for path in ended]

    @staticmethod
    def _log(run: str) -> list[str]:
        from companion import classic_text
        from imb.store.store import Archive

        stored = Archive().run(run)
        printed = stored.part("output.txt")
        text = printed.decode() if printed else classic_text.text(stored.records().records)
        return text.splitlines()


@contextlib.contextmanager
def _captured() -> Iterator[io.BytesIO]:
    """What is printed, on both streams in its order."""
    raw = io.BytesIO()
    text = io.TextIOWrapper(raw, "utf-8", write_through=True)
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        yield raw
    text.detach()


def imb(words: Sequence[str]) -> tuple[int, str]:
    """Exit status and output of a command."""
    from imb.cli import main

    code: object = 0
    with _captured() as text:
        try:
            main(list(words))
        except SystemExit as end:
            code = end.code or 0
    assert isinstance(code, int)
    return code, text.getvalue().decode()


# --- Comparing -------------------------------------------------------------------------------------------------------


def _pattern(shown: Iterable[str]) -> str:
    """Of lines that show an output."""
    lines = []
    for line in shown:
        if line.strip() == GAP:
            lines.append(r"(?:.*\n)*?")
        else:
            lines.append(r".*".join(map(re.escape, line.rstrip().split(GAP))) + r" *\n")
    return "".join(lines)


def stale_line(shown: Sequence[str], printed: Sequence[str]) -> str | None:
    """The first shown line from which on the lines are not those that are printed; None: all are, in their order, and what is
    left out is marked."""
    text = "".join(f"{line.rstrip()}\n" for line in printed)
    if re.fullmatch(_pattern(shown), text):
        return None
    for end in range(1, len(shown) + 1):
        if not re.match(_pattern(shown[:end]), text):
            return shown[end - 1]
    return f"after {shown[-1]}" if shown else "no output"


def stale(name: str, of_name: Iterable[Block]) -> list[str]:
    """What these blocks of a recording show and the program does not print."""
    found = []
    with tempfile.TemporaryDirectory(prefix="openimb-recording-") as folder:
        recording = Recording(name, Path(folder))
        with recording.inside():
            done: dict[str, list[str] | None] = {}
            for block in of_name:
                for step in block.steps:
                    printed = done[step.command] = done.get(step.command) or recording.printed(step)
                    if printed is None or not step.shown:
                        continue
                    if (line := stale_line(step.shown, printed)) is not None:
                        found.append(f"{block.page.relative_to(TOP)}: {step.command.splitlines()[0]}: {line}")
    return found


# --- Writing blocks --------------------------------------------------------------------------------------------------


def renewed(shown: Sequence[str], printed: Sequence[str]) -> list[str]:
    """The lines of `printed` that are most like those shown, in their order; all of them between two that are not separated by a
    gap."""
    if stale_line(shown, printed) is None:
        return list(shown)
    wanted = [line for line in shown if line.strip() != GAP]
    gap_before = [
        at > 0 and shown[at - 1].strip() == GAP for at, line in enumerate(shown) if line.strip() != GAP
    ]
    ends_open = bool(shown) and shown[-1].strip() == GAP
    places = _alignment(wanted, printed)
    lines: list[str] = []
    last = -1
    for line, place, gap in zip(wanted, places, gap_before, strict=True):
        if place is None:
            continue
        if place > last + 1:
            lines += [GAP] if gap else [one.rstrip() for one in printed[last + 1 : place]]
        new = printed[place].rstrip()
        lines.append(_shortened(new, line) if GAP in line else new)
        last = place
    if last + 1 < len(printed):
        lines += [GAP] if ends_open else [one.rstrip() for one in printed[last + 1 :]]
    return lines


def _shortened(new: str, old: str) -> str:
    """To about as many characters as the old line had before its gap, where it ends with one."""
    kept = old.rstrip().removesuffix(GAP).rstrip()
    if GAP in kept or not old.rstrip().endswith(GAP) or len(new) <= len(kept) + 2:
        return new
    cut = new[: len(kept) + 1].rpartition(" ")[0].rstrip()
    return f"{cut} {GAP}"


def _alignment(wanted: Sequence[str], printed: Sequence[str]) -> list[int | None]:
    """For each line the place of its most similar one, ascending, so that the sum of similarities is the largest."""

    @functools.cache
    def plain(line: str) -> str:
        return re.sub(r"\d", "0", line)

    def alike(one: str, other: str) -> float:
        if GAP in one:
            one = one.partition(GAP)[0]
            other = other[: len(one)]
        ratio = difflib.SequenceMatcher(None, plain(one), plain(other), autojunk=False).ratio()
        first = one.split()[:1] == other.split()[:1]
        return 0.0 if ratio < 0.5 else ratio + 0.3 * first + 0.2 * (one == other)

    rows, columns = len(wanted), len(printed)
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    likeness = [[alike(one, other) for other in printed] for one in wanted]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], likeness[i][j] + best[i + 1][j + 1])
    places: list[int | None] = []
    j = 0
    for i in range(rows):
        while j < columns and best[i][j] == best[i][j + 1]:
            j += 1
        takes = j < columns and likeness[i][j] > 0 and best[i][j] > best[i + 1][j]
        places.append(j if takes else None)
        j += takes
    return places


def render(name: str) -> None:
    """Writes the blocks of a recording anew. Runs that a block names are those that its launches are now."""
    with tempfile.TemporaryDirectory(prefix="openimb-recording-") as folder:
        recording = Recording(name, Path(folder))
        done: dict[str, list[str]] = {}
        for block in all_blocks(EVERY)[name]:
            text = ""
            now: dict[str, str] = {}
            for step in block.steps:
                for before, after in now.items():
                    step.command = step.command.replace(before, after)
                with recording.inside():
                    printed = done.get(step.command) or recording.printed(step)
                lines = step.shown
                if printed is not None:
                    done[step.command] = printed
                    lines = renewed(step.shown, printed) if step.shown else []
                    now |= dict(zip(_launches_in(step.shown), _launches_in(lines), strict=False))
                text += "".join(f"{line}\n" for line in [step.prompt + step.command, *lines])
            if text != block.text or block.mark != "recording":
                print(f"{block.page.relative_to(TOP)}: {block.steps[0].command.splitlines()[0]}")
                head = f" {name} -->\n```console\n"
                before = f"<!-- {block.mark}:{head}{block.text}"
                whole = block.page.read_text()
                assert whole.count(before) == 1
                block.page.write_text(whole.replace(before, f"<!-- recording:{head}{text}"))


def _launches_in(lines: Iterable[str]) -> list[str]:
    """The runs in lines of launches."""
    return [found[1] for line in lines if (found := re.match(r"([0-9a-f]{10})  launch ", line))]


def take_pictures() -> None:
    """Those of docs/images, by a browser, of a report of a recording."""
    name, compared = PICTURES
    with tempfile.TemporaryDirectory(prefix="openimb-recording-") as folder:
        recording = Recording(name, Path(folder))
        with recording.inside():
            code, text = imb(["report", *compared, "-o", "report.html"])
        assert code == 0, text
        test = TOP / "tests" / "companion" / "test_browser.py"
        own = {"OPENIMB_SCREENSHOTS": str(TOP / "docs" / "images"), "OPENIMB_REPORT": f"{folder}/report.html"}
        words = [sys.executable, "-m", "pytest", str(test), "-k", "pictures", "-p", "no:cacheprovider"]
        subprocess.run(words, env={**os.environ, **own}, cwd=TOP, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--pictures", action="store_true", help="take the pictures of docs/images too")
    options = parser.parse_args()
    for name in chosen(options.names, list(all_blocks())):
        render(name)
    if options.pictures:
        take_pictures()


def chosen(names: list[str], known: list[str]) -> list[str]:
    """These recordings, or all; ends with an error where a name has no block."""
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"no block has the recording {unknown[0]}; there are {', '.join(known)}")
    return names or known


if __name__ == "__main__":
    main()
