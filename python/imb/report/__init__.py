"""Records -> what people read."""


def shorten(name: str, width: int) -> str:
    """At most `width` characters; of an absolute path the end is kept, of a label the beginning."""
    if len(name) <= width:
        return name
    return "…" + name[1 - width :] if name.startswith("/") else name[: width - 1] + "…"
