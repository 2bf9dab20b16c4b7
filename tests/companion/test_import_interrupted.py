"""imb import on several cores, ended by Ctrl-C."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from companion.door import Imb
from imb.store.store import Archive

REFERENCE = Path(__file__).parent.parent / "reference" / "mpi1-np2.txt"
# Each file is a batch of its own, so that few files are enough.
IMPORT = "import sys, imb.store.importer as i; i._BATCH_FILES = 1; from imb.cli import main; main(['import', *sys.argv[1:]])"


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_read_and_leaves_no_process(tmp_path: Path, imb: Imb, archive: Archive) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for number in range(40):
        (logs / f"{number:03d}.log").write_text(REFERENCE.read_text() + f"# {number}\n")
    process = subprocess.Popen(
        [sys.executable, "-c", IMPORT, "--jobs", "2", logs], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    end = time.monotonic() + 30
    while len(archive.ids()) < 4:
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
    _, err = process.communicate(timeout=10)
    assert process.returncode == 130 and err.startswith("imb: interrupted; files read so far are kept")
    while left := alive_in(
        process.pid
    ):  # Python's resource tracker sees a moment later that the others are gone
        assert time.monotonic() < end, left
        time.sleep(0.01)
    assert 4 <= len(archive.ids()) < 40
    assert imb("archive", "verify").code == 0
    again = imb("import", logs)
    assert again.code == 0 and len(archive.ids()) == 40


def alive_in(group: int) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found
