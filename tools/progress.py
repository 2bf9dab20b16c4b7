"""Runs a command that may take long, with a line every few seconds of how far it is.

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

BEAT = 4.0  # seconds between lines
STATUS = re.compile(r"\[(\d+)/(\d+)\] ")
# What ninja says beside files and errors.
ASIDE = re.compile(r"ninja: (Entering directory |no work to do)")


def line(label: str, finished: int, files: int, seconds: float, columns: int) -> str:
    """`files`: 0 where they are not known. The end is what matters: a label that is too long is cut."""
    counted = f" [{finished}/{files}] {100 * finished // files} %," if files else ""
    after = f":{counted} {seconds:.0f} s"
    return label[: max(columns - 1 - len(after), 0)] + after


def main(label: str, command: list[str]) -> int:
    began = time.monotonic()
    finished = files = 0
    over = threading.Event()

    def beat() -> None:
        while not over.wait(BEAT):
            columns = shutil.get_terminal_size().columns
            print(
                line(label, finished, files, time.monotonic() - began, columns), file=sys.stderr, flush=True
            )

    environment = {**os.environ, "NINJA_STATUS": "[%f/%t] "}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        threading.Thread(target=beat, daemon=True).start()
        try:
            assert process.stdout
            for printed in process.stdout:
                text = printed.decode(errors="replace")
                if status := STATUS.match(text):
                    finished, files = int(status[1]), int(status[2])
                elif not ASIDE.match(text):
                    sys.stdout.buffer.write(printed)
                    sys.stdout.flush()
        except KeyboardInterrupt:  # the command has the signal too, and ends
            process.wait()
            return 130
        finally:
            over.set()
        return process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
