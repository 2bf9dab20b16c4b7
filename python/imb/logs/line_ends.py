"""Line ends of Windows: text is read without the CR of each CR LF, but positions of launches are those in the file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from imb.logs.table import LoggedLaunch

_CR, _LF = 13, 10


def without_cr(text: bytes) -> bytes:
    """The text with LF for each CR LF; the same object where it has none."""
    return text.replace(b"\r\n", b"\n") if b"\r" in text else text


def as_in_file(launches: Sequence[LoggedLaunch], text: bytes) -> None:
    """Changes `start` and `stop` of launches from positions in `without_cr(text)` to positions in `text`."""
    if b"\r" not in text:  # one byte is found much faster than two
        return
    codes = np.frombuffer(text, np.uint8)
    at = np.flatnonzero(codes == _CR)
    at = at[codes[np.minimum(at + 1, len(codes) - 1)] == _LF]
    ends = at - np.arange(len(at))  # of the same lines without CR
    for launch in launches:
        launch.start += int(np.searchsorted(ends, launch.start))
        launch.stop += int(np.searchsorted(ends, launch.stop))
