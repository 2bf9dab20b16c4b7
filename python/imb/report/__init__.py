"""Records -> what people read."""


def shorten(name: str, width: int) -> str:
    """The name with at most `width` characters: an absolute path keeps its end, a label its beginning."""
    if len(name) <= width:
        return name
    return "…" + name[1 - width :] if name.startswith("/") else name[: width - 1] + "…"
