"""The slow host, core, link or switch of a fabric (`imb fabric`), and the rails of a host (`imb rails`)."""

from imb.registry import Command, Entries

ENTRIES = Entries(
    commands={
        "rails": Command(
            "Measure",
            "Measure the bandwidth between two hosts over all their rails at once.",
            "imb.fabric.rails_command",
        ),
        "fabric": Command(
            "Measure",
            "Find the slow host, core, link or switch of a fabric, with known error rates.",
            "imb.fabric.command",
        ),
    },
    experiments={"fabric": "imb.fabric.experiment:Fabric", "rails": "imb.fabric.rails_experiment:Rails"},
)
