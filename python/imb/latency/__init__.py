"""One-way latency between two cores or two hosts (`imb latency`)."""

from imb.registry import CommandEntry, Entries

ENTRIES = Entries(
    commands={
        "latency": CommandEntry(
            "Measure",
            "Measure the one-way latency between two cores or two hosts.",
            "imb.latency.latency_command",
        )
    },
    experiments={"latency": "imb.latency.latency_experiment:LatencyExperiment"},
)
