"""Search for slow hosts, cores, links and switches (`imb fabric`), and the rails of a host (`imb rails`)."""

from imb.registry import CommandEntry, Entries

ENTRIES = Entries(
    commands={
        "rails": CommandEntry(
            "Measure",
            "Measure the bandwidth between two hosts over all their rails at once.",
            "imb.fabric.rails_command",
        ),
        "fabric": CommandEntry(
            "Measure",
            "Find the slow host, core, link or switch of a fabric, with known error rates.",
            "imb.fabric.fabric_command",
        ),
    },
    experiments={
        "fabric": "imb.fabric.fabric_experiment:FabricExperiment",
        "rails": "imb.fabric.rails_experiment:RailsExperiment",
    },
)
