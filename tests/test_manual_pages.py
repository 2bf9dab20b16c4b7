"""The manual pages in man/ are those of the options and commands that there are."""

import subprocess
import sys

import lab
import pytest

sys.path.insert(0, str(lab.TOP / "tools"))
import manual_pages

PAGE = (manual_pages.FOLDER / "IMB-MPI1.1").read_text()


@pytest.mark.needs_mpi
def test_the_page_of_the_suite_is_of_its_options() -> None:
    mpi = lab.MAIN[0]
    words = [str(mpi.program()), "-help", "full"]
    printed = subprocess.check_output(words, env=lab.environment(mpi), timeout=60, text=True)
    assert manual_pages.suite_page(printed) == PAGE, "run `make man`"


def test_the_page_of_the_suite_has_what_a_page_needs() -> None:
    sections = [line.removeprefix(".SH ") for line in PAGE.splitlines() if line.startswith(".SH ")]
    assert sections == [
        *("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS"),
        *("ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO"),
    ]
    (names,) = (line for line in PAGE.splitlines() if line.endswith(r"\- measure MPI communication"))
    assert {f"IMB\\-{name}" for name in lab.COMPONENTS} == set(names.partition(r" \- ")[0].split(", "))
    for status in ("0", "2", "3", "4", "5"):
        assert f"\n.TP\n.B {status}\n" in PAGE.partition(".SH EXIT STATUS")[2]


def test_the_page_of_imb_is_of_its_commands() -> None:
    assert (manual_pages.FOLDER / "imb.1").read_text() == manual_pages.imb_page(), "run `make man`"
