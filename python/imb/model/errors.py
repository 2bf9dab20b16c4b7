"""Errors that the user can correct."""


class ImbError(Exception):
    """One line: what was wrong and what would be right. `imb` prints it and exits with `status`."""

    def __init__(self, line: str, status: int = 2) -> None:
        super().__init__(line)
        self.status = status
