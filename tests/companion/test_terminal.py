"""What people read: text of logs, labels and hosts is data, whatever it holds, and odd figures end no command."""

from __future__ import annotations

import io
import json
import random
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from companion.door import Imb, Said
from companion.machines import healthy, launch, row
from imb.model.records import Failure, Mpi, Result, Run, write
from imb.model.text import one_line, strip_controls
from imb.report.terminal import fold_text
from imb.store.store import Archive, Content

REFERENCE = Path(__file__).resolve().parents[1] / "reference"
ODD = "Reduce[/x]\x1b[31m\x9b2J\x1b]0;owned\x07\u202egnp\u2066\r\nFAKE line\tend"
STATUSES = {0, 1, 2, 10, 11, 12}


def clean(said: Said, *, folded: bool = False) -> None:
    """Nothing steers the terminal, and no name makes a line of its own, but where tables fold long names."""
    assert said.code in STATUSES
    for text in (said.out, said.err):
        wrong = {c for c in text if not c.isprintable() and c != "\n"}
        assert not wrong, (wrong, text[:400])
        assert folded or not re.search(r"(?m)^FAKE line end", text)


def odd_side(archive: Archive, label: str, factor: float = 1.0) -> None:
    """Five launches in which everything that a log or a user can name is odd."""
    for number in range(5):
        rows = healthy(np.random.default_rng(7 + number))
        for one in rows[:24]:
            assert isinstance(one, Result)
            one.benchmark = ODD
        for one in rows:
            if isinstance(one, Result) and one.time_avg_seconds:
                one.time_avg_seconds *= factor
        rows.append(Failure(benchmark=ODD, bytes=4, processes=8, cause="io_error", detail=ODD))
        made = launch(rows, hosts=(ODD,), environment={ODD: ODD + label})
        made = [
            one.__class__(**{**{n: getattr(one, n) for n in one.__struct_fields__}, "program": ODD, "date": ODD,
                             "mpi": Mpi(name=ODD + label), "command_line": [ODD, "-x"]})
            if isinstance(one, Run) else one
            for one in made
        ]  # fmt: skip
        facts = {"kind": "launch", "outcome": ODD, "command": [ODD], "note": ODD, "turn": number}
        archive.add(
            Content(records=write(made), output=ODD.encode(), facts=facts, labels=[label], origin=f"/{ODD}")
        )


COMMANDS = (
    "ls",
    "ls --all -b {odd}",
    "show {run}",
    "show {run} --chart",
    "show {run} --benchmark {odd}",
    "show {a}",
    "compare {a} {b}",
    "compare {a} {b} --rows",
    "compare {a} {b} --format markdown",
    "compare {a} nothing{odd}",
    "diagnose {a}",
    "diagnose {a} --format markdown",
    "diagnose nothing{odd}",
    "report -f terminal {a} {b}",
    "report -f terminal {a} -b {odd}",
    "query {sql}",
    "export {run} --format markdown",
    "report {a} {b} -o {page}",
    "label {run} --add {odd}",
    "rm {odd}",
    "verify",
    "baseline list",
    "import {file}",
    "{odd}",
    "show --{odd}",
)


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.slow
def test_odd_names_stay_text(
    words: str, imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("imb.store.labels.check_labels", list)  # another program may have written such labels
    a, b = f"a{ODD}", f"b{ODD}"
    odd_side(archive, a)
    odd_side(archive, b, 1.3)
    file = tmp_path / "odd\u202e\x1b[31m.log"
    file.write_text(ODD)
    page = tmp_path / "page.html"
    known = {"a": a, "b": b, "odd": ODD, "run": archive.ids()[0][:12], "page": page, "file": file,
             "sql": "SELECT run, benchmark FROM results"}  # fmt: skip
    clean(imb(*[word.format(**known) for word in words.split()]), folded=words.startswith("compare {a} {b}"))
    if page.exists():
        body = re.sub(r'(?s)<script type="text/plain" id="plotly">.*?</script>', "", page.read_text())
        wrong = {c for c in body if not c.isprintable() and c != "\n"} - {"\xa0"}
        assert not wrong
        assert "\\u001b" not in body and "&#27;" not in body


def test_a_line_stays_a_line() -> None:
    assert one_line("a\nb\r\u2028c") == "a b  c"
    assert one_line("x\x1b[31m\u202e\udc80") == "x?[31m?\\udc80"
    assert one_line("Größe µs 语") == "Größe µs 语"
    assert strip_controls("a\tb\r\nc\x07") == "a\tb \nc?"


def test_what_programs_read_is_exact_and_what_a_terminal_gets_is_clean(
    imb: Imb, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd_side(archive, "a")
    run = archive.ids()[0][:12]
    assert imb("show", run, "--output").out == ODD.replace("\r\n", "\r\n")
    for words in (
        ("show", run, "--output"),
        ("export", run),
        ("export", run, "--format", "json"),
        ("export", run, "--format", "markdown"),
        ("ls", "--format", "json"),
        ("query", "--format", "csv", "SELECT benchmark FROM results"),
        ("query", "--format", "json", "SELECT benchmark FROM results"),
        ("compare", "a", "a", "--format", "json"),
        ("diagnose", "a", "--format", "json"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr("sys.stdout.isatty", lambda: True)
            said = imb(*words)
        assert said.code in STATUSES
        wrong = {c for c in said.out if not c.isprintable() and c not in "\n\t"}
        assert not wrong, words


@pytest.mark.parametrize("figure", ["-1.00", "nan", "inf", "-inf", "0.00", "1e300", "1e-300"])
@pytest.mark.slow
def test_a_chart_of_odd_figures(figure: str, imb: Imb, tmp_path: Path) -> None:
    log = (REFERENCE / "mpi1-np2.txt").read_text()
    number = 0

    def other(found: re.Match[str]) -> str:
        nonlocal number
        number += 1
        return f"{figure:>{len(found[0])}}" if number % 3 == 0 else found[0]

    (tmp_path / "odd.log").write_text(re.sub(r" +\d+\.\d\d(?= |$)", other, log, flags=re.M))
    imb("import", tmp_path / "odd.log", "--label", "odd")
    said = imb("show", "odd", "--chart")
    assert said.code in (0, 2), said.err
    assert "math domain" not in said.err
    clean(said)
    clean(imb("report", "odd", "-f", "terminal"))


FIGURES = ("-1.00", "nan", "inf", "0.00", "1e300", "99999999999.00", "-0.00", "x")
WORDS = ("[/x]", "\x1b[2J", "\u202e", "[red]", "\x07", "\x9b1m", "{x}", "%s", "<b>", "|", "\x00")


def mutated(text: str, chance: random.Random) -> str:
    """Some figures replaced, some odd text put somewhere."""
    lines = text.split("\n")
    for _ in range(chance.randint(1, 12)):
        at = chance.randrange(len(lines))
        words = re.findall(r"\S+", lines[at])
        if words and chance.random() < 0.6:
            word = chance.choice(words)
            lines[at] = lines[at].replace(word, chance.choice(FIGURES).rjust(len(word)), 1)
        else:
            place = chance.randint(0, len(lines[at]))
            lines[at] = lines[at][:place] + chance.choice(WORDS) + lines[at][place:]
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.slow
def test_mutated_logs_are_read_or_refused(seed: int, imb: Imb, tmp_path: Path) -> None:
    chance = random.Random(seed)
    logs = sorted(REFERENCE.glob("*.txt"))
    for side in ("a", "b"):
        text = chance.choice(logs).read_text()
        (tmp_path / f"{side}.log").write_text(mutated(text, chance))
        clean(imb("import", tmp_path / f"{side}.log", "--label", side))
    clean(imb("ls"))
    clean(imb("show", "a", "--chart"))
    clean(imb("compare", tmp_path / "a.log", tmp_path / "b.log", "--force", "--rows"))
    clean(imb("diagnose", tmp_path / "a.log"))
    clean(imb("report", tmp_path / "a.log", tmp_path / "b.log", "--force", "-o", tmp_path / "page.html"))


@pytest.mark.slow
def test_signs_that_a_terminal_lacks_are_ascii(imb: Imb, archive: Archive) -> None:
    for stream in (sys.stdout, sys.stderr):  # as by PYTHONIOENCODING=ascii; they are of this test
        assert isinstance(stream, io.TextIOWrapper)
        stream.reconfigure(encoding="ascii")
    for label, factor in (("before", 1.0), ("after é", 2.0)):
        for number in range(5):
            rows = healthy(np.random.default_rng(7 + number))
            for one in rows:
                if isinstance(one, Result):
                    one.time_avg_seconds = one.time_max_seconds = (one.time_max_seconds or 0) * factor
            archive.add(Content(records=write(launch(rows)), facts={"turn": number}, labels=[label]))
    compared = imb("compare", "before", "after é", "--assume-one-session").out
    assert (
        "^ faster, v slower, = same, (^) (v) slightly faster, slower (less than 5 %), ? inconclusive"
        in compared
    )
    assert re.search(r"PingPong +0\.50x v \[", compared) and "A us" in compared
    shown = imb("show", archive.ids()[0], "--chart").out
    assert "t_max us" in shown and re.search(r"\d\+ +\*.*\|$", shown, re.MULTILINE)
    said = [compared, shown, *(imb(name, "before").out for name in ("show", "watch", "diagnose"))]
    assert all(text.isascii() for text in said) and "\\u" not in "".join(said).replace("\\u00e9", "")
    assert json.loads(imb("compare", "before", "after é", "--format", "json").out)["name_b"] == "after é"


def test_small_figures_have_three_digits(imb: Imb, archive: Archive) -> None:
    archive.add(Content(records=write(launch([row("Bcast", 2, n, 4.32e-9, "collective") for n in (0, 1, 2)])), labels=["tiny"]))  # fmt: skip
    assert "0.00432" in imb("show", "tiny", "--no-chart").out
    assert "0.00436" in imb("compare", "tiny", "tiny", "--rows").out  # the slowest rank's
    assert "0.00432" in imb("export", "tiny", "--format", "markdown").out


def test_commands_are_folded_where_a_shell_joins_them_again() -> None:
    command = "A=1 mpiexec -n 2 " + "--map-by 'ppr:2:node and more' " * 8 + "IMB-MPI1 PingPong"
    lines = fold_text(f"$ {command}", 60, end=" \\")
    assert len(lines) > 3 and max(map(len, lines)) <= 60 and all(line.endswith(" \\") for line in lines[:-1])
    words = subprocess.check_output(["sh", "-c", "printf '%s\\n' " + "\n".join(lines)[2:]], text=True)
    assert words.splitlines() == shlex.split(command)
