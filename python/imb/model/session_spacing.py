"""The time that must lie between sessions that count as several."""

from datetime import timedelta

# Counted from the first launch of a session; less than an hour, as an hourly job may start some minutes early.
SESSIONS_APART = timedelta(minutes=50)
