"""What pages and examples name exists: commands of imb with their options, options of the suite, targets of make, files, modules, labels of recipes."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import lab
import pytest
import typer
from companion import fake_mpi
from companion.door import Imb
from companion.test_language import texts
from imb import registry

MARKDOWN = [
    *(lab.TOP / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "schema/README.md")),
    *sorted((lab.TOP / "docs").rglob("*.md")),
]
SOURCES = sorted((lab.TOP / "python" / "imb").rglob("*.py"))
EXAMPLES = [
    path for path in sorted((lab.TOP / "examples").rglob("*")) if path.is_file() and path.suffix != ".pyc"
]
PAGES = [*MARKDOWN, *EXAMPLES]
FOLDERS = "bench|cmake|docs|examples|man|packaging|python|schema|src|tests|tools"
# There is one version, and it is not released: none is older.
OTHER_VERSION = r"\b(?:of|in|since|before|after) version \d+\.\d+|(?m:^## \[\d.*)"

whole = pytest.mark.skipif(
    list(registry.SLICES)
    != re.findall(r'(?m)^    "(imb\.\w+)",$', (lab.TOP / "python" / "imb" / "registry.py").read_text()),
    reason="a slice is taken out; pages name its commands",
)


@cache
def commands() -> dict[str, set[str]]:
    """Command -> its options; "": those of imb itself. Old spellings are none."""
    from imb.cli.app import app

    found: dict[str, set[str]] = {}

    def add(command: Any, name: str) -> None:
        options = {
            word for one in command.params if not one.hidden for word in (*one.opts, *one.secondary_opts)
        }
        found[name] = {word for word in options if word.startswith("-")} | {"-h", "--help"}
        for inner in getattr(command, "commands", {}):
            add(command.commands[inner], f"{name} {inner}".strip())

    add(typer.main.get_command(app), "")
    return found


@cache
def suite_options() -> set[str]:
    """Those of the manual page, which a test compares with the option table; -h is in no list."""
    page = (lab.TOP / "man" / "IMB-MPI1.1").read_text().replace("\\-", "-")
    found = set(re.findall(r"(?m)^\.TP\n\.BR? \"?(-\w+)", page))
    assert len(found) > 80
    return found | {"-h"}


@cache
def targets() -> set[str]:
    text = (lab.TOP / "Makefile").read_text()
    names = [name for line in re.findall(r"(?m)^([\w -]+):(?!=)", text) for name in line.split()]
    components = (lab.TOP / "src" / "benchmarks" / "components.txt").read_text().split()
    return {*names, *components, *(f"IMB-{name}" for name in components), "all"}


def code(text: str, markdown: bool) -> Iterator[tuple[int, str]]:
    """Lines of code with their numbers: blocks and `spans` of a page, all of another file. Lines that go on are joined;
    comments behind commands are left out."""
    fenced, begun, number = not markdown, "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if markdown and line.lstrip().startswith("```"):
            fenced = not fenced
        elif line.endswith("\\") and fenced:
            begun += line[:-1] + " "
        elif fenced:
            yield number, re.sub(r"(?<=\S)\s+# .*", "", begun + line)
            begun = ""
        else:
            yield from ((number, span) for span in re.findall(r"`([^`]+)`", line))


def words_after(line: str, program: str) -> Iterator[list[str]]:
    """A program and its words, for each call in a line of a shell. What is quoted or substituted is one word."""
    for found in re.finditer(rf"(?:^|(?<=[\s$(`'\"/;&|]))(?:{program})(?=[ `]|$)", line):
        rest = re.sub(r"\"[^\"]*\"|'[^']*'|\$\([^)]*\)", " QUOTED", line[found.end() :])
        rest = re.split(r"[`;|&<>…#]", rest)[0]
        yield [found[0], *(word.strip("()[]{},.:\"'\\") for word in rest.split())]


def options_of(words: list[str]) -> Iterator[str]:
    yield from (word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word))


def unknown_commands(line: str) -> Iterator[str]:
    """Commands and options of `imb` that it does not have."""
    for _, *words in words_after(line, "imb"):
        if not words or not re.fullmatch(r"[a-z][\w-]*", words[0]):
            continue
        count = 2 if " ".join(words[:2]) in commands() else 1
        name = " ".join(words[:count])
        if name not in commands():
            yield f"imb {name}"
            continue
        end = words.index("--") if "--" in words else len(words)
        inner = [each for each in commands() if each == name or each.startswith(f"{name} ")]
        known = {option for each in inner for option in commands()[each]}
        yield from (f"imb {name} {word}" for word in options_of(words[count:end]) if word not in known)
        yield from (
            f"imb {name} -- {word}" for word in options_of(words[end + 1 :]) if word not in suite_options()
        )


def unknown_options(line: str) -> Iterator[str]:
    for program, *words in words_after(line, r"IMB-[A-Z]\w+"):
        yield from (f"{program} {word}" for word in options_of(words) if word not in suite_options())


def unknown_targets(line: str) -> Iterator[str]:
    for _, *words in words_after(line, "make"):
        for word in words:
            if "=" in word or not re.fullmatch(r"[a-zA-Z1][\w-]*", word):
                break
            if word not in targets():
                yield f"make {word}"


def missing_files(text: str) -> Iterator[str]:
    for path in re.findall(rf"(?<![\w./~$}}<-])((?:{FOLDERS})/[\w./*-]+)", text):
        path = path.rstrip(".*")
        if (
            not re.search("NAME|VERSION", path)
            and not (lab.TOP / path).exists()
            and not list(lab.TOP.glob(path + "*"))
        ):
            yield path
    for name in re.findall(r"(?<!import )`(imb(?:\.\w+)+)`|python -m (bench\.\w+)", text):
        at = Path(*(name[0] or name[1]).split("."))
        folder = lab.TOP / ("python" if name[0] else "")
        # the last word may be a name in a module
        if not any(
            (folder / one).exists() for one in (at, at.with_suffix(".py"), at.parent.with_suffix(".py"))
        ):
            yield str(at)


def unmade_labels(page: str) -> Iterator[str]:
    """Labels that commands of a page show, compare, ..., and that none of its commands makes. NAMES in capitals, paths and the first digits of
    runs are placeholders."""
    calls = [
        (line, words[1:]) for _, line in code(page, True) for words in words_after(line, "imb") if words[1:]
    ]
    made = {
        name
        for _, words in calls
        for before, values in pairwise(words)
        if before in ("--label", "-l", "--name") or words[0] in ("archive", "baseline", "campaign")
        for name in (*values.split(","), Path(values).stem)
    }
    for line, (command, *words) in calls:
        if command not in ("compare", "show", "report", "diagnose", "watch", "export"):
            continue
        sides = [
            word for before, word in zip([command, *words], words, strict=False) if not before.startswith("-")
        ]
        for name in (name for side in sides for name in side.split(",")):
            if re.fullmatch(r"[a-z][a-z_-]+[a-z]", name) and name not in made:
                yield f"{name}: {line}"


def made_by_patches(page: str) -> Iterator[str]:
    """Files, commands and options that blocks of code of the page add (tests/guide.py), and the folder of a new slice's tests."""
    for file in re.findall(r"(?m)^```\w+ file=(\S+)", page):
        if not (lab.TOP / file).exists():
            yield from (file, f"tests/companion/{Path(file).parent.name}")
    yield from (f"imb {name}" for name in re.findall(r'"(\w+)": CommandEntry\(', page))
    for command, block in re.findall(
        r"(?ms)^```python file=python/imb/cli/(\w+)\.py[^\n]*\n(.*?)^```$", page
    ):
        yield from (f"imb {command} {option}" for option in re.findall(r'typer\.Option\("(--[\w-]+)"', block))


def findings(path: Path, text: str) -> list[str]:
    added = "|".join((r"src/mpi/datatype/\S+", *made_by_patches(text)))  # a file of MPICH
    named = [
        f"{number}: {wrong}"
        for number, line in code(text, path.suffix == ".md")
        for check in (unknown_commands, unknown_options, unknown_targets)
        for wrong in check(line)
    ]
    return [
        one
        for one in (*named, *missing_files(text))
        if not re.search(rf"(?:^|^\d+: )(?:{added})(?:$|[ /])", one)
    ]


def test_the_scan_finds_names() -> None:
    page = """`imb verify` `imb run PingPong --no-such -- -msglog 3 -no_such` `imb ls --all`
```sh
mpirun -np 2 IMB-MPI1 -check -nothing   # -comment
make run NP=4 ARGS='-check' && make nonsense
imb ab --a "--mca btl tcp" --b "" -- PingPong
imb compare made unmade RUN logs/old.log 3fa9 && imb run PingPong --label made
```
`docs/nowhere.toml` docs/gpu.md `imb.model.nowhere.thing` `imb.model.text`"""
    assert findings(lab.TOP / "README.md", page) == [
        "1: imb verify",
        "1: imb run --no-such",
        "1: imb run -- -no_such",
        "3: IMB-MPI1 -nothing",
        "4: make nonsense",
        "docs/nowhere.toml",
        "imb/model/nowhere/thing",
    ]
    assert [one.partition(":")[0] for one in unmade_labels(page)] == ["unmade"]


@whole
@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(lab.TOP)))
def test_what_a_page_names_exists(page: Path) -> None:
    assert not findings(page, page.read_text())


def test_labels_of_recipes_are_made() -> None:
    assert not list(unmade_labels((lab.TOP / "docs" / "cookbook.md").read_text()))


@pytest.mark.parametrize("page", MARKDOWN, ids=lambda path: path.name)
def test_no_page_names_an_older_version(page: Path) -> None:
    assert not re.findall(OTHER_VERSION, page.read_text())


def launches() -> list[str]:
    """The calls of `imb run` in blocks of the pages that can be executed as they are."""
    lines = {
        line.strip().removeprefix("$ ")
        for page in MARKDOWN
        for block in re.findall(r"(?ms)^ *```(?:console|sh)\n(.*?)^ *```$", page.read_text())
        for line in block.replace("\\\n", " ").splitlines()
    }
    calls = {shlex.join(shlex.split(line, comments=True)) for line in lines if line.startswith("imb run ")}
    return sorted(call for call in calls if "$" not in call and "--resume" not in call)


@whole
@pytest.mark.parametrize("call", launches())
def test_documented_launches_are_accepted(
    call: str, imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they are written, but with an MPI and CPUs that are here; nothing is launched."""
    _, command, *words = shlex.split(call.replace("--cpus 0,3", "--cpus 0,0"))
    own = fake_mpi.make(tmp_path / "mpi")
    for option in ("--mpi", "--submit", "--queue", "--minutes"):
        if option in words:
            del words[words.index(option) : words.index(option) + 2]
    monkeypatch.chdir(tmp_path)
    for name in ("sizes.txt", "variants.txt"):
        Path(name).write_text("8\n")
    said = imb(command, *own, "--dry-run", *words)
    assert said.code == 0 and f"{tmp_path}/mpi/bin/mpiexec" in said.out, said.err


ADVICE = r"\b(?:add|call|choose|compare|give|limit|look|measure|repeat|see|take|try|use)\b[^;:]*?|\("


def unusable_advice(source: str) -> Iterator[str]:
    """Messages of a module that advise an option of the suite as if it were one of `imb`, which takes it behind -- only."""
    options = "|".join(sorted(suite_options()))
    for line, message in texts(ast.parse(source)):
        if " " in message:
            bare = re.sub(r"(?:IMB-\w+|--) -[^;)]*", "", message)
            yield from (
                f"{line}: {found[0]}"
                for found in re.finditer(rf"(?:{ADVICE})(?<![\w-])(?:{options})\b", bare)
            )


def test_the_scan_finds_advice() -> None:
    assert list(unusable_advice("f'launches of {time} (-budget {more})'")) == ["1: (-budget"]
    assert list(unusable_advice("say('repeat with -show_tail yes')")) == ["1: repeat with -show_tail"]
    assert not list(unusable_advice("say('use -- -time 0.2; take --budget 20; wrong bytes found by -check')"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(lab.TOP)))
def test_advice_can_be_pasted(source: Path) -> None:
    assert not list(unusable_advice(source.read_text()))
