"""Launches compared with each other: pairs, states of the machine, effects, variance, verdicts. Pure: no file, no process, no clock."""
