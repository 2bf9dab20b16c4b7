"""Options that messages, help and rows name: each exists."""

import re

from lab import TOP

SOURCES = sorted((TOP / "src").rglob("*.h")) + sorted((TOP / "src").rglob("*.cpp"))
TABLE = (TOP / "src/cli/options.cpp").read_text()
NAMES = set(re.findall(r'\.(?:name|alias) = "(\w+)"', TABLE))
# A word that begins with one dash, in the text of a string.
NAMED = re.compile(r"(?<![\w\-+.\\])-([a-z][a-z_]+)(?![\w=]|-\w)")
# Not of the suite: the launcher's number of processes, which examples have.
FOREIGN = {"np"}


def test_every_option_that_a_message_names_exists() -> None:
    assert len(NAMES) > 80
    named: dict[str, str] = {}
    for path in SOURCES:
        code = re.sub(r"(?m)//.*$|^#include.*$", "", path.read_text())
        for text in re.findall(r'"((?:\\.|[^"\\\n])*)"', code):
            for name in NAMED.findall(text):
                named.setdefault(name, f"{path.relative_to(TOP)}: {text}")
    pages = [*(TOP / "docs").rglob("*.md"), TOP / "README.md", *(TOP / "python/imb").rglob("*.py")]
    for path in pages:
        for name in re.findall(r"(?<![\w\-+.\\/=])-([a-z]+_[a-z_]+)(?![\w=]|-\w)", path.read_text()):
            named.setdefault(name, str(path.relative_to(TOP)))
    assert len(named) > 40, "the search for names in messages finds too few"
    removed = {"packing"}  # with a message that says what to use instead
    assert {name: place for name, place in named.items() if name not in NAMES | FOREIGN | removed} == {}
