"""Stores immutable runs: the archive and its index, import, verification, names of runs."""
