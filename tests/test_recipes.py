"""Recipes of other package managers: what a linter, a rendering or a dry run shows. `make packaging-check` builds the packages."""

from __future__ import annotations

import inspect
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import lab
import pytest
from test_packaging import PACKAGING, needs, run, version

COMPONENTS = lab.COMPONENTS
SPACK = PACKAGING / "spack" / "package.py"
LMOD = "/usr/share/lmod/lmod/libexec/lmod"


def program(name: str) -> str:
    """Of the distribution."""
    return shutil.which(name) or lab.missing(f"no {name} on the PATH")


# --- Spack ---------------------------------------------------------------------------------------


class SpackStandIn:
    """The directives that the recipe uses, with the arguments in Spack's documentation, and no others. Spack is not on
    PyPI."""

    recipe: Any

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    def version(self, ver: str, *, sha256: str | None = None) -> None:
        self.calls.append(("version", ver))

    def license(self, license_identifier: str, checked_by: str = "", when: str = "") -> None:
        self.calls.append(("license", license_identifier))

    def depends_on(self, spec: str, when: str = "", type: str | tuple[str, ...] = ("build", "link")) -> None:
        assert ({type} if isinstance(type, str) else set(type)) <= {"build", "link", "run", "test"}
        self.calls.append(("depends_on", spec))

    def conflicts(self, conflict_spec: str, when: str = "", msg: str = "") -> None:
        self.calls.append(("conflicts", conflict_spec))

    def join_path(self, *parts: str) -> str:
        return "/".join(parts)


class CMakePackageStandIn:
    spec: Any

    def define(self, cmake_variable: str, value: str) -> str:
        return f"-D{cmake_variable}:STRING={value}"


@pytest.fixture
def spack(monkeypatch: pytest.MonkeyPatch) -> SpackStandIn:
    spack = SpackStandIn()
    modules: dict[str, dict[str, Any]] = {
        "spack.package": dict(inspect.getmembers(spack, inspect.ismethod)),
        "spack_repo.builtin.build_systems.cmake": {"CMakePackage": CMakePackageStandIn},
    }
    for module, names in modules.items():
        stand_in = types.ModuleType(module)
        vars(stand_in).update(names)
        monkeypatch.setitem(sys.modules, module, stand_in)
    spack.recipe = runpy.run_path(str(SPACK))["Openimb"]()
    return spack


def test_spack_recipe(spack: SpackStandIn) -> None:
    """Also by a linter without settings, as Spack's own packages are checked."""
    needs("ruff")
    run(sys.executable, "-m", "ruff", "check", "--isolated", SPACK)
    recipe = spack.recipe
    assert ("version", version()) in spack.calls and recipe.url.endswith(f"/openimb-{version()}.tar.gz")
    assert {("depends_on", "mpi@3:"), ("depends_on", "cxx"), ("license", "Apache-2.0")} <= set(spack.calls)
    assert recipe.sanity_check_is_file == tuple(f"bin/IMB-{name}" for name in COMPONENTS)


@pytest.mark.needs_mpi
def test_its_build_line_and_renamed_programs(spack: SpackStandIn, tmp_path: Path) -> None:
    """CMake is configured with it, and with names as RHEL's and Fedora's packages of IMB have them."""
    mpi, cmake = lab.MAIN[0], lab.ENVIRONMENT / "bin" / "cmake"
    spack.recipe.spec = {"mpi": types.SimpleNamespace(mpicxx=mpi.wrapper)}
    names = ["-DOPENIMB_PROGRAM_PREFIX=mpitests-", "-DOPENIMB_PROGRAM_SUFFIX=_openmpi"]
    ninja = f"-DCMAKE_MAKE_PROGRAM={(lab.ENVIRONMENT / 'bin' / 'ninja').absolute()}"
    configure = [
        cmake,
        "-S",
        lab.TOP,
        "-B",
        tmp_path,
        "-G",
        "Ninja",
        ninja,
        *names,
        *spack.recipe.cmake_args(),
    ]
    mapped = f"-O2 -ffile-prefix-map={tmp_path}=."  # as Debian's
    run(*configure, folder=lab.TOP, **lab.environment(mpi), CXXFLAGS=mapped)
    assert f"MPI_CXX_COMPILER:STRING={mpi.wrapper}\n" in (tmp_path / "CMakeCache.txt").read_text()
    ninja_file = (tmp_path / "build.ninja").read_text()
    assert mapped in ninja_file and r"OPENIMB_BUILD_FLAGS=\"-O2\" " in ninja_file
    built = set(re.findall(r"(?m)^build bin/(\S+):", ninja_file))
    renamed = {f"mpitests-IMB-{name}_openmpi" for name in COMPONENTS}
    assert built == renamed
    for part in ("pages", "license"):
        run(cmake, "--install", tmp_path, "--component", part, "--prefix", tmp_path / "prefix")
    assert {path.name for path in (tmp_path / "prefix/share/doc/openimb").iterdir()} == {"LICENSE", "NOTICE"}
    pages = {path.name: path.read_text() for path in (tmp_path / "prefix/share/man/man1").iterdir()}
    assert set(pages) == {f"{name}.1" for name in renamed}
    page = "mpitests-IMB-MPI1_openmpi.1"
    assert pages.pop(page) == (lab.TOP / "man" / "IMB-MPI1.1").read_text()
    assert set(pages.values()) == {f".so man1/{page}\n"}


# --- EasyBuild -----------------------------------------------------------------------------------

# In a process of its own: EasyBuild configures itself for the whole process.
READ_EASYCONFIG = """
import json, sys
from easybuild.tools.options import set_up_configuration
set_up_configuration(args=["--allow-use-as-root-and-accept-consequences"], silent=True)
from easybuild.framework.easyconfig.default import DEFAULT_CONFIG
from easybuild.framework.easyconfig.easyconfig import MANDATORY_PARAMS
from easybuild.framework.easyconfig.parser import EasyConfigParser
from easybuild.framework.easyconfig.style import check_easyconfigs_style
from easybuild.tools.module_naming_scheme.utilities import det_full_ec_version
from easybuild.tools.toolchain.utilities import search_toolchain
recipe = EasyConfigParser(sys.argv[1]).get_config_dict()
known = search_toolchain(recipe["toolchain"]["name"])[0] is not None
facts = {
    "recipe": recipe,
    "file": f"{recipe['name']}-{det_full_ec_version({'versionsuffix': '', **recipe})}.eb",
    "unknown": sorted(set(recipe) - set(DEFAULT_CONFIG)) + ([] if known else [recipe["toolchain"]]),
    "missing": sorted(set(MANDATORY_PARAMS) - set(recipe)),
}
assert not check_easyconfigs_style([sys.argv[1]])
print("", json.dumps(facts), sep="\\n")
"""


def test_easybuild_recipe() -> None:
    needs("easybuild.framework")
    needs("pycodestyle")
    (file,) = (PACKAGING / "easybuild").iterdir()
    facts = json.loads(run(sys.executable, "-c", READ_EASYCONFIG, file).splitlines()[-1])
    assert (facts["file"], facts["unknown"], facts["missing"]) == (file.name, [], [])
    recipe = facts["recipe"]
    assert (recipe["version"], recipe["sources"]) == (version(), ["%(namelower)s-%(version)s.tar.gz"])
    assert recipe["sanity_check_paths"]["files"] == [f"bin/IMB-{name}" for name in COMPONENTS]


@pytest.mark.slow
def test_easybuild_dry_run(tmp_path: Path) -> None:
    needs("easybuild.easyblocks")
    if not Path(LMOD).exists():
        lab.missing("no lmod")
    (file,) = (PACKAGING / "easybuild").iterdir()
    (tmp_path / f"openimb-{version()}.tar.gz").write_text("")
    words = [
        "--extended-dry-run",
        "--disable-cleanup-tmpdir",
        "--allow-use-as-root-and-accept-consequences",
        f"--prefix={tmp_path}",
    ]
    shown = run(
        *(sys.executable, "-m", "easybuild.main", file, *words, f"--sourcepath={tmp_path}"),
        LMOD_CMD=LMOD,
        EB_PYTHON=sys.executable,
    )
    assert set(re.findall(r"\* bin/IMB-(\w+)", shown)) == set(COMPONENTS), shown
    assert f"[SUCCESS] OpenIMB/{version()}-gompi-2025b" in shown


# --- conda ---------------------------------------------------------------------------------------


def test_conda_recipe() -> None:
    rattler_build = needs("rattler_build")
    recipe = rattler_build.Stage0Recipe.from_file(PACKAGING / "conda" / "recipe.yaml")
    variants = rattler_build.VariantConfig.from_file(PACKAGING / "conda" / "variants.yaml")
    rendered = [each.recipe.to_dict() for each in recipe.render(variants)]
    assert [each["requirements"]["run"] for each in rendered] == [["mpich"], ["openmpi"]]
    for each in rendered:
        assert each["package"] == {"name": "openimb", "version": version()}
        assert each["source"] == [{"path": f"../../dist/openimb-{version()}.tar.gz"}]


# --- Debian --------------------------------------------------------------------------------------


def test_debian_recipe(tmp_path: Path) -> None:
    shutil.copytree(PACKAGING / "debian", tmp_path / "debian")
    assert run(program("dpkg-parsechangelog"), "-S", "Version", folder=tmp_path).strip() == f"{version()}-1"
    steps = run(program("dh"), "binary", "--no-act", folder=tmp_path)
    assert "override_dh_auto_configure" in steps and "dh_installman" in steps
    (tests,) = re.findall("(?m)^Tests: (.*)$", (tmp_path / "debian/tests/control").read_text())
    for test in tests.split():
        run("sh", "-n", tmp_path / "debian" / "tests" / test)
        assert os.access(tmp_path / "debian" / "tests" / test, os.X_OK)


# What a build of a package starts from, by the rules of its tool: the archive under its name, and unpacked beside it.
DPKG_BUILDPACKAGE = """#!/bin/sh -e
archive=$(echo ../openimb_*.orig.tar.gz) unpacked=$(mktemp -d)
tar -xf "$archive" -C "$unpacked"
diff -r --exclude=debian "$unpacked/${PWD##*/}" .
test -f debian/changelog && ! test -e debian/debian
: >../openimb_1_all.deb >../openimb_1.dsc >../openimb_1.changes
echo built
"""
RPMBUILD = """#!/bin/sh -e
for spec; do :; done
source=$(sed -n 's/^Version: *//p' "$spec")
test -f "$HOME/rpmbuild/SOURCES/openimb-$source.tar.gz"
echo built
"""


# Programs that download, build for minutes or start containers: each demands the files that it is to read.
READS_FILES = r"""#!/bin/sh -e
for word; do
  file=${word#*=} file=${file%%\[*}
  case $file in packaging/*|examples/*|cmake/*|dist/*|*/dist|wheels|*.whl) test -e "$file" || { echo "$0: no $file" >&2; exit 1; } ;; esac
done
"""
INSTALLERS = dict.fromkeys(
    ("cmake", "spack", "eb", "rattler_build", "podman", "kubectl", "ramble", "apt_get", "unzip"), READS_FILES
) | {
    "make": f"{READS_FILES}case $* in wheel) : >dist/openimb-1-any.whl ;; esac\n",
    "pip": f"{READS_FILES}case $* in download*) : >impi_rt-1-any.whl ;; esac\n",
    "apptainer": f'{READS_FILES}case $1 in build) : >"$2" ;; exec) test -e "$2" ;; esac\n',
    "python3": """#!/bin/sh -e
        case $* in
            "-m pip download "*) mkdir wheels && shift 2 && pip "$@" ;;
            "-m venv "*) mkdir -p "$3/bin" && : >"$3/bin/activate" && cp "$(command -v pip)" "$3/bin" ;;
            *) exit 1 ;;
        esac
    """,
}


def stand_ins(folder: Path, **programs: str) -> str:
    """A PATH on which these come first; `_` is `-` in a name."""
    folder.mkdir()
    for name, text in programs.items():
        (folder / name.replace("_", "-")).write_text(text)
        (folder / name.replace("_", "-")).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


@pytest.fixture
def with_archive(tmp_path: Path) -> Path:
    """Sources, as far as recipes are concerned, with a small archive of them."""
    top = tmp_path / f"openimb-{version()}"
    shutil.copytree(PACKAGING, top / "packaging")
    for folder in ("dist", "build/packaging"):
        archive = shutil.make_archive(str(tmp_path / "archive"), "gztar", tmp_path, top.name)
        (top / folder).mkdir(parents=True)
        shutil.copy(archive, top / folder / f"openimb-{version()}.tar.gz")
    return top


@pytest.mark.parametrize("heading", ["Debian", "RPM"])
def test_commands_of_the_page_build(with_archive: Path, heading: str) -> None:
    page = (lab.TOP / "docs" / "installing.md").read_text()
    commands = page.partition(f"\n## {heading}\n")[2].partition("```sh\n")[2].partition("```")[0]
    path = stand_ins(with_archive.parent / "bin", dpkg_buildpackage=DPKG_BUILDPACKAGE, rpmbuild=RPMBUILD)
    for _ in range(2):
        said = run("bash", "-ec", commands, folder=with_archive, PATH=path, HOME=str(with_archive.parent))
        assert said.splitlines()[-1] == "built"


PAGES = [
    (page, number)
    for page, count in (("installing", 10), ("packaging", 1), ("windows", 2))
    for number in range(count)
]


@pytest.mark.parametrize(("page", "number"), PAGES)
def test_commands_of_a_page_find_their_files(page: str, number: int, with_archive: Path) -> None:
    """In their order, in a checkout; the source archive is also beside it."""
    blocks = re.findall(r"(?ms)^```sh\n(.*?)^```$", (lab.TOP / "docs" / f"{page}.md").read_text())
    assert len(blocks) == len([one for one, _ in PAGES if one == page])
    for folder in ("cmake", "examples"):
        shutil.copytree(lab.TOP / folder, with_archive / folder)
    shutil.copy(next((with_archive / "dist").iterdir()), with_archive)
    programs = INSTALLERS | {"dpkg_buildpackage": DPKG_BUILDPACKAGE, "rpmbuild": RPMBUILD}
    path = stand_ins(with_archive.parent / "bin", **programs)
    run("bash", "-ec", blocks[number], folder=with_archive, PATH=path, HOME=str(with_archive.parent))


def test_the_check_of_the_packages_leaves_none_behind(with_archive: Path) -> None:
    """Also where a test of the package fails, and a second check does not see files of the first."""
    log = with_archive / "log"
    path = stand_ins(
        with_archive.parent / "bin",
        dpkg_buildpackage=DPKG_BUILDPACKAGE,
        lintian="#!/bin/sh\n",
        dpkg_query="#!/bin/sh\nexit 1\n",
        dpkg=f'#!/bin/sh\necho "$@" >>{log}\n',
        autopkgtest=f"#!/bin/sh\n! [ -e stale ] && : >stale && ! [ -e {log}.fails ]\n",
    )
    for fails in (True, False):
        (log.with_name("log.fails").touch if fails else log.with_name("log.fails").unlink)()
        done = subprocess.run(
            ["packaging/check.sh", "debian"],
            cwd=with_archive,
            env={**os.environ, "PATH": path},
            capture_output=True,
        )
        assert bool(done.returncode) == fails, done.stderr
    assert log.read_text() == "--purge openimb\n" * 2


@pytest.mark.parametrize(
    ("remove", "recipe", "line"),
    [(False, "gentoo", "no recipe gentoo; give debian, rpm, "), (True, "debian", "not one source archive: ")],
)
def test_errors_of_the_check_of_the_packages(
    with_archive: Path, remove: bool, recipe: str, line: str
) -> None:
    if remove:
        shutil.rmtree(with_archive / "build")
    words = ["packaging/check.sh", recipe]
    done = subprocess.run(words, cwd=with_archive, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith(f"check.sh: {line}")


# --- RPM -----------------------------------------------------------------------------------------


def test_rpm_recipe() -> None:
    spec = PACKAGING / "rpm" / "openimb.spec"
    ask = [program("rpmspec"), "--query", "--builtrpms", "--queryformat", "%{name} %{version}\n"]
    for words, mpis in (((), ("mpich", "openmpi")), (("--without", "mpich"), ("openmpi",))):
        packages = run(*ask, *words, spec).splitlines()
        assert sorted(packages) == [f"openimb-{name} {version()}" for name in ("common", *mpis)]
        script = run(program("rpmspec"), "--parse", *words, spec)
        assert f"for mpi in {' '.join(sorted(mpis, reverse=True))}" in " ".join(script.split())
