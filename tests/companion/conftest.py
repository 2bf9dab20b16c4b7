"""`imb` as its user has it: words in, text and exit status out, an archive of its own."""

from __future__ import annotations

import signal
from pathlib import Path

import lab
import pytest
from companion.door import Imb, Said
from imb import registry
from imb.cli import main
from imb.store.store import Archive

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # tests as a shell's job in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests of a slice are in its folder, or marked (tests/conftest.py); they go with it (test_slices.py).
SLICES = {name.removeprefix("imb.") for name in registry.SLICES}
collect_ignore = [
    path.name
    for path in Path(__file__).parent.iterdir()
    if path.is_dir() and path.name not in {"data", *SLICES}
]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMB_ARCHIVE", str(tmp_path / "archive"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture
def no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose user has a number only, and no archive is named."""
    variables = ("HOME", "IMB_ARCHIVE", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
    for name in (*variables, "LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])


@pytest.fixture(autouse=True)
def waiting_ranks_leave_their_cpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that `imb` launches, as lab.command() has it, but where what they measure is judged."""
    launches = request.node.get_closest_marker("needs_mpi") or "mpi" in request.fixturenames
    if lab.AT_ONCE > 1 and launches and not request.node.get_closest_marker("alone"):
        monkeypatch.setenv("LD_PRELOAD", str(lab.interposed(lab.MAIN[0], "yielding_progress.cpp")))


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "archive")


@pytest.fixture
def imb(capfdbinary: pytest.CaptureFixture[bytes]) -> Imb:
    def run(*words: object) -> Said:
        code: object = 0
        try:
            main([str(word) for word in words])
        except SystemExit as end:
            code = end.code or 0
        said = capfdbinary.readouterr()
        assert isinstance(code, int)
        assert b"Traceback" not in said.err
        return Said(code, said.out.decode(), said.err.decode())

    return run
