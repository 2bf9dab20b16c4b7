"""Observations in, verdicts out. Pure: no file, no process, no clock."""
