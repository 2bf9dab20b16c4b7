"""Tuning files of an MPI library, with proof (`imb tune`)."""

from imb.registry import CommandEntry, Entries, WatchEntry

ENTRIES = Entries(
    commands={
        "tune": CommandEntry(
            "Measure",
            "Write a tuning file of the MPI library that is verified not slower than the library's defaults.",
            "imb.tune.tune_command",
        )
    },
    experiments={"tune": "imb.tune.tune_experiment:TuneExperiment"},
    watch=[
        WatchEntry(
            "imb.tune.tuned_files:outdated_lines",
            "Files of `imb tune` that were proven with another version or build of their MPI are listed, with the command that confirms them.",
        )
    ],
)
