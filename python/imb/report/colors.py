"""Colors of a page: CSS variables for its text, values for its charts."""

from __future__ import annotations

from typing import Literal

Theme = Literal["light", "dark"]

# s0 to s7 are sides: Okabe and Ito's colors, and others that color-blind people can distinguish.
COLORS: dict[Theme, dict[str, str]] = {
    "light": {
        "bg": "#fbfbf9", "card": "#ffffff", "ink": "#1b1f24", "muted": "#5b6470", "line": "#e1e3e1", "grid": "#e8eae8",
        "accent": "#0b5fae", "focus": "#0b5fae", "good": "#0b5fae", "bad": "#b3460d", "warn": "#8a5a00",
        "good-bg": "#e7f0f9", "bad-bg": "#fbece2", "warn-bg": "#fdf3dc", "calm-bg": "#eef0ee",
        "s0": "#0072b2", "s1": "#d55e00", "s2": "#009e73", "s3": "#aa4499",
        "s4": "#8a6d00", "s5": "#3b97c9", "s6": "#444444", "s7": "#882255",
        "f1": "#dcebf7", "f2": "#b4d4ec", "f3": "#7fb5dc", "l1": "#fbe6d6", "l2": "#f6c8a5", "l3": "#eca06a",
    },
    "dark": {
        "bg": "#14171a", "card": "#1b1f23", "ink": "#e8eaec", "muted": "#a3acb6", "line": "#30363c", "grid": "#2b3136",
        "accent": "#76b7f0", "focus": "#9fd0ff", "good": "#8cc4f5", "bad": "#f3a476", "warn": "#ecc069",
        "good-bg": "#17293a", "bad-bg": "#3a2417", "warn-bg": "#352b14", "calm-bg": "#262b30",
        "s0": "#56b4e9", "s1": "#f0833a", "s2": "#2fc79b", "s3": "#dd88cc",
        "s4": "#e0c341", "s5": "#9ad0f5", "s6": "#c8ccd0", "s7": "#e67fa5",
        "f1": "#1a3145", "f2": "#1d4666", "f3": "#20608f", "l1": "#402a1c", "l2": "#643a1c", "l3": "#8f4c1c",
    },
}  # fmt: skip
SIDES = 8  # number of colors for sides; the ninth side reuses the first
# Plotly's names of dashes, and the equivalent SVG dash arrays.
_DASHES = {
    "solid": "none",
    "dash": "7 4",
    "dot": "2 3",
    "dashdot": "7 3 2 3",
    "longdash": "11 4",
    "longdashdot": "11 3 2 3",
}
DASHES = tuple((*_DASHES, *_DASHES)[:SIDES])
DASH_ARRAYS = tuple(_DASHES[dash] for dash in DASHES)
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star", "hexagon")


def css() -> str:
    """The colors as CSS variables. The theme that the reader chose takes precedence over the system's; print
    is light."""
    light, dark = (_variables(theme) for theme in ("light", "dark"))
    return (
        f":root {{ {light} }}\n"
        f'@media screen and (prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{ {dark} }} }}\n'
        f'@media screen {{ :root[data-theme="dark"] {{ {dark} }} }}\n'
    )


def shade(color: str, alpha: float) -> str:
    """A color `#rrggbb` with this opacity, from 0 to 1."""
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"


def _variables(theme: Theme) -> str:
    colors = " ".join(f"--{name}: {value};" for name, value in COLORS[theme].items())
    return f"{colors} color-scheme: {theme};"
