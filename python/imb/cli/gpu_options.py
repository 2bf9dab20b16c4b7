"""Options of commands that launch with messages in GPU memory."""

from __future__ import annotations

from typing import Annotated

import typer

MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="KIND[,KIND]",
        help="Memory of messages, or of sends and of receives: host, pinned, cuda, cuda_managed, rocm, rocm_managed.",
        show_default="host",
    ),
]
GpuOption = Annotated[
    str | None,
    typer.Option(
        "--gpu",
        metavar="N",
        help="GPU of each rank: a number, local_rank or round_robin.",
        show_default="local_rank",
    ),
]
