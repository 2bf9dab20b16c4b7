"""Optional libraries, which an extra of the package installs."""

from __future__ import annotations

import importlib.util
import sys

from imb.model.errors import ImbError

# Packages whose name differs from their library's, or whose version is limited.
_PACKAGES = {"psij": "psij-python", "plotext": "'plotext<7'"}


def is_installed(library: str) -> bool:
    """Whether the library can be imported."""
    return sys.modules.get(library, True) is not None and importlib.util.find_spec(library) is not None


def require(feature: str, *libraries: str) -> None:
    """Raises ImbError if one of the libraries is missing. `feature`: the command and option that need them."""
    absent = [library for library in libraries if not is_installed(library)]
    if absent:
        # Name the packages, not the extra: pip finds them in an index, which does not have OpenIMB's own wheel.
        packages = " ".join(_PACKAGES.get(library, library) for library in absent)
        raise ImbError(f"{feature} needs {' and '.join(absent)}; pip install {packages}")
