"""Comparison of this host with its own past (`imb health`)."""

from imb.registry import CommandEntry, Entries

ENTRIES = Entries(
    commands={
        "health": CommandEntry(
            "Machine",
            "Check within seconds that this host is as fast as it was.",
            "imb.health.health_command",
            main="imb.health.status:main",
        )
    }
)
