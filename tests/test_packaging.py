"""Releases: one version, an sdist with the same bytes each time, a bill of materials, recipes of other package managers."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import lab
import pytest

PACKAGING = lab.TOP / "packaging"
COMPONENTS = lab.COMPONENTS
TOP_ENTRIES = {
    *("bench", "cmake", "docs", "examples", "man", "packaging", "python", "schema", "src", "tests", "tools"),
    *("CHANGELOG.md", "CITATION.cff", "CMakeLists.txt", "CONTRIBUTING.md", "LICENSE", "Makefile", "NOTICE"),
    *("README.md", "PKG-INFO", "pyproject.toml", "ReadMe_IMB.txt", "license"),
    *(".ci", ".clang-format", ".clang-tidy", ".editorconfig", ".gitignore"),
}


def needs(module: str) -> Any:
    """A module of the test tools."""
    try:
        return __import__(module, fromlist=["_"])
    except ImportError:
        return lab.missing(f"no module {module} (TOOLS in tools/setup.py)")


def run(*words: object, folder: Path = lab.TOP, **env: str) -> str:
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env={**os.environ, "OPENIMB_ENV": str(lab.ENVIRONMENT), **env},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def version() -> str:
    (found,) = re.findall(r'(?m)^__version__ = "(.+)"$', (lab.TOP / "python/imb/__init__.py").read_text())
    return str(found)


def make_sdist(sources: Path, target: Path) -> Path:
    run("make", "sdist", f"DIST={target}", f"PYTHON={sys.executable}", folder=sources)
    (archive,) = target.iterdir()
    return archive


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs("hatchling")
    return make_sdist(lab.TOP, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def unpacked(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder)  # our own; Python 3.11.2 has no filter=
    (top,) = folder.iterdir()
    return top


@pytest.mark.slow
def test_the_companion_and_the_sdist_have_one_version(sdist: Path, unpacked: Path) -> None:
    assert run(sys.executable, "-m", "imb", "--version").split() == ["imb", version()]
    assert sdist.name == f"openimb-{version()}.tar.gz" and unpacked.name == f"openimb-{version()}"
    assert f"\nVersion: {version()}\n" in (unpacked / "PKG-INFO").read_text()


def test_the_suite_has_this_version(mpi: lab.Mpi) -> None:
    assert f"OpenIMB {version()} " in lab.run(mpi, 1, "-version").text


@pytest.mark.slow
def test_an_unpacked_sdist_makes_the_same_sdist(sdist: Path, unpacked: Path, tmp_path: Path) -> None:
    assert make_sdist(unpacked, tmp_path).read_bytes() == sdist.read_bytes()


def test_an_sdist_has_everything_and_no_stray_files(unpacked: Path) -> None:
    assert (unpacked / "license/license.txt").read_bytes() == (unpacked / "LICENSE").read_bytes()
    assert {path.name for path in unpacked.iterdir()} == TOP_ENTRIES
    if not (lab.TOP / ".git").exists():
        pytest.skip("no git checkout")
    listed = ["git", "ls-files", "--exclude-standard"]
    tracked = {path for path in run(*listed).splitlines() if (lab.TOP / path).exists()}
    packed = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    assert not tracked - packed
    assert packed - tracked - set(run(*listed, "--others").splitlines()) == {"PKG-INFO"}


def configured_version(sources: Path, build: Path) -> str:
    cmake = lab.ENVIRONMENT / "bin" / "cmake"
    run(cmake, "-S", sources, "-B", build, "-DOPENIMB_PURE=ON")
    (found,) = re.findall(r"(?m)^CMAKE_PROJECT_VERSION:STATIC=(.*)$", (build / "CMakeCache.txt").read_text())
    return str(found)


@pytest.mark.slow
def test_cmake_configures_an_sdist_and_the_sources_in_its_wheel(unpacked: Path, tmp_path: Path) -> None:
    assert configured_version(unpacked, tmp_path / "sdist") == version()
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "dist", folder=unpacked)
    (wheel,) = (tmp_path / "dist").iterdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "wheel")
    assert configured_version(tmp_path / "wheel" / "imb" / "_suite", tmp_path / "build") == version()
    there = run(sys.executable, "-m", "imb", "--version", PYTHONPATH=str(tmp_path / "wheel"))
    assert there.split() == ["imb", version()]


# --- Bill of materials ---------------------------------------------------------------------------


def sbom(*words: object, time: str = "1700000000") -> dict[str, Any]:
    validation, schema = needs("cyclonedx.validation.json"), needs("cyclonedx.schema")
    run(sys.executable, "tools/sbom.py", *words, SOURCE_DATE_EPOCH=time)
    text = Path(str(words[0])).read_text()
    assert validation.JsonStrictValidator(schema.SchemaVersion.V1_6).validate_str(text) is None
    found: dict[str, Any] = json.loads(text)
    return found


def test_the_bill_of_materials_has_all_dependencies(tmp_path: Path) -> None:
    found = sbom(tmp_path / "sbom.json")
    assert found["metadata"]["component"]["version"] == version()
    project = tomllib.loads((lab.TOP / "pyproject.toml").read_text())["project"]
    texts = [
        *project["dependencies"],
        *(text for of in project["optional-dependencies"].values() for text in of),
    ]
    depends = {each["ref"]: each.get("dependsOn", []) for each in found["dependencies"]}
    names = {ref.split("[")[0] for ref in depends["openimb-companion"]}
    assert names == {re.split("[<>=!~;]", text)[0] for text in texts}
    assert depends["openimb-suite"] == ["C++ standard library", "MPI"]


def test_the_bill_of_materials_is_the_same_each_time(tmp_path: Path) -> None:
    first = sbom(tmp_path / "first.json")
    assert sbom(tmp_path / "again.json") == first
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "first.json").read_bytes()
    later = sbom(tmp_path / "later.json", time="1700000001")
    assert later["serialNumber"] != first["serialNumber"]


def test_the_bill_of_materials_of_a_wheel_has_its_programs(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "one.whl", "w") as wheel:
        wheel.writestr("imb/bin/IMB-MPI1", b"\x7fELF...")
        wheel.writestr("imb/__init__.py", "")
    found = sbom(tmp_path / "sbom.json", tmp_path / "one.whl")
    (program,) = (each for each in found["components"] if each["type"] == "file")
    assert program["name"] == "imb/bin/IMB-MPI1"
    assert program["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(b"\x7fELF...").hexdigest()}]
    (suite,) = (each for each in found["dependencies"] if each["ref"] == "openimb-suite")
    assert "imb/bin/IMB-MPI1" in suite["dependsOn"]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ([], "usage: sbom.py FILE [WHEEL]"),
        (["{tmp}/none/sbom.json"], "No such file or directory: {tmp}/none/sbom.json"),
        (["{tmp}/sbom.json", "README.md"], "not a wheel: README.md; give a .whl file or a folder"),
    ],
)
def test_errors_of_the_bill_of_materials(words: list[str], error: str, tmp_path: Path) -> None:
    needs("cyclonedx")
    given = [word.format(tmp=tmp_path) for word in words]
    done = subprocess.run(
        [sys.executable, "tools/sbom.py", *given], cwd=lab.TOP, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (1, f"sbom.py: {error.format(tmp=tmp_path)}\n")


# --- Recipes of other package managers -----------------------------------------------------------


def test_citation() -> None:
    needs("check_jsonschema")
    file = lab.TOP / "CITATION.cff"
    run(sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.citation-file-format", file)
    assert f"\nversion: {version()}\n" in file.read_text()


def texts_of(value: Any) -> list[str]:
    """All texts of a document, at any depth."""
    if isinstance(value, dict):
        value = list(value.values())
    return [text for each in value for text in texts_of(each)] if isinstance(value, list) else [str(value)]


@pytest.mark.parametrize(
    ("name", "schema"), [("github", "vendor.github-workflows"), ("gitlab", "vendor.gitlab-ci")]
)
@pytest.mark.slow
def test_examples_of_ci_services(name: str, schema: str, tmp_path: Path) -> None:
    """The services' schemas accept them, their steps run in a shell, and what `imb` says decides as the comments say."""
    needs("check_jsonschema")
    from ruamel.yaml import YAML  # of check-jsonschema

    file = lab.TOP / "examples" / "ci" / f"{name}.yml"
    run(sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, file)
    (check,) = [text for text in texts_of(YAML(typ="safe").load(file)) if "baseline check" in text]
    stand_in = tmp_path / "imb"
    stand_in.write_text('#!/bin/sh\necho "<testsuites/>"\nexit $VERDICT\n')
    stand_in.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    for verdict, code in ((0, 0), (12, 0), (10, 10), (11, 11), (2, 2)):
        done = subprocess.run(
            ["bash", "-e", "-c", check],
            cwd=tmp_path,
            env={"PATH": path, "VERDICT": str(verdict)},
            check=False,
        )
        assert done.returncode == code
        assert (tmp_path / "verdict.xml").read_text() == "<testsuites/>\n"


def test_container_recipes(sdist: Path) -> None:
    """No container is built: the recipes name the sdist and what it has; docs/packaging.md has what else was tested."""
    run("sh", "-n", PACKAGING / "install.sh")
    lines = (PACKAGING / "Containerfile").read_text().splitlines()
    assert [line.split()[0] for line in lines if line[0] != "#"] == ["FROM", "ADD", "RUN", "CMD"]
    recipe = (PACKAGING / "openimb.def").read_text()
    assert re.findall(r"(?m)^%(\w+)$", recipe) == ["files", "post", "test", "runscript"]
    for text in ("\n".join(lines), recipe):
        assert f"dist/{sdist.name} " in text and f"openimb-{version()}/packaging/install.sh" in text
        assert set(re.findall(r"openimb-(\d[\d.]*\d)", text)) == {version()}


def test_setup_does_not_link_to_its_own_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """README puts .env/bin on the PATH."""
    monkeypatch.syspath_prepend(str(lab.TOP / "tools"))
    import setup

    theirs = tmp_path / "usr"
    for folder, target in ((theirs, "/bin/true"), (tmp_path / "env/bin", str(theirs / "ninja"))):
        folder.mkdir(parents=True)
        (folder / "ninja").symlink_to(target)
    monkeypatch.setattr(setup, "ENV", tmp_path / "env")
    monkeypatch.setenv("PATH", f"{tmp_path / 'env/bin'}:{theirs}")
    assert setup.of_system("ninja") == str(theirs / "ninja")


def test_uv_goes_where_and_through_what_pip_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(lab.TOP / "tools"))
    import setup

    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    assert setup.uv_settings(":env:.no-input='1'\n") == {"UV_SYSTEM_CERTS": "true"}
    config = "global.index-url='https://mirror/simple'\n:env:.cert='/etc/site.pem'\nuser.proxy='http://proxy:3128'\n"
    assert setup.uv_settings(config) == {
        "UV_DEFAULT_INDEX": "https://mirror/simple",
        "SSL_CERT_FILE": "/etc/site.pem",
        "ALL_PROXY": "http://proxy:3128",
    }
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/etc/proxy.pem")
    assert setup.uv_settings("") == {"SSL_CERT_FILE": "/etc/proxy.pem"}
