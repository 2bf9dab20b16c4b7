"""The programs that a wheel puts on the PATH: which binary interface they choose, with stand-ins for launchers, libraries
and executables (src/launcher/launcher.c)."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import lab
import pytest
from imb.mpi import prebuilt_programs
from imb.mpi.installations import Installation

LIBRARIES = {"mpich": "libmpi.so.12", "openmpi": "libmpi.so.40", "mpi-abi": "libmpi_abi.so.1"}
ABI = LIBRARIES["mpi-abi"]
SHOW = '#!/bin/sh\necho "$0 $*"\necho "$LD_LIBRARY_PATH"\n'


class Chosen(NamedTuple):
    interface: str
    words: str
    paths: list[str]  # LD_LIBRARY_PATH


def compiled(program: Path) -> Path:
    """The program, which sees no MPI in the system's folders."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        lab.missing("a C compiler")
    words = [str(compiler), "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1"]
    words += ['-DOPENIMB_SYSTEM_FOLDERS="/nowhere"']
    subprocess.run([*words, str(lab.TOP / "src/launcher/launcher.c"), "-o", str(program)], check=True)
    return program


@pytest.fixture(scope="session")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("launcher") / "launcher")


class Machine:
    """A prefix with the programs; MPIs in folders of their own; no MPI of this machine."""

    def __init__(self, folder: Path, launcher: Path) -> None:
        self.folder = folder
        self.program = folder / "venv" / "bin" / "IMB-MPI1"
        self.program.parent.mkdir(parents=True)
        shutil.copy(launcher, self.program)
        for interface in LIBRARIES:
            shown = folder / "venv" / "libexec" / "openimb" / interface / "openimb-suite"
            shown.parent.mkdir(parents=True)
            shown.write_text(SHOW)
            shown.chmod(0o755)

    def mpi(self, name: str, *libraries: str, launcher: str = "", on_path: str = "") -> Path:
        """An installation; `launcher`: a shell that goes by the name of one that starts ranks."""
        prefix = self.folder / name
        (prefix / "lib").mkdir(parents=True)
        (prefix / "bin").mkdir()
        for library in libraries:
            (prefix / "lib" / library).touch()
        if launcher:
            shutil.copy(Path("/bin/sh").resolve(), prefix / "bin" / launcher)
        if on_path:
            (prefix / "bin" / "mpiexec").symlink_to(on_path)
        return prefix

    def run(self, above: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        words = [str(self.program), "PingPong", "-iter", "5"]
        if above:  # not as its last command, which would replace it
            words = [str(above), "-c", '"$@"; exit $?', "sh", *words]
        kept = {"PATH": "/nowhere"} | environment
        return subprocess.run(words, env=kept, capture_output=True, text=True, timeout=30)

    def chosen(self, above: Path | None = None, **environment: str) -> Chosen:
        done = self.run(above, **environment)
        assert (done.returncode, done.stderr) == (0, "")
        said, paths = done.stdout.splitlines()
        program, _, words = said.partition(" ")
        return Chosen(Path(program).parent.name, words, [path for path in paths.split(":") if path])


@pytest.fixture
def machine(tmp_path: Path, launcher: Path) -> Machine:
    return Machine(tmp_path, launcher)


@pytest.mark.parametrize(
    ("started_by", "libraries", "interface"),
    [
        ("hydra_pmi_proxy", ["libmpi.so.12"], "mpich"),
        ("hydra_pmi_proxy", ["libmpi.so.12", "libmpi_abi.so.1"], "mpich"),  # what its own wrapper links
        ("hydra_bstrap_proxy", ["libmpi_abi.so.1"], "mpi-abi"),
        ("mpiexec.hydra", ["libmpi.so.12"], "mpich"),
        ("prted", ["libmpi.so.40"], "openmpi"),
        ("orterun", ["libmpi.so.40"], "openmpi"),
        ("prterun", ["libmpi.so.40", "libmpi_abi.so.1"], "openmpi"),
    ],
)
def test_the_launcher_above_decides(machine, started_by, libraries, interface):
    prefix = machine.mpi("mpi", *libraries, launcher=started_by)
    machine.mpi("another", *LIBRARIES.values(), launcher="x")
    chosen = machine.chosen(prefix / "bin" / started_by, PATH=f"{machine.folder / 'another' / 'bin'}")
    assert chosen == (interface, "PingPong -iter 5", [str(prefix / "lib")])


def test_arguments_and_status_pass(machine):
    prefix = machine.mpi("mpi", "libmpi.so.12", launcher="hydra_pmi_proxy")
    target = machine.folder / "venv" / "libexec" / "openimb" / "mpich" / "openimb-suite"
    target.write_text("#!/bin/sh\nexit 7\n")
    assert machine.run(prefix / "bin" / "hydra_pmi_proxy").returncode == 7


def test_library_path_of_the_user_comes_first(machine):
    prefix = machine.mpi("mpi", "libmpi.so.12", launcher="hydra_pmi_proxy")
    own = machine.mpi("own", "libmpi.so.12")
    chosen = machine.chosen(prefix / "bin" / "hydra_pmi_proxy", LD_LIBRARY_PATH=f"/nowhere:{own / 'lib'}")
    assert (chosen.interface, chosen.paths) == ("mpich", ["/nowhere", str(own / "lib")])


@pytest.mark.parametrize("variable", ["OMPI_COMM_WORLD_SIZE", "HYDI_CONTROL_FD"])
def test_variables_of_a_launcher_that_is_not_seen(machine, variable):
    prefix = machine.mpi("mpi", "libmpi.so.12", "libmpi.so.40")
    chosen = machine.chosen(LD_LIBRARY_PATH=str(prefix / "lib"), **{variable: "2"})
    assert chosen.interface == ("openmpi" if variable.startswith("OMPI") else "mpich")


def test_without_a_launcher_the_one_on_the_path_decides(machine):
    real = machine.mpi("real", "libmpi.so.40", launcher="prterun")
    linked = machine.mpi("linked", on_path=str(real / "bin" / "prterun"))
    chosen = machine.chosen(PATH=f"/nowhere:{linked / 'bin'}")
    assert (chosen.interface, chosen.paths) == ("openmpi", [str(real / "lib")])


def test_a_prefix_for_schedulers_that_start_ranks_themselves(machine):
    prefix = machine.mpi("mpi", "libmpi.so.40", launcher="mpiexec")
    other = machine.mpi("other", "libmpi.so.12")
    place = {"LD_LIBRARY_PATH": str(other / "lib"), "OPENIMB_MPI_PREFIX": str(prefix)}
    chosen = machine.chosen(**place)
    assert (chosen.interface, chosen.paths) == ("openmpi", [str(prefix / "lib"), str(other / "lib")])


def test_library_under_debians_name(machine):
    prefix = machine.mpi("mpi", "libmpich.so.12", launcher="hydra_pmi_proxy")
    chosen = machine.chosen(prefix / "bin" / "hydra_pmi_proxy")
    compat = machine.folder / "venv" / "libexec" / "openimb" / "mpich" / "compat"
    assert (chosen.interface, chosen.paths) == ("mpich", [str(compat), str(prefix / "lib")])


def test_an_interface_can_be_chosen(machine):
    prefix = machine.mpi("mpi", *LIBRARIES.values(), launcher="hydra_pmi_proxy")
    above = prefix / "bin" / "hydra_pmi_proxy"
    assert machine.chosen(above, OPENIMB_INTERFACE="mpi-abi").interface == "mpi-abi"
    assert machine.chosen(above, OPENIMB_INTERFACE="").interface == "mpich"


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """The one line."""
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("IMB-MPI1: ")
    return line


WRONG: list[tuple[Callable[[Machine], subprocess.CompletedProcess[str]], str]] = [
    (
        lambda m: m.run(
            m.mpi("a", "libmpi.so.12", launcher="hydra_pmi_proxy") / "bin/hydra_pmi_proxy",
            OPENIMB_INTERFACE="mpi",
        ),
        "OPENIMB_INTERFACE=mpi is not one of mpich, openmpi, mpi-abi",
    ),
    (
        lambda m: m.run(
            m.mpi("a", "libmpi.so.12", launcher="hydra_pmi_proxy") / "bin/hydra_pmi_proxy",
            OPENIMB_INTERFACE="openmpi",
        ),
        "OPENIMB_INTERFACE=openmpi does not fit the launcher, which belongs to MPICH or Intel MPI",
    ),
    (
        lambda m: m.run(
            m.mpi("a", "libmpi.so.12", launcher="hydra_pmi_proxy") / "bin/hydra_pmi_proxy",
            OPENIMB_INTERFACE="mpi-abi",
        ),
        "no libmpi_abi.so.1 of the launcher's MPI in LD_LIBRARY_PATH, beside the launcher",
    ),
]


@pytest.mark.parametrize(("run", "words"), WRONG, ids=["unknown", "other MPI's", "missing"])
def test_a_choice_that_cannot_be(machine, run, words):
    assert words in refused(run(machine))


def test_no_mpi_at_all(machine):
    assert "no MPI library found" in refused(machine.run())


@pytest.mark.parametrize(
    ("started_by", "of_launcher", "libraries", "of_library", "rank"),
    [
        ("hydra_pmi_proxy", "MPICH or Intel MPI", ["libmpi.so.40"], "Open MPI", "PMI_RANK"),
        ("hydra_pmi_proxy", "MPICH or Intel MPI", ["libmpi.so.40", ABI], "Open MPI", "PMI_RANK"),
        ("prterun", "Open MPI", ["libmpi.so.12"], "MPICH or Intel MPI", "OMPI_COMM_WORLD_RANK"),
        ("prterun", "Open MPI", ["libmpich.so.12"], "MPICH or Intel MPI", "OMPI_COMM_WORLD_RANK"),
        ("prterun", "Open MPI", ["libmpi.so.12", ABI], "MPICH or Intel MPI", "OMPI_COMM_WORLD_RANK"),
    ],
)
@pytest.mark.slow
def test_wrong_pair(machine, started_by, of_launcher, libraries, of_library, rank):
    """The launcher would start many jobs of one rank each, or ranks that abort. A library of the standard ABI belongs
    to the MPI in whose folder it is."""
    above = machine.mpi("a", launcher=started_by) / "bin" / started_by
    folder = machine.mpi("b", *libraries) / "lib"
    place = {"LD_LIBRARY_PATH": str(folder)}
    line = refused(machine.run(above, **{rank: "0"}, **place))
    library = f"{of_library} (in {folder}); use the mpirun of {of_library}"
    assert f"started by {of_launcher} ({above}), but the only MPI library found belongs to {library}" in line
    silent = machine.run(above, **{rank: "1"}, **place)
    assert (silent.returncode, silent.stderr) == (2, "")  # one line of all ranks


def test_standard_abi_of_another_mpi_cannot_be_chosen(machine):
    above = machine.mpi("a", "libmpi.so.40", launcher="prterun") / "bin" / "prterun"
    place = {"LD_LIBRARY_PATH": str(machine.mpi("b", "libmpi.so.12", ABI) / "lib")}
    line = refused(machine.run(above, OPENIMB_INTERFACE="mpi-abi", **place))
    assert f"no {ABI} of the launcher's MPI in LD_LIBRARY_PATH" in line
    assert machine.chosen(above, **place).interface == "openmpi"


def test_standard_abi_of_another_mpi_is_passed_over(machine):
    above = machine.mpi("a", launcher="prterun") / "bin" / "prterun"
    other, own = machine.mpi("b", "libmpi.so.12", ABI) / "lib", machine.mpi("c", "libmpi.so.40", ABI) / "lib"
    chosen = machine.chosen(above, LD_LIBRARY_PATH=f"{other}:{own}", OPENIMB_INTERFACE="mpi-abi")
    assert (chosen.interface, chosen.paths) == ("mpi-abi", [str(own), str(other), str(own)])


def test_standard_abi_alone_fits_any_launcher(machine):
    above = machine.mpi("a", ABI, launcher="prterun") / "bin" / "prterun"
    assert machine.chosen(above).interface == "mpi-abi"


@pytest.mark.parametrize(
    ("flavor", "libraries", "interface"),
    [
        ("openmpi", ["libmpi.so.12", ABI], None),
        ("openmpi", ["libmpi.so.40", "libmpi.so.12", ABI], "openmpi"),
        ("openmpi", [ABI], "mpi-abi"),
        ("intel", ["libmpi.so.40", ABI], None),
        ("mpich", ["libmpich.so.12", ABI], "mpich"),
    ],
)
def test_the_companion_chooses_as_the_launcher_does(machine, flavor, libraries, interface):
    names = {"openmpi": "prterun", "mpich": "mpiexec.hydra", "intel": "mpiexec.hydra"}
    above = machine.mpi("a", *libraries, launcher=names[flavor]) / "bin" / names[flavor]
    mpi = Installation(flavor=flavor, version="", major=5, wrapper="", launcher=str(above))
    found = prebuilt_programs.interface_of(mpi)
    assert (found.key if found else None) == interface
    if interface:
        assert machine.chosen(above).interface == interface
    else:
        assert "but the only MPI library found belongs to" in refused(machine.run(above))


def test_damaged_installation(machine):
    prefix = machine.mpi("mpi", "libmpi.so.12", launcher="hydra_pmi_proxy")
    shutil.rmtree(machine.folder / "venv" / "libexec")
    line = refused(machine.run(prefix / "bin" / "hydra_pmi_proxy"))
    assert "cannot start" in line and "reinstall openimb" in line


def test_long_paths_and_odd_variables_do_no_harm(machine):
    prefix = machine.mpi("mpi", "libmpi.so.12", launcher="hydra_pmi_proxy")
    long = ":".join(f"/{'x' * 300}/{i}" for i in range(200)) + "::" + "/" + "y" * 9000
    chosen = machine.chosen(prefix / "bin" / "hydra_pmi_proxy", LD_LIBRARY_PATH=long, PATH=long)
    assert chosen.interface == "mpich"
    assert chosen.paths[0] == str(prefix / "lib")
