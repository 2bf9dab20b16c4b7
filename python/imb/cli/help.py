"""The help page of a command: description, arguments, options in groups (imb.cli.option_groups), details, and
where to read more."""

from __future__ import annotations

import inspect
import re
from typing import Any

import typer.core

from imb.cli.option_groups import ORDER, OTHER

_RANGE = re.compile(r"; \d*[\d.<=]*x[<>]=?[\d.]+(?=\])|  \[\d*[\d.<=]*x[<>]=?[\d.]+\]")
_NAME_WIDTH = 22
_LEAST = 5  # with fewer options, they form one group


class HelpCommand(typer.core.TyperCommand):
    """A command whose docstring has a form feed between the description and the details."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """`[OPTIONS] A B`: arguments in the order and spelling of the program."""
        return ["[OPTIONS]", *(param.metavar or param.name.upper() for param in self._arguments())]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        arguments = [
            (param.metavar or param.name.upper(), record[1])
            for param in self._arguments()
            if (record := param.get_help_record(ctx))
        ]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(
                    [(name.partition(" [-- ")[0], shorten_help(text)) for name, text in arguments]
                )
        _write_groups(ctx, formatter, self._groups())
        if details := inspect.cleandoc(self.help or "").partition("\f")[2].strip():
            with formatter.section("Details"):
                formatter.write_text(details)
        formatter.write_paragraph()
        formatter.write_text("More: man imb, and docs/ of the sources")

    def _arguments(self) -> list[Any]:
        params: list[Any] = self.params
        return [param for param in params if param.param_type_name == "argument"]

    def _groups(self) -> dict[str, list[Any]]:
        """Options by the group that they name. A command with few options has one group."""
        params: list[Any] = self.params
        options = [param for param in params if param.param_type_name == "option" and not param.hidden]
        groups: dict[str, list[Any]] = {name: [] for name in ORDER}
        for param in options:
            group = getattr(param, "rich_help_panel", None) if len(options) >= _LEAST else None
            groups[group or OTHER].append(param)
        return {name: members for name, members in groups.items() if members}


def shorten_help(text: str) -> str:
    """Help text without ranges, which error messages state, and with one pair of brackets around a default."""
    return re.sub(r"default: \((.*)\)(?=[;\]])", r"default: \1", _RANGE.sub("", text)).replace("  [", " [")


def _write_groups(ctx: Any, formatter: Any, groups: dict[str, list[Any]]) -> None:
    """Write each group under its heading, all with the same column widths."""
    records = {group: [param.get_help_record(ctx) for param in members] for group, members in groups.items()}
    names = [name for members in records.values() for name, _ in members]
    width = max((len(name) for name in names if len(name) <= _NAME_WIDTH), default=0)
    for group, members in records.items():
        formatter.write_paragraph()
        formatter.write_heading(group)
        with formatter.indentation():
            formatter.write_dl(
                [(name.ljust(width), shorten_help(text)) for name, text in members], col_max=width
            )
