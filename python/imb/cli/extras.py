"""Libraries that not every installation has, by the extra of the package that brings them."""

from __future__ import annotations

import importlib.util
import sys

from imb.model.errors import ImbError

EXTRAS = {
    "report": ("jinja2", "plotly"),
    "plot": ("matplotlib", "plotext"),
    "submit": ("psij",),
}
_PACKAGES = {"psij": "psij-python", "plotext": "'plotext<7'"}  # where not named as the library


def has(library: str) -> bool:
    """Whether it can be imported."""
    return sys.modules.get(library, True) is not None and importlib.util.find_spec(library) is not None


def need(feature: str, *libraries: str) -> None:
    """Raises ImbError where one of the libraries is missing. `feature`: the command, with the option, that needs them."""
    absent = [library for library in libraries if not has(library)]
    if absent:
        # Names of packages, not of the extra: an index has them, but not the wheel, which is built where it is needed.
        packages = " ".join(_PACKAGES.get(library, library) for library in absent)
        raise ImbError(f"{feature} needs {' and '.join(absent)}; pip install {packages}")
