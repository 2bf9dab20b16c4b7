"""OpenIMB as a Benchpark experiment, with Ramble's application in ../ramble. In a checkout of Benchpark:

cp -r OPENIMB/examples/ramble/applications/openimb repo/
cp OPENIMB/packaging/spack/package.py repo/openimb/
mkdir experiments/openimb && cp OPENIMB/examples/benchpark/experiment.py experiments/openimb/
benchpark experiment init --dest openimb SYSTEM openimb workload=collective
"""

from benchpark.directives import variant
from benchpark.experiment import Experiment


class Openimb(Experiment):
    variant(
        "workload",
        default="pingpong",
        values=("pingpong", "multi-pingpong", "exchange", "collective", "random"),
        multi=True,
        description="workloads available",
    )
    variant("version", default="0.1.0", values=("latest", "0.1.0"), description="app version")

    def compute_applications_section(self):
        # PingPong runs on two ranks; the other workloads use all cores.
        per_node = "1" if self.spec.satisfies("workload=pingpong") else "{sys_cores_per_node}"
        self.add_experiment_variable("n_nodes", 2, True)
        self.add_experiment_variable("n_ranks", f"{{n_nodes}}*{per_node}", True)
        self.add_experiment_variable("msglog_max", 22, False)
        self.set_required_variables(
            n_resources="{n_ranks}", process_problem_size="{msglog_max}", total_problem_size="{msglog_max}"
        )

    def compute_package_section(self):
        self.add_package_spec(self.name, [f"openimb{self.determine_version()}"])
