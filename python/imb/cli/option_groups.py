"""What an option declares about itself besides its name: its group in the help (`rich_help_panel`), and in
its `Annotated` the forms of its command that accept it (`Form`) and whether it acts (`ACTING`)."""

from __future__ import annotations

import inspect
from typing import Any, get_type_hints

from imb.model.errors import ImbError

# The groups, in the order of the help page.
SUBJECT = "What to measure"
METHOD = "How to measure"
PLACE = "Where to launch"
SESSION = "Session and job"
JUDGMENT = "Judgment"
OUTPUT = "Output"
OTHER = "Options"
ORDER = (SUBJECT, METHOD, PLACE, SESSION, JUDGMENT, OUTPUT, OTHER)

# Marks an option that changes other machines, jobs or the archive: it is never suggested for a misspelled option.
ACTING = "acting"


class Form:
    """A form of a command that accepts only some of its options. All forms accept arguments, and options with
    `ALL_FORMS`. An error message is the name of an option and `refusal`: "cannot be combined with --resume"."""

    def __init__(self, refusal: str = "") -> None:
        self.refusal = refusal

    def refuse_others(self, context: Any, refusal: str = "") -> None:
        """Raises ImbError for an option on the command line that this form would ignore. An option set by an
        environment variable (IMB_MPI) is accepted, because the variable is meant for other commands as well.
        `refusal` replaces the form's own."""
        marks = marks_of(context.command)
        for option in context.command.params:
            taken = option.param_type_name == "argument" or {self, ALL_FORMS} & {*marks.get(option.name, ())}
            if not taken and is_given(context, option.name):
                raise ImbError(f"{option.opts[0]} {refusal or self.refusal}")

    def first_given(self, context: Any) -> str | None:
        """The first option on the command line that is marked with this form, or None."""
        marks = marks_of(context.command)
        return next(
            (
                option.opts[0]
                for option in context.command.params
                if self in marks.get(option.name, ()) and is_given(context, option.name)
            ),
            None,
        )

    def refuse_marked(self, context: Any, refusal: str = "") -> None:
        """Raises ImbError for an option on the command line that is marked with this form. `refusal` replaces
        the form's own."""
        if name := self.first_given(context):
            raise ImbError(f"{name} {refusal or self.refusal}")


ALL_FORMS = Form()


def marks_of(command: Any) -> dict[str, tuple[Any, ...]]:
    """For each parameter, what its `Annotated` has besides Typer's declaration."""
    if command.callback is None:
        return {}
    hints = get_type_hints(inspect.unwrap(command.callback), include_extras=True)
    return {name: getattr(hint, "__metadata__", ())[1:] for name, hint in hints.items()}


def is_given(context: Any, name: str) -> bool:
    """Whether this parameter is on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
