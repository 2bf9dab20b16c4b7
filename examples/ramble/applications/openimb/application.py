"""OpenIMB as a Ramble application: workloads and variables have the names of Ramble's intel-mpi-benchmarks.

    ramble repo add examples/ramble
    ramble workspace create imb -c examples/ramble/ramble.yaml -a
    ramble workspace setup && ramble on && ramble workspace analyze

Figures of merit are read from the records that `-json` writes. The columns of a text row have no names in the row: with `-check` the last
one is not a bandwidth. "Time max" is the column t[usec] of PingPong.
"""

from ramble.appkit import (
    ExecutableApplication,
    FomType,
    executable,
    figure_of_merit,
    figure_of_merit_context,
    required_package,
    software_spec,
    success_criteria,
    tags,
    workload,
    workload_group,
    workload_variable,
)

RECORDS = "{experiment_run_dir}/{experiment_name}.jsonl"
# The first value of a name in a line belongs to the record; later ones belong to objects in it. The patterns have no braces, because
# Ramble expands variables in braces.
RESULT = r'(?=.*"record":"result")'


def number(field, group):
    return rf'(?=.*?"{field}":(?P<{group}>[-+.\de]+)[^-+.\de])'


ROW = rf'{RESULT}(?=.*?"benchmark":"(?P<benchmark>\w+)"){number("bytes", "bytes")}{number("processes", "processes")}'
OPTIONS = (
    f"-msglog {{msglog_min}}:{{msglog_max}} -iter {{num_iterations}} -json {RECORDS} {{additional_args}}"
)


def one_command(name, command):
    """A workload of one command."""
    executable(name, f"{{install_path}}/{command} {OPTIONS}", use_mpi=True)
    workload(name, executable=name)


def figure(name, field, units="", fom_type=FomType.INFO):
    figure_of_merit(
        name,
        log_file=RECORDS,
        fom_regex=RESULT + number(field, "value"),
        group_name="value",
        units=units,
        fom_type=fom_type,
        contexts=["row", "row of a group"],
    )


class Openimb(ExecutableApplication):
    """Measure MPI communication with OpenIMB, an open implementation of the Intel MPI Benchmarks."""

    name = "openimb"

    tags("benchmark", "micro-benchmark", "mpi")

    software_spec("openimb", pkg_spec="openimb", when=["package_manager_family=spack"])
    required_package("openimb", when=["package_manager_family=spack"])

    one_command("pingpong", "IMB-MPI1 {pingpong_type}")
    one_command("multi-pingpong", "IMB-MPI1 PingPong -multi {multi_val} -map {map_args}")
    one_command("exchange", "IMB-MPI1 Exchange")
    one_command("collective", "IMB-MPI1 {collective_type} -npmin {min_collective_ranks}")
    # In Ramble's intel-mpi-benchmarks these are values of pingpong_type, but they need another executable.
    one_command("random", "IMB-P2P {random_type}")
    workload_group("all", workloads=["pingpong", "multi-pingpong", "exchange", "collective", "random"])

    workload_variable(
        "install_path",
        default="{openimb_path}/bin",
        description="Folder of the executables",
        workload_group="all",
    )
    workload_variable(
        "msglog_min",
        default="1",
        description="Exponent of the smallest message size above 0",
        workload_group="all",
    )
    workload_variable(
        "msglog_max", default="30", description="Exponent of the largest message size", workload_group="all"
    )
    workload_variable(
        "num_iterations",
        default="1000",
        description="Maximum number of repetitions of a row",
        workload_group="all",
    )
    workload_variable(
        "additional_args",
        default="",
        description="Further arguments, such as -check or -passes 20",
        workload_group="all",
    )
    workload_variable(
        "pingpong_type",
        default="PingPong",
        values=["PingPong", "PingPing", "PingPongSpecificSource", "PingPingSpecificSource"],
        description="Benchmark",
        workload="pingpong",
    )
    workload_variable(
        "num_cores",
        default="{{{n_ranks}/2}:0.0f}",
        description="Number of pairs that run at the same time",
        workload="multi-pingpong",
    )
    workload_variable(
        "map_args", default="{num_cores}x2", description="Argument of -map", workload="multi-pingpong"
    )
    workload_variable(
        "multi_val",
        default="0",
        values=["0", "1"],
        description="0: one row over all groups, 1: a row per group",
        workload="multi-pingpong",
    )
    workload_variable(
        "collective_type",
        default="Allgather",
        values=[
            *("Allgather", "Allgatherv", "Allreduce", "Alltoall", "Alltoallv", "Barrier", "Bcast"),
            *("Gather", "Gatherv", "Reduce", "Reduce_scatter", "Scatter", "Scatterv"),
        ],
        description="Benchmark",
        workload="collective",
    )
    workload_variable(
        "min_collective_ranks",
        default="{n_ranks}",
        description="Smallest number of ranks that is measured",
        workload="collective",
    )
    workload_variable(
        "random_type",
        default="Unirandom",
        values=["Unirandom", "Birandom", "Corandom"],
        description="Benchmark",
        workload="random",
    )

    # Rows of -multi 1 have a group; other rows have none. A launch has rows of one kind.
    figure_of_merit_context(
        "row",
        regex=rf'{ROW}(?=.*?"group":null)',
        output_format="{benchmark}, {processes} processes, {bytes} B",
    )
    figure_of_merit_context(
        "row of a group",
        regex=ROW + number("group", "group"),
        output_format="{benchmark}, {processes} processes, group {group}, {bytes} B",
    )
    figure("Time min", "time_min_seconds", "s", FomType.TIME)
    figure("Time max", "time_max_seconds", "s", FomType.TIME)
    figure("Time avg", "time_avg_seconds", "s", FomType.TIME)
    figure("Bandwidth", "bytes_per_second", "B/s", FomType.THROUGHPUT)
    figure("Repetitions", "repetitions")
    figure("Defects", "defects")
    # Rows that exceed -mem or -time; as in IMB, they are not errors.
    figure_of_merit(
        "Failure rows",
        log_file=RECORDS,
        fom_regex=r'(?=.*"record":"end")' + number("failed", "value"),
        group_name="value",
        fom_type=FomType.INFO,
    )

    success_criteria("finalized", mode="string", match=r".*?All processes entering MPI_Finalize")
    success_criteria(
        "no wrong bytes", mode="string", anti_match=r'.*"record":"end".*"defects":[1-9]', file=RECORDS
    )
