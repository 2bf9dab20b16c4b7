"""Write the manual pages man/IMB-MPI1.1, from what `IMB-MPI1 -help full` prints (stdin), and man/imb.1, from the commands of `imb`.

`make man` calls this. Exit statuses and examples of the suite are those of docs/methodology.md and docs/measuring.md."""

from __future__ import annotations

import inspect
import itertools
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parent.parent
FOLDER = TOP / "man"
sys.path.insert(0, str(TOP / "python"))
from imb.model.mpis import CHOICES  # noqa: E402

SUITE_ENVIRONMENT = {
    "OMP_NUM_THREADS": "IMB-MT: number of threads per process, unless -threads is given. The value on rank 0 counts.",
    "OPENIMB_INTERFACE": "The binary interface, mpich, openmpi or mpi-abi, for executables of a wheel, which work with every MPI. "
    "By default they recognize it by their launcher.",
}
SUITE_FILES = {
    "./IMB_out*": "Files of IMB-IO, in the folder of -file; deleted when the run ends.",
    "PREFIX/share/openimb/record.schema.json": "JSON Schema of the records that -json writes.",
}
IMB_ENVIRONMENT = {
    "IMB_MPI": f"The MPI, if --mpi is not given: {CHOICES}, a folder with bin/mpicxx or bin/mpiexec, or a wrapper.",
    "IMB_ARCHIVE": "The folder of the archive, if --archive is not given.",
    "I_MPI_ROOT, MPI_HOME, MPI_ROOT": "Folders in which an MPI is looked for, after the PATH.",
    "XDG_DATA_HOME, XDG_CACHE_HOME": "Places of the archive and of the cache.",
}
IMB_FILES = {
    "~/.local/share/openimb/archive": "The archive: a folder per run, with its records, output and conditions.",
    "~/.cache/openimb": "Built executables, and the index of the archive; may be deleted at any time.",
}


def escaped(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = "".join(char if ord(char) < 128 else f"\\[u{ord(char):04X}]" for char in text)
    return re.sub(r"(?m)^(?=[.'])", r"\\&", text)


def filled(text: str) -> str:
    """Lines of a page for a text that is filled anew."""
    return escaped(textwrap.fill(" ".join(text.split()), 100, break_on_hyphens=False, break_long_words=False))


def verbatim(text: str) -> str:
    return f".nf\n{escaped(text)}\n.fi"


def item(head: str, *paragraphs: str) -> str:
    """A tagged paragraph. Texts are of the page's language."""
    return "\n.IP\n".join((f".TP\n.B {head}\n{paragraphs[0]}", *paragraphs[1:]))


def items(texts: dict[str, str]) -> Iterator[str]:
    return (item(escaped(name), filled(text)) for name, text in texts.items())


def page(name: str, summary: str, sections: dict[str, list[str]]) -> str:
    from imb import __version__

    names = name.split(", ")
    lines = [
        '.\\" Written by tools/manual_pages.py.',
        f'.TH {escaped(names[0].upper())} 1 "" "OpenIMB {__version__}" "User Commands"',
        ".ad l",
        ".SH NAME",
        f"{escaped(name)} \\- {escaped(summary)}",
    ]
    for title, texts in sections.items():
        lines += [f".SH {title}", *texts]
    return "\n".join(lines) + "\n"


def plain(markdown: str) -> str:
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", markdown).replace("`", "").replace("**", "")


def table(file: str, head: str) -> dict[str, str]:
    """A table with two columns, of a page of the manual."""
    _, _, rest = (TOP / file).read_text().partition(f"{head}\n|---|---|\n")
    rows = itertools.takewhile(lambda line: line.startswith("|"), rest.splitlines())
    return {plain(name): plain(text) for name, text in (row.strip("| ").split(" | ") for row in rows)}


# --- IMB-MPI1(1) -------------------------------------------------------------------------------------------------------


def option(text: str) -> str:
    """An option with its details, as -help NAME prints them."""
    head, *lines = text.splitlines()
    name, _, syntax = head.partition(" ")
    paragraphs: list[str] = []
    for lines_of in re.split(r"\n\n", "\n".join(lines)):
        body = textwrap.dedent(lines_of)
        texts, _, parameters = body.partition("\n  ")
        parts = re.split(r"\n(?=(?:Used by|Default|Example): )", texts)
        paragraphs += [filled(part) for part in parts[:1]]
        paragraphs += [f".br\n{filled(part)}" for part in parts[1:]]
        if parameters:
            paragraphs.append(verbatim(textwrap.dedent(f"  {parameters}")))
    tag = f"{escaped(name)}" + (f' " " \\fI{escaped(syntax)}\\fR' if syntax else "")
    body = paragraphs[0]
    for paragraph in paragraphs[1:]:
        body += ("\n" if paragraph.startswith((".br", ".nf")) else "\n.IP\n") + paragraph
    return f".TP\n.BR {tag}\n{body}"


def suite_page(full_help: str) -> str:
    """`full_help`: what IMB-MPI1 -help full prints."""
    usage, introduction, rest = full_help.split("\n\n", 2)
    options: list[str] = []
    for block in re.split(r"\n\n(?=\S)", rest.strip("\n")):
        options.append(option(block) if block.startswith("-") else f".SS {escaped(block)}")
    executables = table("docs/measuring.md", "| executable | what it measures |")
    names = [name for names in executables for name in names.split(", ")]
    _, _, examples = (TOP / "docs" / "measuring.md").read_text().partition("```sh\nmpirun")
    return page(
        ", ".join(names),
        "measure MPI communication",
        {
            "SYNOPSIS": [f".B {escaped(usage)}"],
            "DESCRIPTION": [
                "OpenIMB is an open implementation of the Intel(R) MPI Benchmarks.",
                *items(executables),
                ".PP",
                filled(" ".join(introduction.split()).removesuffix(" Defaults are in brackets.")),
                "Defaults below are those of IMB\\-MPI1; \\-help shows those of an executable, \\-list its benchmarks.",
            ],
            "OPTIONS": options,
            "EXIT STATUS": [
                *items(table("docs/methodology.md", "| status | meaning |")),
                ".PP",
                "Standard error has one line per reason. A launcher may replace the status by its own.",
            ],
            "ENVIRONMENT": list(items(SUITE_ENVIRONMENT)),
            "FILES": list(items(SUITE_FILES)),
            "EXAMPLES": [verbatim("mpirun" + examples.partition("\n```")[0])],
            "SEE ALSO": [".BR imb (1),", ".BR mpirun (1)"],
        },
    )


# --- imb(1) ------------------------------------------------------------------------------------------------------------


def parameters(command: Any, context: Any) -> Iterator[str]:
    from imb.cli.help import shorten_help

    for each in command.params:
        record = each.get_help_record(context)
        if record is not None and "--help" not in each.opts:
            name = record[0] if each.param_type_name == "option" else record[0].partition(" <")[0]
            yield item(escaped(name), filled(shorten_help(record[1])))


def described(command: Any) -> Iterator[str]:
    """The text of a command. A paragraph that ends its first line with a colon keeps its lines: examples."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc((command.help or "").replace("\f", "\n\n"))):
        text = paragraph.replace("\b", "").strip("\n")
        if not text.strip():
            continue
        first, _, others = text.strip().partition("\n")
        if first.endswith(":") and others.startswith(" "):
            yield f"{filled(first)}\n{verbatim(others)}"
        else:
            yield filled(text)


def commands(name: str, command: Any, parent: Any) -> Iterator[str]:
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f'.SS "{escaped(context.command_path)}"\n.B {escaped(f"{context.command_path} {usage}")}'
    yield from (f".PP\n{text}" for text in described(command))
    yield from parameters(command, context)
    for each in getattr(command, "commands", {}):
        yield from commands(each, command.commands[each], context)


def imb_page() -> str:
    import typer.main
    from imb import registry
    from imb.cli.app import app

    program: Any = typer.main.get_command(app)
    context = program.make_context("imb", [], resilient_parsing=True)
    summary, _, _ = program.help.partition(":")
    return page(
        "imb",
        summary[0].lower() + summary[1:],
        {
            "SYNOPSIS": [".B imb", "COMMAND [ARGUMENTS]"],
            "DESCRIPTION": [
                f"{filled(program.help)}",
                *parameters(program, context),
            ],
            "COMMANDS": [
                text
                for name in registry.commands()
                for text in commands(name, program.commands[name], context)
            ],
            "EXIT STATUS": [filled("0: success. 2: usage error. Others are with their command.")],
            "ENVIRONMENT": list(items(IMB_ENVIRONMENT)),
            "FILES": list(items(IMB_FILES)),
            "EXAMPLES": [
                verbatim("imb run PingPong Allreduce --label before\nimb compare before after --relevant 10%")
            ],
            "SEE ALSO": [".BR IMB\\-MPI1 (1)"],
        },
    )


if __name__ == "__main__":
    (FOLDER / "IMB-MPI1.1").write_text(suite_page(sys.stdin.read()))
    (FOLDER / "imb.1").write_text(imb_page())
