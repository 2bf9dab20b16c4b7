"""Write schema/benchmarks.json: the benchmarks of all components, read on stdin as `IMB-MPI1 -list json` prints them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parent.parent / "schema" / "benchmarks.json"


def lasting(catalog: dict[str, Any]) -> dict[str, Any]:
    """The catalog without what differs between builds: the version, and what the MPI lacks."""

    def without(record: dict[str, Any], name: str) -> dict[str, Any]:
        return {key: value for key, value in record.items() if key != name}

    components = [
        {**component, "benchmarks": [without(each, "unavailable") for each in component["benchmarks"]]}
        for component in catalog["components"]
    ]
    return {**without(catalog, "version"), "components": components}


if __name__ == "__main__":
    FILE.write_text(json.dumps(lasting(json.load(sys.stdin)), indent=2) + "\n")
