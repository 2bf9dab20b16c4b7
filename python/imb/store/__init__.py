"""The store of immutable runs: index, import, verification, names."""
