"""Tuning files of an MPI library, with proof (`imb tune`)."""

from imb.registry import Command, Entries

ENTRIES = Entries(
    commands={
        "tune": Command(
            "Measure",
            "Write a tuning file of the MPI library that is proven not slower than its own choices.",
            "imb.tune.command",
        )
    },
    experiments={"tune": "imb.tune.experiment:Tune"},
    after_watch=["imb.tune.tuned_files:outdated"],
)
