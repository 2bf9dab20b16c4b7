"""Files of what a program prints, in which values that are secret never stand: a process between the program and the files takes
them out. So they hold no secret even where `imb` is killed, and they are complete, since that process ends with the program.

Run as a program, this file is that process. It uses the standard library only, and imports nothing of `imb`.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import IO

_GRACE = 2.0  # seconds after the launch in which the last text may come: a stray process may keep a pipe open
_CHUNK = 1 << 16


class Masked:
    """A text that comes in pieces, without these values. A piece that ends within a value waits for the next one."""

    def __init__(self, values: Collection[bytes], mask: bytes) -> None:
        self.values = sorted(values, key=len, reverse=True)
        self.mask = mask
        self.pattern = re.compile(b"|".join(map(re.escape, self.values)) or b"(?!)")
        self.rest = b""

    def feed(self, piece: bytes) -> bytes:
        """What is known to be text, with the mask in the place of the values."""
        text, at = self.rest + piece, 0
        done: list[bytes] = []
        begun = self._begun(text, at)
        while (found := self.pattern.search(text, at)) and found.start() < begun:
            done += [text[at : found.start()], self.mask]
            at = found.end()
            if at > begun:
                begun = self._begun(text, at)
        self.rest = text[begun:]
        return b"".join([*done, text[at:begun]])

    def end(self) -> bytes:
        """What is left: no value is complete any more, but one with which a longer one begins may be."""
        text, self.rest = self.rest, b""
        return self.pattern.sub(lambda _: self.mask, text)

    def _begun(self, text: bytes, at: int) -> int:
        """From where on the text may be the beginning of a value."""
        longest = len(self.values[0]) if self.values else 0
        for first in range(max(at, len(text) - longest + 1), len(text)):
            if any(
                value.startswith(text[first:]) and len(value) > len(text) - first for value in self.values
            ):
                return first
        return len(text)


def private(path: Path, mode: str = "wb") -> IO[bytes]:
    """A new file that only its owner may read. Raises OSError."""
    return open(path, mode, opener=lambda name, flags: os.open(name, flags, 0o600))


@contextlib.contextmanager
def printed_to(paths: Sequence[Path], values: Collection[str], mask: str) -> Iterator[Sequence[IO[bytes]]]:
    """For each path a file for what a program prints, to be closed as soon as the program has it. The paths have all of it, but
    for the values, when this context ends. Raises OSError."""
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(private(path)) for path in paths]
        if not values:
            yield files
            return
        pipes = [os.pipe() for _ in paths]
        ends = [stack.enter_context(os.fdopen(read, "rb")) for read, _ in pipes]
        written = [stack.enter_context(os.fdopen(write, "wb", 0)) for _, write in pipes]
        numbers = [(end.fileno(), file.fileno()) for end, file in zip(ends, files, strict=True)]
        between = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, *(f"{a}:{b}" for a, b in numbers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[number for pair in numbers for number in pair],
            start_new_session=True,  # the terminal's Ctrl-C does not reach it
        )
        try:
            _tell(between, values, mask)
            for file in (*ends, *files):
                file.close()
            yield written
        finally:
            for file in written:
                file.close()
            _ended(between)
        if status := between.returncode:
            number = status if status > 0 else errno.EIO
            raise OSError(number, os.strerror(number), str(paths[0]))


def _tell(between: subprocess.Popen[bytes], values: Collection[str], mask: str) -> None:
    """Returns when it is ready: its start is not to disturb the launch."""
    assert between.stdin and between.stdout
    said = {"values": [os.fsencode(value).hex() for value in values], "mask": mask}
    with between.stdin as to, between.stdout as ready:
        to.write(json.dumps(said).encode())
        to.close()
        ready.read(1)


def _ended(between: subprocess.Popen[bytes]) -> None:
    try:
        between.wait(_GRACE)
    except subprocess.TimeoutExpired:
        between.terminate()
        between.wait()


# --- The process between -----------------------------------------------------------------------------


def _pass_on(pairs: Sequence[tuple[int, int]], values: Collection[bytes], mask: bytes) -> int:
    """From each first descriptor to the second one, until all have ended. The error number of a file that could not be written."""
    texts = {read: (Masked(values, mask), write) for read, write in pairs}
    failed = 0

    def put(write: int, text: bytes) -> None:
        nonlocal failed
        while text and not failed:
            try:
                text = text[os.write(write, text) :]
            except OSError as error:  # the launch goes on: it is to end as it would have
                failed = error.errno or errno.EIO

    def take(read: int) -> bool:
        masked, write = texts[read]
        piece = os.read(read, _CHUNK)
        put(write, masked.feed(piece) if piece else masked.end())
        return bool(piece)

    _follow(list(texts), take)
    for masked, write in texts.values():
        put(write, masked.end())
    return failed


def _follow(reads: list[int], take: Callable[[int], bool]) -> None:
    """Takes what comes until all have ended; after SIGTERM what is there."""
    asked = False

    def ask(number: int, frame: object) -> None:
        nonlocal asked
        asked = True

    signal.signal(signal.SIGTERM, ask)
    watch = select.poll()
    for read in reads:
        watch.register(read, select.POLLIN)
    left = len(reads)
    while left:
        ready = watch.poll(0 if asked else 1000)
        if asked and not ready:
            return
        for read, _ in ready:
            if not take(read):
                watch.unregister(read)
                left -= 1


def main() -> int:
    """Reads the values from standard input, and closes standard output when ready."""
    with os.fdopen(0, "rb") as file:
        said = json.loads(file.read())
    os.close(1)
    pairs = [(int(read), int(write)) for read, _, write in (word.partition(":") for word in sys.argv[1:])]
    return _pass_on(pairs, [bytes.fromhex(value) for value in said["values"]], said["mask"].encode())


if __name__ == "__main__":
    sys.exit(main())
