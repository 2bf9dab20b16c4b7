"""Where the suite's sources and the schema of its records are: in the package, or in the checkout."""

from pathlib import Path

from imb.errors import ImbError


def suite_folder() -> Path:
    """The folder with CMakeLists.txt, cmake/, src/ and schema/. Raises ImbError in a broken installation."""
    here = Path(__file__).resolve().parent
    for folder in (here / "_suite", here.parent.parent):
        if (folder / "schema" / "record.schema.json").is_file():
            return folder
    raise ImbError(f"no schema/record.schema.json in {here / 'suite'}: install openimb again")
