#!/usr/bin/env python3
"""Write the software bill of materials of a release: CycloneDX 1.6 as JSON, the same bytes for the same sources.

    sbom.py FILE [WHEEL]    the dependencies of suite and companion; WHEEL, a wheel or a folder with its content: the
                            programs and libraries in it too, with their hashes

Dependencies have the version ranges of pyproject.toml. Time and serial number are derived from SOURCE_DATE_EPOCH."""

from __future__ import annotations

import hashlib
import sys
import uuid
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent

try:
    from cyclonedx.model import HashAlgorithm, HashType, Property
    from cyclonedx.model.bom import Bom, BomMetaData
    from cyclonedx.model.component import Component, ComponentScope, ComponentType
    from cyclonedx.model.license import LicenseExpression
    from cyclonedx.output.json import JsonV1Dot6
    from hatchling.builders.utils import get_reproducible_timestamp
    from hatchling.metadata.core import ProjectMetadata
    from hatchling.plugin.manager import PluginManager
    from packageurl import PackageURL
    from packaging.requirements import Requirement
except ImportError as missing:
    sys.exit(f"sbom.py: no module {missing.name}; install it, or use the Python of .env/tools")

PROGRAM_STARTS = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe")  # Linux, Windows, macOS


def own(name: str, description: str, version: str) -> Component:
    return Component(
        type=ComponentType.APPLICATION,
        bom_ref=name,
        name=name,
        version=version,
        description=description,
        licenses=[LicenseExpression("Apache-2.0")],
    )


def of_the_system(name: str, description: str) -> Component:
    return Component(type=ComponentType.LIBRARY, bom_ref=name, name=name, description=description)


def python_package(text: str, extra: str = "") -> Component:
    """A requirement of pyproject.toml, which has a range of versions but no version."""
    needed = Requirement(text)
    facts = {"version-range": str(needed.specifier), "extra": extra}
    return Component(
        type=ComponentType.LIBRARY,
        bom_ref=f"{needed.name}[{extra}]" if extra else needed.name,
        name=needed.name,
        purl=PackageURL("pypi", name=needed.name.lower()),
        scope=ComponentScope.OPTIONAL if extra else ComponentScope.REQUIRED,
        properties=[Property(name=f"openimb:{name}", value=value) for name, value in facts.items() if value],
    )


def contents(wheel: Path) -> Iterator[tuple[str, bytes]]:
    if wheel.is_dir():
        for path in sorted(wheel.rglob("*")):
            if path.is_file():
                yield path.relative_to(wheel).as_posix(), path.read_bytes()
    else:
        with zipfile.ZipFile(wheel) as archive:
            for name in sorted(archive.namelist()):
                yield name, archive.read(name)


def programs(wheel: Path) -> list[Component]:
    return [
        Component(
            type=ComponentType.FILE,
            bom_ref=name,
            name=name,
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=hashlib.sha256(data).hexdigest())],
        )
        for name, data in contents(wheel)
        if data.startswith(PROGRAM_STARTS)
    ]


def bom(wheel: Path | None) -> Bom:
    project = ProjectMetadata(str(TOP), PluginManager())
    version, needs = project.version, project.core
    release = own("openimb", "MPI benchmarks and their companion", version)
    release.purl = PackageURL("pypi", name="openimb", version=version)
    suite = own("openimb-suite", "the executables IMB-MPI1 and its siblings", version)
    companion = own("openimb-companion", needs.description, version)
    runtime = [
        of_the_system("C++ standard library", "of the compiler"),
        of_the_system("MPI", "3.0 or later, of the system"),
    ]
    packages = [python_package(text) for text in needs.dependencies]
    packages += [
        python_package(text, extra) for extra, texts in needs.optional_dependencies.items() for text in texts
    ]
    shipped = programs(wheel) if wheel else []

    when = datetime.fromtimestamp(get_reproducible_timestamp(), UTC)
    identity = f"{release.purl} {when.isoformat()} {wheel.name if wheel else ''}"
    result = Bom(
        serial_number=uuid.uuid5(uuid.NAMESPACE_URL, identity),
        metadata=BomMetaData(component=release, timestamp=when),
        components=[suite, companion, *runtime, *packages, *shipped],
    )
    result.register_dependency(release, [suite, companion])
    result.register_dependency(suite, [*runtime, *shipped])
    result.register_dependency(companion, packages)
    return result


def main(arguments: list[str]) -> None:
    if len(arguments) not in (1, 2):
        sys.exit("sbom.py: usage: sbom.py FILE [WHEEL]")
    file, *wheel = map(Path, arguments)
    try:
        file.write_text(JsonV1Dot6(bom(wheel[0] if wheel else None)).output_as_string(indent=2) + "\n")
    except OSError as error:
        sys.exit(f"sbom.py: {error.strerror}: {error.filename}")
    except zipfile.BadZipFile:
        sys.exit(f"sbom.py: not a wheel: {wheel[0]}; give a .whl file or a folder")


if __name__ == "__main__":
    main(sys.argv[1:])
