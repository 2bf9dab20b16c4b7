"""Pages of help: `--help` has the options that people use first, in groups; `--help-all` has the others, with the details."""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Iterator
from typing import Any

import typer
import typer.core

from imb.report.terminal import say

FIRST = 8  # options that a first page has at most, without --help itself
_ALL = "--help-all"
# The group of an option, in the order of a page; the others are "Options".
_GROUPS = {
    "What to measure": (
        "--a --b --a-cvar --b-cvar --both --class --benchmark --bytes --endpoint --ranks --pairs --np --map --memory --gpu --with-old --setting --placement"
    ),
    "How to measure": (
        "--learn --within --verify --launches --until-decided --quick --classic --precision --launch-budget --budget --repetitions --passes --rounds --serial --segments --launch-by-launch --repeats --seed"
    ),
    "Where to launch": "--mpi --programs --compiler --again --launcher --hosts --ppn --bind --cpus --env --timeout",
    "Session and job": (
        "--name --label --resume --force-owner --dry-run --submit --minutes --queue --account --drain --page"
    ),
    "Judgement": (
        "--relevant --margin --variants --metric --bands --tolerance --baseline --topology --since --force --assume-one-session --assume-stable --link --memory-bandwidth --gpu-link"
        " --threshold --thresholds --strict"
    ),
    "Output": "--verbose --file --rows --format --output --title --separator --samples --chart --notes --newest --archive",
}
_GROUP_OF = {name: group for group, names in _GROUPS.items() for name in names.split()}
_RANGE = re.compile(r"; \d*[\d.<=]*x[<>]=?[\d.]+(?=\])|  \[\d*[\d.<=]*x[<>]=?[\d.]+\]")
_NAME_WIDTH = 22


class Command(typer.core.TyperCommand):
    """A command with two pages. The first one has the docstring up to the form feed. `first`: the options of the first page, where
    there are more than `FIRST`."""

    first: tuple[str, ...] = ()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if _ALL in itertools.takewhile(lambda word: word != "--", args):
            say(*self._details(ctx).splitlines())
            raise typer.Exit
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The arguments and options of the first page."""
        arguments = [
            record
            for param in self.params
            if param.param_type_name == "argument" and (record := param.get_help_record(ctx))
        ]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl([(name.partition(" <")[0], short(text)) for name, text in arguments])
        _write_groups(ctx, formatter, self._options(first=True))
        if further := self._options(first=False):
            formatter.write_paragraph()
            noun = "options" if len(further) > 1 else "option"
            with formatter.indentation():
                formatter.write_text(
                    f"{_ALL} has {len(further)} more {noun}" + (" and the details." if self._notes() else ".")
                )
        elif self._notes():
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(f"{_ALL} has the details.")

    def _options(self, *, first: bool) -> list[Any]:
        params: list[Any] = self.params
        options = [param for param in params if param.param_type_name == "option" and not param.hidden]
        if not self.first:
            return options if first else []
        first_page = [param for param in options if _name(param) in self.first]
        return first_page if first else [param for param in options if param not in first_page]

    def _notes(self) -> str:
        return inspect.cleandoc(self.help or "").partition("\f")[2].strip()

    def _details(self, ctx: Any) -> str:
        """The second page."""
        formatter = ctx.make_formatter()
        self.format_usage(ctx, formatter)
        if notes := self._notes():
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(notes)
        _write_groups(ctx, formatter, self._options(first=False))
        with formatter.indentation():
            formatter.write_text(f"{ctx.command_path} --help has the arguments and the first options.")
        return str(formatter.getvalue())


def _name(param: Any) -> str:
    """The long name of an option."""
    return str(max(param.opts, key=len))


def short(text: str) -> str:
    """Help without ranges, which the messages of errors have, and with one pair of brackets around a default."""
    return re.sub(r"default: \((.*)\)(?=[;\]])", r"default: \1", _RANGE.sub("", text)).replace("  [", " [")


def _write_groups(ctx: Any, formatter: Any, options: list[Any]) -> None:
    """Each group under its heading, all in the same columns."""
    groups = [
        (group, [param.get_help_record(ctx) for param in members]) for group, members in _grouped(options)
    ]
    names = [name for _, records in groups for name, _ in records]
    width = max((len(name) for name in names if len(name) <= _NAME_WIDTH), default=0)
    formatter.write_paragraph()
    for group, records in groups:
        formatter.write_heading(group)
        with formatter.indentation():
            formatter.write_dl([(name.ljust(width), short(text)) for name, text in records], col_max=width)


def _grouped(options: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    names = (*_GROUPS, "Options") if len(options) > FIRST // 2 else ("Options",)
    groups: dict[str, list[Any]] = {name: [] for name in names}
    for param in options:
        group = _GROUP_OF.get(_name(param), "Options")
        groups[group if group in groups else "Options"].append(param)
    for group, members in groups.items():
        if members:
            yield group, members
