"""Duration of the parts of a launch, before and after it measures (`imb startup`)."""

from imb.registry import CommandEntry, Entries

ENTRIES = Entries(
    commands={
        "startup": CommandEntry(
            "Measure",
            "Measure how long an MPI takes to start ranks, and which part takes how long.",
            "imb.startup.startup_command",
        )
    },
    experiments={"startup": "imb.startup.startup_experiment:StartupExperiment"},
)
