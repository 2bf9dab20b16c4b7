"""Regular rows to numbers, a column at a time.

A row of IMB's tables has cells of 13 characters: a whole number right-aligned, or one with decimals. Arrow parses a column of cells
in one call. Rows that have anything else are not taken here: the reader then looks at them one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from imb.readers.table import CELL, WHOLE, Array


def columns_of(blocks: Sequence[bytes], columns: tuple[str, ...]) -> list[Array] | None:
    """All rows of all blocks as one array per column: int64, or float64 as printed. None if a row is not plain.

    Each block is rows of len(columns) * 13 characters with newlines between them.
    """
    import pyarrow as pa
    import pyarrow.compute as pc  # imported here: files without a table need no Arrow

    text = b"\n".join([*blocks, b""])
    rows, rest = divmod(len(text), CELL * len(columns) + 1)
    if rest or text.translate(None, b" .0123456789\n"):
        return None
    cells = np.frombuffer(text, np.uint8).reshape(rows, -1)
    # A blank before each number: no cell begins within one.
    if (cells[:, :-1:CELL] != ord(" ")).any() or (cells[:, -1] != ord("\n")).any():
        return None
    ends = pa.py_buffer(np.arange(rows + 1, dtype=np.int32) * np.int32(CELL))
    numbers: list[Array] = []
    for i, name in enumerate(columns):
        column = pa.py_buffer(np.ascontiguousarray(cells[:, CELL * i : CELL * (i + 1)]))
        kind = pa.int64() if name in WHOLE else pa.float64()
        try:
            numbers.append(
                pc.ascii_ltrim(pa.StringArray.from_buffers(rows, ends, column), " ").cast(kind).to_numpy()
            )
        except pa.ArrowInvalid:
            return None
    return numbers
