"""Measurements over time: sessions, baselines, prediction of a new session, and steps in a history. Pure."""
