"""Measurements over time: sessions, baselines, the values of a host, and where something changed. Pure."""
