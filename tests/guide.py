"""Pages of docs/ whose blocks of code are changes of files: "cpp file=PATH", "python file=PATH" or "text file=PATH", and "before=" or "after=" a line of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import lab


def section(page: Path, heading: str) -> str:
    """What is below a heading of level two."""
    found: list[str] = re.findall(rf"(?ms)^## {heading}$(.*?)(?=^## |\Z)", page.read_text())
    assert len(found) == 1, heading
    return found[0]


def blocks(text: str) -> list[tuple[str, str, str, str]]:
    """(file, "before", "after" or nothing, the text that this refers to, code) of all marked blocks of code."""
    found = re.findall(
        r"(?ms)^```(?:cpp|python|text) file=(\S+)(?: (before|after)=([^\n]+))?\n(.*?)^```$", text
    )
    assert len(found) == len(re.findall(r"(?m)^```(?:cpp|(?:python|text) file=)", text)) > 0
    return found


def changed_files(page: Path, heading: str, earlier: Mapping[str, str] | None = None) -> dict[str, str]:
    """Path below the top of the project -> text, of all files that a section of the page makes or changes. `earlier`: what other sections
    changed before."""
    files: dict[str, str] = {}
    for file, where, anchor, code in blocks(section(page, heading)):
        if not where:
            assert not (lab.TOP / file).exists(), f"{file} is there already: the page needs another example"
            files[file] = code
            continue
        text = files.get(file) or (earlier or {}).get(file) or (lab.TOP / file).read_text()
        assert text.count(anchor) == 1, f"{anchor!r} in {file}"
        files[file] = text.replace(anchor, code + anchor if where == "before" else anchor + "\n" + code)
    return files
