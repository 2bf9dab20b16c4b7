"""Libraries that not every installation has, and the extra of the package that brings each."""

from __future__ import annotations

import importlib.util
import sys

from imb.model.errors import ImbError

EXTRAS = {
    "report": ("jinja2", "plotly"),
    "plot": ("matplotlib", "plotext"),
    "submit": ("psij",),
}


def has(library: str) -> bool:
    """Whether it can be imported."""
    return sys.modules.get(library, True) is not None and importlib.util.find_spec(library) is not None


def need(what: str, *libraries: str) -> None:
    """Raises ImbError where one is missing. `what` needs them: a command, with an option."""
    absent = [library for library in libraries if not has(library)]
    if absent:
        extras = [extra for extra, of in EXTRAS.items() if absent[0] in of]
        raise ImbError(f'{what} needs {" and ".join(absent)}; pip install "openimb[{extras[0]}]"')
