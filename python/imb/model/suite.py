"""Where the suite's sources and the schema of its records are: in the package, or in the checkout."""

from pathlib import Path

from imb.model.errors import ImbError


def suite_folder() -> Path:
    """The folder with CMakeLists.txt, cmake/, src/ and schema/. Raises ImbError in a broken installation."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "_suite", package.parents[1]):
        if (folder / "schema" / "record.schema.json").is_file():
            return folder
    raise ImbError(f"no schema/record.schema.json in {package / '_suite'}: install openimb again")
