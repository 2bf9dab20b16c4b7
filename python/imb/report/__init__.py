"""Records -> what people read."""


def shortened(name: str, width: int) -> str:
    """At most `width` characters; of a path the end is kept, of a label the beginning."""
    if len(name) <= width:
        return name
    return "…" + name[1 - width :] if "/" in name else name[: width - 1] + "…"
