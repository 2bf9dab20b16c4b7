"""Other people's text -> records."""

from __future__ import annotations

from imb.records import Records


def read_log(text: bytes, name: str) -> Records:
    """The records in a log of IMB, of OpenIMB or of OSU's benchmarks; what is not understood becomes problems."""
    raise NotImplementedError
