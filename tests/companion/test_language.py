"""The language of help texts, messages and documents: terms of the field, American spelling, headings that name a topic."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lab
import pytest
from companion.door import Imb
from imb import registry

PAGES = [
    lab.TOP / "README.md",
    lab.TOP / "CONTRIBUTING.md",
    lab.TOP / "CHANGELOG.md",
    lab.TOP / "schema" / "README.md",
    *sorted((lab.TOP / "docs").rglob("*.md")),
]
EXAMPLES = [
    path for path in sorted((lab.TOP / "examples").rglob("*")) if path.suffix in (".toml", ".py", ".md")
]
SOURCES = [*sorted((lab.TOP / "python" / "imb").rglob("*.py")), *sorted((lab.TOP / "tools").glob("*.py"))]
SUITE = [path for path in sorted((lab.TOP / "src").rglob("*")) if path.suffix in (".h", ".cpp")]
SCHEMAS = sorted((lab.TOP / "schema").glob("*.json"))
COMMANDS = [
    *registry.commands(),
    "baseline set",
    "baseline list",
    "baseline show",
    "baseline check",
    "archive label",
    "archive rm",
    "archive restore",
    "archive verify",
]  # fmt: skip

# What is not to be written, and what is to be written instead.
TERMS = {
    r"cannot tell": "inconclusive",
    r"by turns": "interleaved, alternating segments",
    r"for all that can be": "no significant difference",
    r"none that is known|no condition that is known": "no known environment differences",
    r"words for|(?:IMB|launcher|compiler)'s (?:own )?words|last words": "arguments, output, message",
    r"\bof whom\b": "of which, or another sentence",
    r"\bwho waits?\b|\bstands? aside\b": "idle ranks",
    r"\bset-ups?\b|\btear-downs?\b": "setup, teardown",
    r"\bspeed multiplier\b": "speedup",
    r"\bper further byte\b": "bandwidth",
    r"\bcaveats?\b|\bconductor\b": "notes, interleaving server",
}
# American spelling, as in the MPI standard.
BRITISH = {
    r"\b\w*(?:abell|ancell|odell|ravell|ignall)ed\b": "one l",
    r"\bmodell\w+|\bsignall\w+": "one l",
    r"(?:behavi|col|neighb|fav|hon)our": "-or",
    r"\b\w*(?:synchron|initial|optim|vector|normal|organ|summar|minim|maxim|random|recogn|serial|parallel|general|util)is(?:e[ds]?|ing|ation)\b": "-ize, -ization",
    r"\banalys(?:e[ds]?|ing)\b": "analyze",
    r"\b(?:cent|met)re\b": "-er",
    r"\bcatalogues?\b": "catalog",
    r"\bmisspelt\b|\blearnt\b": "misspelled, learned",
}
# What stays in a text or in sources, and why.
ALLOWED = {
    r"`imb\.logs\.catalogue`|`catalogue`|imb\.logs\.catalogue|import catalogue|\bcatalogue(?=\.[a-z_])": "the name of a module",
    r"\bsynchronisation\b|\bsynchronise_each\b": "a value and a field of the records' schema",
    r"\b_?centred?\b": "names of variables and of functions",
    r"standing\.json": "the name of a file in archives",
}


def faults(text: str, *terms: dict[str, str]) -> list[str]:
    """What is wrong in a text, as `found: what to write`."""
    text = re.sub("|".join(ALLOWED), "", text)
    found = []
    for pattern, better in ((p, b) for of in terms for p, b in of.items()):
        found += [f"{match[0]!r}: {better}" for match in re.finditer(pattern, text, re.IGNORECASE)]
    return found


def prose(page: str) -> str:
    """A page without recorded output, code, and tables that a bench writes."""
    page = re.sub(r"(?ms)^```.*?^```|^<!-- \w+: bench/.*?^<!-- end of ", "", page)
    return re.sub(r"`[^`\n]*`", "``", page)


# Comment lines that follow each other are one comment; strings, of which those of one word are names; characters.
CPP = re.compile(
    r'(?P<comment>//[^\n]*(?:\n[ \t]*//[^\n]*)*)|/\*(?P<block>.*?)\*/|R"(?P<mark>[^(\n]*)\((?P<raw>.*?)\)(?P=mark)"'
    r"|\"(?P<string>(?:\\.|[^\"\\\n])*)\"|(?<!\w)'(?:\\.|[^'\\\n])*'",
    re.DOTALL,
)


def cpp_texts(text: str) -> Iterator[tuple[int, str]]:
    """Comments and strings of C++ with the lines where they begin."""
    for found in CPP.finditer(text):
        comment = re.sub(r"\s*\n\s*//[/<]*\s*", " ", found["comment"] or found["block"] or "")
        string = found["raw"] or found["string"] or ""
        yield text.count("\n", 0, found.start()) + 1, comment or (string if " " in string else "")


def descriptions(schema: Any) -> Iterator[str]:
    """Those of a JSON schema, at any depth."""
    if isinstance(schema, dict):
        for name, value in schema.items():
            if name in ("title", "description") and isinstance(value, str):
                yield value
            else:
                yield from descriptions(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from descriptions(value)


def test_the_scan_finds_what_it_is_for() -> None:
    bad = "Cannot tell. The colour is set by turns; synchronise, cancelled, catalogue."
    assert len(faults(bad, TERMS, BRITISH)) == 6
    assert not faults("Print the label. The catalog has no raised exercise; noise rises.", TERMS, BRITISH)
    assert not faults(prose("A `catalogue`.\n```console\ncannot tell\n```\n"), TERMS, BRITISH)


def test_the_scan_reads_cpp_and_schemas() -> None:
    text = """int caveats = 'b';  // measured by
// turns
const char* text = "it is \\"per further byte\\"";  /// colour
R"(cannot tell it)"; "caveat"; '"'; "of // the colour";"""
    found = [(line, faults(one, TERMS, BRITISH)) for line, one in cpp_texts(text)]
    assert [(line, len(wrong)) for line, wrong in found if wrong] == [(1, 1), (3, 1), (3, 1), (4, 1), (4, 1)]
    schema = {"title": "a", "$defs": {"x": {"anyOf": [{"description": "b"}], "description": {"type": "c"}}}}
    assert list(descriptions(schema)) == ["a", "b"]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_pages(page: Path) -> None:
    text = page.read_text()
    assert not faults(prose(text), TERMS, BRITISH)
    for heading in re.findall(r"(?m)^#+ (.*)$", re.sub(r"(?ms)^```.*?^```", "", text)):
        assert not re.match(r"(?:How|What|Why|When|Where|Is|Are|Did|Does|Do|If)\b(?!.*:.*`)", heading), (
            heading
        )
        assert not heading.endswith("?"), heading


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_between_pages(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page.read_text())):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), target
        if anchor:
            assert anchor in anchors(there.read_text()), target


def test_pages_that_sources_name() -> None:
    """Help, messages and comments name pages of docs/: those that are there."""
    named = {
        f"{path.relative_to(lab.TOP)}: {page}"
        for folder, ends in (("python", "*.py"), ("src", "*.[hc]*"), ("bench", "*.py"), ("tests", "*.py"))
        for path in (lab.TOP / folder).rglob(ends)
        for page in re.findall(r"docs/[\w/-]+\.md", path.read_text())
        if not (lab.TOP / page).exists()
    }
    assert not named


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"(?m)^#+ (.*)$", re.sub(r"(?ms)^```.*?^```", "", page))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda path: path.name)
def test_examples(file: Path) -> None:
    assert not faults(file.read_text(), TERMS, BRITISH)


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help(name: str, imb: Imb) -> None:
    """Verb first, in the terms of the field."""
    out = imb(*name.split(), "--help").out
    verb = out.split("\n\n")[1].split()[0]
    assert verb[0].isupper() and not verb.endswith("s"), verb
    assert not faults(" ".join(out.split()), TERMS, BRITISH)


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The strings of a module that are no docstrings, with their lines."""
    skipped = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.lineno, node.value


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_messages_and_comments(source: Path) -> None:
    """Strings in the terms of the field; comments and docstrings without idioms and in American spelling."""
    text = source.read_text()
    spoken = [
        f"{line}: {fault}"
        for line, string in texts(ast.parse(text))
        if " " in string
        for fault in faults(string, TERMS)
    ]
    assert not spoken
    # Names in code may have these words (`Conductor`).
    idioms = {p: TERMS[p] for p in TERMS if not re.search("conductor|set-ups", p)}
    assert not [
        f"{number}: {fault}"
        for number, line in enumerate(text.splitlines(), 1)
        for fault in faults(line, BRITISH, idioms)
    ]


def test_the_suites_strings_and_comments() -> None:
    """All of src: what a program prints, and why it is written so."""
    assert not [
        f"{path.relative_to(lab.TOP)}:{line}: {fault}"
        for path in SUITE
        for line, text in cpp_texts(path.read_text())
        for fault in faults(text, TERMS, BRITISH)
    ]


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda path: path.name)
def test_descriptions_of_schemas(schema: Path) -> None:
    found = list(descriptions(json.loads(schema.read_text())))
    assert found or "schema" not in schema.name
    assert not [fault for text in found for fault in faults(text, TERMS, BRITISH)]
