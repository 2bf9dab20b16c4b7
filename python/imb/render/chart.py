"""Charts in the terminal."""

from __future__ import annotations

import plotext

from imb.render.tables import Table


def curve(table: Table, *, width: int = 78, height: int = 16) -> str | None:
    """Throughput, or else time, over length, both logarithmic; None where there are fewer than three lengths."""
    rate = any(result.bytes_per_second for result in table.results)
    points = []
    for result in table.results:
        value = result.bytes_per_second if rate else result.time_max_seconds or result.time_avg_seconds
        if value and result.bytes:
            points.append((result.bytes, value * (1e-6 if rate else 1e6)))
    if len({x for x, _ in points}) < 3:
        return None
    figure = plotext.figure
    figure.clear()
    figure.plot_size(width, height)
    figure.theme("clear")
    figure.title(f"{table.title}: {'MB/s' if rate else 'µs'} over bytes")
    figure.draw(figure.signal([x for x, _ in points], [y for _, y in points]))
    for axis in (0, 1):
        figure.ruler(axis, 0).scale("log")
    return "\n".join(line.rstrip() for line in str(plotext.uncolorize(str(figure.build()))).split("\n"))
