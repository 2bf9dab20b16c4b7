"""Variables whose values may be secrets: their names are recorded, their values never."""

import os
import re
from collections.abc import Mapping

from imb.model.errors import ImbError

HIDDEN = "(hidden)"  # takes the place of a value
_SECRET = re.compile(r"KEY|TOKEN|AUTH|PASS|SECRET|COOKIE|CREDENTIAL", re.IGNORECASE)


def is_secret(name: str) -> bool:
    """Whether a variable of this name may hold a secret."""
    return bool(_SECRET.search(name))


def hidden(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables as they may be recorded."""
    return {name: HIDDEN if is_secret(name) else value for name, value in variables.items()}


def revealed(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables as a launch needs them: values that were not recorded are those of the environment.

    Raises ImbError where there is none.
    """
    for name, value in variables.items():
        if value == HIDDEN and name not in os.environ:
            raise ImbError(
                f"variable {name}: its value was not recorded, as it may be secret; export it first"
            )
    return {n: os.environ[n] if v == HIDDEN and n in os.environ else v for n, v in variables.items()}
