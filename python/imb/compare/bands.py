"""Bands of message sizes, and the band of each row. Pure."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

import msgspec

from imb.model import defaults
from imb.model.errors import ImbError
from imb.model.observations import Key
from imb.model.units import short_size

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


class Band(msgspec.Struct, frozen=True):
    """Sizes from `first` to `last` bytes, both included. Both are None in the band of rows without a size,
    such as Barrier's."""

    first: int | None = None
    last: int | None = None

    def __str__(self) -> str:
        """`64-4K`; K is 2^10."""
        if self.first is None or self.last is None:
            return "no size"
        return f"{short_size(self.first)}-{short_size(self.last)}"

    @property
    def title(self) -> str:
        """`64-4K bytes`, or `no size`."""
        return str(self) if self.first is None else f"{self} bytes"

    def has(self, length: int | None) -> bool:
        """Whether a row of this message size, in bytes, belongs to the band."""
        if length is None or self.first is None or self.last is None:
            return length is self.first is self.last is None
        return self.first <= length <= self.last


NO_LENGTH = Band()


def parse_bands(text: str) -> tuple[Band, ...]:
    """Parse `1-32,64-4K,8K-256K,512K-4M`. Raises ImbError."""
    bands: list[Band] = []
    for word in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,15})([KMG]?)\s*-\s*(\d{1,15})([KMG]?)\s*", word, re.IGNORECASE)
        if match is None:
            raise ImbError(
                f"{word.strip() or text!r} is not a size band; write bands like 1-32,64-4K,8K-256K"
            )
        band = Band(
            int(match[1]) * _UNITS[match[2].upper()],
            int(match[3]) * _UNITS[match[4].upper()],
        )
        if band.last < band.first:  # type: ignore[operator]
            raise ImbError(f"the band {word.strip()} ends before it begins; write bands like 1-32,64-4K")
        if any(other.has(band.first) or band.has(other.first) for other in bands):
            raise ImbError(
                f"the band {word.strip()} overlaps another band; a message size must be in one band only"
            )
        bands.append(band)
    return tuple(bands)


BANDS = parse_bands(defaults.BANDS)


def band_of(length: int | None, bands: Sequence[Band] | None = None) -> Band | None:
    """The band of a message size in bytes, or None if no band has it. A row without a size (None) is in
    NO_LENGTH. The default of `bands` is BANDS."""
    return next(
        (band for band in (*(BANDS if bands is None else bands), NO_LENGTH) if band.has(length)), None
    )


def members_of(
    keys: Sequence[Key], bands: Sequence[Band], alone: Container[Key] = ()
) -> dict[tuple[Key, Band], list[int]]:
    """Indices into `keys`, by curve and band. Rows in `alone` belong to no band."""
    members: dict[tuple[Key, Band], list[int]] = {}
    curves: dict[Key, Key] = {}
    for number, key in enumerate(keys):
        if key in alone:
            continue
        band = band_of(key.bytes, bands)
        if band is not None:
            curve = key.curve()
            members.setdefault((curves.setdefault(curve, curve), band), []).append(number)
    curve_order = {curve: number for number, curve in enumerate(curves)}
    band_order = {band: number for number, band in enumerate((*bands, NO_LENGTH))}
    return dict(sorted(members.items(), key=lambda item: (curve_order[item[0][0]], band_order[item[0][1]])))
