"""Writes the output of a program to files without secret values. A process between the program and the files removes the values. So
the files contain no secret even if `imb` is killed, and they are complete, since that process lives as long as the program."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import IO

from imb.model.errors import ImbError
from imb.mpi import secret_filter

_GRACE = 2.0  # seconds to wait for the last output after the launch, as a stray process may keep a pipe open


def open_private(path: Path, mode: str = "wb") -> IO[bytes]:
    """Opens a file that, if new, only its owner may read. Raises OSError."""
    return open(path, mode, opener=lambda name, flags: os.open(name, flags, 0o600))


@contextlib.contextmanager
def open_filtered(paths: Sequence[Path], values: Collection[str], mask: str) -> Iterator[Sequence[IO[bytes]]]:
    """A context with a file for each path, into which a program can print; the caller closes these files when the program has them. When the
    context ends, the paths have all output, with `mask` in place of the values. Raises OSError, ImbError."""
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(open_private(path)) for path in paths]
        if not values:
            yield files
            return
        pipes = [os.pipe() for _ in paths]
        ends = [stack.enter_context(os.fdopen(read, "rb")) for read, _ in pipes]
        pipe_inputs = [stack.enter_context(os.fdopen(write, "wb", 0)) for _, write in pipes]
        numbers = [(end.fileno(), file.fileno()) for end, file in zip(ends, files, strict=True)]
        masker = subprocess.Popen(
            [sys.executable, "-I", "-S", secret_filter.__file__, *(f"{a}:{b}" for a, b in numbers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[number for pair in numbers for number in pair],
            start_new_session=True,  # so that the terminal's Ctrl-C does not reach it
        )
        try:
            _send_values(masker, values, mask)
            for file in (*ends, *files):
                file.close()
            yield pipe_inputs
        finally:
            for file in pipe_inputs:
                file.close()
            _end_filter(masker)
        if status := masker.returncode:
            number = status if status > 0 else errno.EIO
            raise OSError(number, os.strerror(number), str(paths[0]))


def _send_values(masker: subprocess.Popen[bytes], values: Collection[str], mask: str) -> None:
    """Sends the values and waits until the masker is ready, so that its start does not disturb the launch. Raises ImbError if it does not
    start."""
    assert masker.stdin and masker.stdout
    with masker.stdin as to, masker.stdout as ready:
        with contextlib.suppress(BrokenPipeError):  # it has ended and will not report that it is ready
            to.write("\n".join(os.fsencode(value).hex() for value in (mask, *values)).encode())
            to.flush()
        with contextlib.suppress(BrokenPipeError):
            to.close()
        if not ready.read(1):
            raise ImbError(f"cannot start {sys.executable}, which takes secret values out of the output")


def _end_filter(masker: subprocess.Popen[bytes]) -> None:
    try:
        masker.wait(_GRACE)
    except subprocess.TimeoutExpired:
        masker.terminate()
        masker.wait()
