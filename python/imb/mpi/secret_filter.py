"""The process that copies a program's output to files and removes secret values: see imb.mpi.filtered_files.

It runs as a program, by its path. It imports nothing of `imb` and little else, so that it is ready within some ten milliseconds.
"""

import errno
import os
import select
import signal
import sys
from collections.abc import Callable, Collection, Sequence

_CHUNK = 1 << 16


class SecretFilter:
    """Replaces these values in a text that comes in pieces. If a piece ends with the beginning of a value, that part waits for the next
    piece."""

    def __init__(self, values: Collection[bytes], mask: bytes) -> None:
        self.values = sorted(filter(None, values), key=len, reverse=True)
        self.mask = mask
        self.rest = b""

    def feed(self, piece: bytes) -> bytes:
        """Takes a piece; returns the text that is complete so far, with the mask in place of the values."""
        return self._replace_values(self.rest + piece, self._start_of_value)

    def end(self) -> bytes:
        """The rest of the text. As no more text comes, a value is replaced even if a longer value begins with it."""
        return self._replace_values(self.rest, lambda text, at: len(text))

    def _replace_values(self, text: bytes, begun_of: Callable[[bytes, int], int]) -> bytes:
        """Replaces the values from left to right; if several begin at the same position, the longest."""
        at, begun = 0, begun_of(text, 0)
        nexts = {value: text.find(value) for value in self.values}
        pieces: list[bytes] = []
        while present := [value for value in self.values if nexts[value] >= 0]:
            value = min(present, key=lambda value: nexts[value])
            if nexts[value] >= begun:
                break
            pieces += [text[at : nexts[value]], self.mask]
            at = nexts[value] + len(value)
            begun = begun if at <= begun else begun_of(text, at)
            for other in present:
                if nexts[other] < at:
                    nexts[other] = text.find(other, at)
        self.rest = text[begun:]
        return b"".join([*pieces, text[at:begun]])

    def _start_of_value(self, text: bytes, at: int) -> int:
        """The first position from which the rest of the text may be the beginning of a value."""
        begun = len(text)
        for value in self.values:
            first = text.find(value[:1], max(at, len(text) - len(value) + 1))
            while 0 <= first < begun:
                if value.startswith(text[first:]):
                    begun = first
                first = text.find(value[:1], first + 1)
        return begun


def pass_on(pairs: Sequence[tuple[int, int]], values: Collection[bytes], mask: bytes) -> int:
    """Copies from the first descriptor of each pair to the second until all inputs end; after SIGTERM, copies only the available rest. If a
    file cannot be written, goes on reading, so that the launch is not affected, and returns the error number; else 0."""
    texts = {read: (SecretFilter(values, mask), write) for read, write in pairs}
    failed = 0

    def put(write: int, text: bytes) -> None:
        nonlocal failed
        while text and not failed:
            try:
                text = text[os.write(write, text) :]
            except OSError as error:
                failed = error.errno or errno.EIO

    def take(read: int) -> bool:
        filtered, write = texts[read]
        piece = os.read(read, _CHUNK)
        put(write, filtered.feed(piece))
        return bool(piece)

    _follow(list(texts), take)
    for filtered, write in texts.values():
        put(write, filtered.end())
    return failed


def _follow(reads: Sequence[int], take: Callable[[int], bool]) -> None:
    signals: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: signals.append(number))
    watch = select.poll()
    for read in reads:
        watch.register(read, select.POLLIN)
    open_pipes = len(reads)
    while open_pipes and ((ready := watch.poll(0 if signals else 1000)) or not signals):
        for read, _ in ready:
            if not take(read):
                watch.unregister(read)
                open_pipes -= 1


def main() -> int:
    """Reads the mask and the values from standard input, one hexadecimal line each, and writes a line when it is ready. The arguments are
    pairs of descriptors, `READ:WRITE`."""
    with os.fdopen(0, "rb") as file:
        mask, *values = (bytes.fromhex(line.decode()) for line in file.read().split(b"\n"))
    os.write(1, b"\n")
    os.close(1)
    pairs = [(int(read), int(write)) for read, _, write in (word.partition(":") for word in sys.argv[1:])]
    return pass_on(pairs, values, mask)


if __name__ == "__main__":
    sys.exit(main())
