"""Text and times as records and manifests hold them."""

from datetime import UTC, datetime


def now() -> str:
    """UTC, ISO 8601, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def readable(text: str) -> str:
    r"""What the system said, for JSON: bytes that are no UTF-8, which Python keeps as surrogates, become \xff."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
