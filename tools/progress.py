"""Runs a command that may take long, with a line of how far it is where it prints nothing for a few seconds.

    progress.py LABEL COMMAND...

Ninja's own lines, one for each file, are counted and not shown; all else that the command prints is. Its exit status is the
command's.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time

BEAT = 4.0  # seconds of silence
STATUS = re.compile(r"\[(\d+)/(\d+)\] ")
# What ninja says beside files and errors.
ASIDE = re.compile(r"ninja: (Entering directory |no work to do)")


def line(label: str, finished: int, files: int, seconds: float, columns: int) -> str:
    """`files`: 0 where they are not known. The end is what matters: a label that is too long is cut."""
    counted = f" [{finished}/{files}] {100 * finished // files} %," if files else ""
    after = f":{counted} {seconds:.0f} s"
    return label[: max(columns - 1 - len(after), 0)] + after


class Screen:
    """What is printed, by two threads, and when."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.began = self.said = time.monotonic()
        self.finished = self.files = 0
        self.open = False  # a line without its end
        self.lock = threading.Lock()

    def show(self, printed: bytes) -> None:
        """Of the command."""
        with self.lock:
            sys.stdout.buffer.write(printed)
            sys.stdout.flush()
            self.said = time.monotonic()
            self.open = not printed.endswith(b"\n")

    def beat(self, over: threading.Event) -> None:
        """Until `over`."""
        while not over.wait(max(0.0, self.said + BEAT - time.monotonic())):
            with self.lock:
                now = time.monotonic()
                if now < self.said + BEAT:
                    continue
                text = line(
                    self.label,
                    self.finished,
                    self.files,
                    now - self.began,
                    shutil.get_terminal_size().columns,
                )
                print("\n" * self.open + text, file=sys.stderr, flush=True)
                self.said, self.open = now, False


def main(label: str, command: list[str]) -> int:
    screen = Screen(label)
    over = threading.Event()
    environment = {**os.environ, "NINJA_STATUS": "[%f/%t] "}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        threading.Thread(target=screen.beat, args=[over], daemon=True).start()
        try:
            assert process.stdout
            begun = b""  # of a line that may be ninja's
            while printed := os.read(process.stdout.fileno(), 1 << 16):
                *lines, begun = (begun + printed).split(b"\n")
                for one in lines:
                    text = one.decode(errors="replace")
                    if status := STATUS.match(text):
                        screen.finished, screen.files = int(status[1]), int(status[2])
                    elif not ASIDE.match(text):
                        screen.show(one + b"\n")
                if begun and not begun.startswith((b"[", b"n")):
                    screen.show(begun)
                    begun = b""
            if begun:
                screen.show(begun)
        except KeyboardInterrupt:  # the command has the signal too, and ends
            process.wait()
            return 130
        finally:
            over.set()
        return process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
