"""Knowledge about each MPI, one class per MPI. The functions turn text and settings into text and settings; they execute nothing.

The import needs only the standard library, since tools/setup.py uses this module before anything is installed.
Sources: the manual pages of Hydra's and Open MPI's mpiexec and of prterun, the reference of Intel MPI, Open MPI's `hook comm_method`
component (ompi_display_comm), MPICH's MPIR_CVAR_DEBUG_SUMMARY, Intel MPI's I_MPI_DEBUG, the manual page intro_mpi of Cray MPICH.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from imb.model.schedulers import JOB_ID

if (
    TYPE_CHECKING
):  # an old Python lacks some of these, and tools/setup.py must still be able to report the old Python
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeAlias

    from imb.model.intent import Intent

    # Program and arguments -> the output of this program of an installed MPI, or None if the MPI has no such program.
    Ask: TypeAlias = Callable[..., str | None]
    # Variable -> value, or None for a secret: the launcher's environment passes it, since other users can see arguments.
    Variables: TypeAlias = Mapping[str, str | None]

GPU_TITLES = {"cuda": "CUDA", "rocm": "ROCm"}
OFF = ("", "0", "no", "off", "false")


class Host(NamedTuple):
    """Where a launcher runs. `cores`: cores per host; `root`: whether root launches; `nodes`: nodes in the allocation, 0 if unknown."""

    cores: int
    root: bool = False
    nodes: int = 0


class BinaryInterface(NamedTuple):
    """A binary interface (ABI) of MPI. `libraries`: file names of MPI libraries that implement it."""

    key: str
    title: str
    libraries: tuple[str, ...]


STANDARD_INTERFACE = BinaryInterface("mpi-abi", "MPI ABI", ("libmpi_abi.so.1",))


class GpuSetting(NamedTuple):
    """A variable that switches support of GPU memory on or off. `needed`: support is off unless it is set; `rocm`: it also applies to AMD GPUs."""

    name: str
    needed: bool
    rocm: bool


class GpuAnswer(NamedTuple):
    """Whether an MPI supports GPU memory. `answer`: yes, no or unknown; `source`: the evidence; `change`: what the user can do if it is no."""

    answer: str
    source: str
    change: str = ""


def join_patterns(marks: Iterable[str]) -> str:
    """One regular expression that matches any of the patterns; empty ones are skipped."""
    return "|".join(filter(None, dict.fromkeys(marks)))


class MpiLibrary:
    """An unknown MPI: the defaults. A subclass overrides them for its MPI."""

    key = "other"  # its name in stored plans and set-ups
    title = ""  # followed by the version: the name of an installation
    names: tuple[str, ...] = ()  # names by which users choose it; messages use the first
    launcher_version = ""  # matches the output of its launcher's --version; the first group is the version
    name_pattern = r"MVAPICH\d*"  # matches the name in the text of MPI_Get_library_version
    package = ""  # the Python package with library and launcher
    interface: BinaryInterface | None = None
    old_libraries: tuple[
        str, ...
    ] = ()  # earlier libraries; its launcher still starts programs that are linked with them
    has_launcher = False
    srun_plugin = "pmi2"  # for srun --mpi
    settings = "MV2"  # prefixes of variables that may change results
    variables: tuple[
        str, ...
    ] = ()  # prefixes of variables that it reads; MPIs without such a prefix here ignore the variable
    public_settings = ""  # variables that look like secrets by their names, but are not
    transport_settings = ""  # variables with which a user or a site chooses transports and devices
    job_variables = ""  # variables that its launcher sets to describe the job
    launcher_choice = ""  # variables that choose what starts ranks
    prefix_variable = ""  # the variable in which its module or script stores the installation folder
    macros: tuple[str, ...] = ()  # macros that identify its mpi.h
    shared_memory = ""  # the setting that switches shared memory on
    interface_setting = ""  # the setting that names the interfaces for TCP
    transport_choice = ""  # variables that advice suggests to try
    eager_limit = ""
    algorithm_choice = ""
    progress_thread = ""
    report: Mapping[str, str] = {}  # variables that make ranks print their transports
    gpu_setting: GpuSetting | None = None
    host_options: frozenset[str] = frozenset()  # launcher arguments that name hosts
    named_options: frozenset[str] = (
        frozenset()
    )  # launcher arguments, without hyphens, that are followed by a name and a value
    assigning_options: frozenset[str] = frozenset()  # launcher arguments that are followed by NAME=VALUE
    option_synonyms: Mapping[str, str] = {}
    refusal = ""  # matches what its launcher prints if it rejects its arguments
    restricting: frozenset[str] = frozenset()  # launcher arguments with which ranks do not get all variables
    root_arguments: tuple[str, ...] = ()
    oversubscribe: tuple[str, ...] = ()  # for more ranks than cores

    def leftover_folder(self, pid: int) -> str:
        """The name of the temporary folder that a killed launcher with this process id leaves and that would block the next launch; or empty."""
        return ""

    def environment(self, prefix: str) -> dict[str, str]:
        """Variables that the compiler wrapper, launcher and programs of an installation need."""
        return {}

    def arguments(
        self, intent: Intent, variables: Variables, program: Sequence[str], host: Host, major: int
    ) -> list[str]:
        """The launcher's arguments, then the program. `major`: major version of the launcher."""
        raise NotImplementedError(self.key)

    def split_secrets(
        self, group: list[str], is_secret: Callable[[str], bool]
    ) -> tuple[list[str], dict[str, str]]:
        """Divides an option and its values (`group`): returns it without the values of secret variables, and these variables with their values."""
        return group, {}

    def reported_transports(self, text: str) -> list[str]:
        """The transports in the text that ranks print with `report`."""
        return []

    def built_transports(self, ask: Ask, variables: Mapping[str, str]) -> str:
        """The transports that the library was built with; empty if unknown."""
        return ""

    def gpu_support(self, ask: Ask, variables: Mapping[str, str], api: str | None) -> GpuAnswer:
        """Whether it handles GPU memory. `api`: cuda or rocm, or None for any GPU."""
        return GpuAnswer("unknown", "no setting of this MPI is known")

    def gpu_switch(self, variables: Mapping[str, str]) -> GpuAnswer:
        """The support of GPU memory according to `gpu_setting` alone."""
        assert self.gpu_setting
        name, needed, _ = self.gpu_setting
        value = variables.get(name)
        source = f"{name} is not set" if value is None else f"{name}={_readable_value(value)}"
        off = needed if value is None else value in OFF
        return GpuAnswer("no", source, f"set {name}=1") if off else GpuAnswer("yes", source)


class OpenMpi(MpiLibrary):
    key = "openmpi"
    title = "Open MPI"
    names = ("openmpi", "ompi")
    launcher_version = r"(?:Open MPI|OpenRTE)\) (\S+)"
    name_pattern = "Open MPI"
    package = "openmpi"
    interface = BinaryInterface("openmpi", "Open MPI ABI", ("libmpi.so.40",))
    old_libraries = ("libmpi.so.20", "libopen-pal.so")
    has_launcher = True
    srun_plugin = "pmix"  # it supports only PMIx
    settings = "OMPI_MCA|PRTE_MCA|PMIX_MCA"
    variables = ("OMPI_MCA_",)
    public_settings = r"(?:(?:OMPI|PRTE)_MCA_)?plm_(?:rsh|ssh)_pass_(?:libpath|environ_mca_params)"
    transport_settings = (
        r"OMPI_MCA_(pml|mtl|btl|osc|btl_tcp_if_(in|ex)clude|pml_ucx_(tls|devices))"  # and UCX's settings
    )
    job_variables = (
        r"OMPI_MCA_(orte_(\w+_uri|precondition_transports|jobfam_session_dir|app_num|num_nodes|launch|bound_at_launch|ess_\w+"
        r"|tmpdir_base|top_session_dir)|ess_base_\w+|num_restarts|initial_wdir|ess|pmix|shmem_RUNTIME_QUERY_hint"
        r"|mpi_oversubscribe|PREFIXES|num_procs|cpu_type)|PMIX_MCA_(psec|gds|mca_base_component_show_load_errors)"
    )
    launcher_choice = r"(OMPI|PRTE)_MCA_(plm|ras|schizo)"
    shared_memory = "btl self,sm or pml ucx of Open MPI"
    interface_setting = "btl_tcp_if_include of Open MPI"
    macros = ("OMPI_SKIP_MPICXX",)
    transport_choice = "OMPI_MCA_pml, OMPI_MCA_btl"
    eager_limit = "btl_*_eager_limit"
    algorithm_choice = "coll_tuned_*_algorithm"
    report: Mapping[str, str] = {  # the first is for Open MPI 5, the second for 4.1
        "OMPI_MCA_ompi_display_comm": "mpi_init",
        "OMPI_MCA_hook_comm_method_enable_mpi_init": "1",
    }
    host_options = frozenset({"-host", "--host", "-hostfile", "--hostfile", "-machinefile", "--machinefile"})
    named_options = frozenset({"mca", "gmca", "omca", "gomca", "prtemca", "gprtemca", "pmixmca", "gpmixmca"})
    assigning_options = frozenset({"x"})
    option_synonyms: Mapping[str, str] = {"omca": "mca", "gomca": "gmca"}
    refusal = (
        r"unrecognized option was included|more than once on the command line|command line option requires"
        r"|(?:directive|policy) is not recognized"
        r"|correct your command line|Type '[^']* --help' for usage|listed multiple times on the\s+command line"
    )
    root_arguments = ("--allow-run-as-root",)
    oversubscribe = ("--oversubscribe",)

    def leftover_folder(self, pid: int) -> str:
        """Open MPI 5's launcher removes this folder unless it is killed."""
        return f"ompi.{pid}"

    def arguments(
        self, intent: Intent, variables: Variables, program: Sequence[str], host: Host, major: int
    ) -> list[str]:
        crowded = intent.per_host(host.nodes) > host.cores
        words = list(self.root_arguments if host.root else ())
        if crowded and not (intent.ppn and major >= 5):
            words += self.oversubscribe
        if intent.hosts:
            words += ["--host", ",".join(f"{name}:{intent.per_host()}" for name in intent.hosts)]
        if intent.ppn:
            # Since 5.0, --oversubscribe counts as a --map-by, and only one is allowed.
            words += ["--map-by", f"ppr:{intent.ppn}:node" + ":OVERSUBSCRIBE" * (crowded and major >= 5)]
        # In some versions, --cpu-set and pe-list count cores. taskset always takes the system's CPU numbers.
        bind: str | None = "none" if intent.cpus or (crowded and not intent.bind) else intent.bind
        if bind:
            words += ["--bind-to", "package" if bind == "socket" and major >= 5 else bind]
        for name, value in variables.items():
            words += ["-x", name if value is None else f"{name}={value}"]
        words += intent.extra
        if not intent.cpus:
            return [*words, "-n", str(intent.ranks), *program]
        if len(set(intent.cpus)) == 1:
            return [*words, "-n", str(intent.ranks), "taskset", "-c", str(intent.cpus[0]), *program]
        for rank in range(intent.ranks):
            cpu = str(intent.cpus[rank % len(intent.cpus)])
            words += [*([":"] if rank else []), "-n", "1", "taskset", "-c", cpu, *program]
        return words

    def split_secrets(
        self, group: list[str], is_secret: Callable[[str], bool]
    ) -> tuple[list[str], dict[str, str]]:
        option, values = group[0].lstrip("-"), group[1:]
        if option == "x" and values and "=" in values[0]:
            name, _, value = values[0].partition("=")
            if is_secret(name):
                return [group[0], name, *values[1:]], {name: value}
        return group, {}

    def reported_transports(self, text: str) -> list[str]:
        pairs = re.findall(r"^\s*(on|off)-host:\s+(?:all connections are )?(.+?)\s*$", text, re.MULTILINE)
        return [f"{place}-host {name[:60]}" for place, name in pairs if name != "n/a"]

    def built_transports(self, ask: Ask, variables: Mapping[str, str]) -> str:
        components = re.findall(
            r"^mca:(pml|btl|mtl):(\w+):version:", ask("ompi_info", "--parsable") or "", re.MULTILINE
        )
        kinds = {
            kind: sorted({name for k, name in components if k == kind and name != "self"})
            for kind in ("pml", "mtl", "btl")
        }
        return "; ".join(f"{kind} {', '.join(names)}" for kind, names in kinds.items() if names)

    def gpu_support(self, ask: Ask, variables: Mapping[str, str], api: str | None) -> GpuAnswer:
        text = ask("ompi_info", "--parsable", "--all")
        if text is None:
            return GpuAnswer("unknown", "there is no ompi_info")
        built = re.search(r"mpi_built_with_cuda_support:value:(\w+)", text)
        parts = sorted(set(re.findall(r"^mca:accelerator:(\w+):version:", text, re.MULTILINE)) - {"null"})
        lists_parts = "mca:accelerator:" in text  # since version 5; older versions report only CUDA
        if not lists_parts and (not built or api == "rocm"):
            title = GPU_TITLES.get(api or "", "CUDA")
            return GpuAnswer("unknown", f"ompi_info does not show {title} or accelerators")
        words = [f"mpi_built_with_cuda_support {built[1]}"] if built else []
        words += [f"accelerator components: {', '.join(parts) or 'none'}"] if lists_parts else []
        source = f"ompi_info: {'; '.join(words)}"
        handled = {*parts, *(["cuda"] if built and built[1] == "true" else [])}
        if api in handled or (api is None and handled):
            return GpuAnswer("yes", source)
        options = _options(api, ("cuda", "rocm"))
        return GpuAnswer("no", source, f"use an Open MPI that was configured {options}")


class Hydra(MpiLibrary):
    """What MPICH and Intel MPI share: the launcher and the binary interface."""

    interface = BinaryInterface("mpich", "MPICH ABI", ("libmpi.so.12", "libmpich.so.12"))
    has_launcher = True
    macros = ("MPICH_SKIP_MPICXX",)
    launcher_choice = r"(I_MPI_)?HYDRA_(LAUNCHER|BOOTSTRAP|RMK)(_EXEC)?"
    host_options = frozenset({"-f", "-hosts", "-host", "-hostfile", "-machinefile"})
    named_options = frozenset({"env", "genv"})
    refusal = "error parsing parameters"
    restricting = frozenset({"genvnone", "genvlist", "envnone", "envlist", "genvexcl"})

    def arguments(
        self, intent: Intent, variables: Variables, program: Sequence[str], host: Host, major: int
    ) -> list[str]:
        words = ["-n", str(intent.ranks)]
        words += ["-hosts", ",".join(intent.hosts)] if intent.hosts else []
        words += ["-ppn", str(intent.ppn)] if intent.ppn else []
        pinning, pins = self.pinning(intent)
        words += pinning
        for name, value in {**pins, **variables}.items():
            words += ["-genv", name, value] if value is not None else []
        return [*words, *intent.extra, *program]

    def pinning(self, intent: Intent) -> tuple[list[str], dict[str, str]]:
        """Arguments and variables that pin ranks."""
        raise NotImplementedError(self.key)

    def split_secrets(
        self, group: list[str], is_secret: Callable[[str], bool]
    ) -> tuple[list[str], dict[str, str]]:
        option, values = group[0].lstrip("-"), group[1:]
        if option in ("genv", "env") and values:
            name, equals, value = values[0].partition("=")  # NAME=value or NAME value
            after = values[1:] if equals else values[2:]
            if is_secret(name) and (equals or len(values) > 1):
                return after, {name: value if equals else values[1]}
        return group, {}

    def reported_transports(self, text: str) -> list[str]:
        provider = re.search(r"libfabric provider: *([\w;]+)", text)  # `provider: NAME, score = ...`
        return [f"provider {provider[1]}"] if provider else []  # only lists candidates


class Mpich(Hydra):
    key = "mpich"
    title = "MPICH"
    names = ("mpich",)
    launcher_version = r"HYDRA[^$]*?Version:\s+(\S+)"
    name_pattern = "MPICH"
    package = "mpich"
    settings = "MPICH|MPIR_CVAR|HYDRA"
    variables = ("MPIR_CVAR_",)
    public_settings = r"(?:MPIR_CVAR|MPIR_PARAM|MPICH)_CH4_OFI_ENABLE_MR_PROV_KEY"
    transport_settings = r"MPIR_CVAR_(NOLOCAL|CH4_NETMOD|OFI_USE_PROVIDER|NETWORK_IFACE)"
    shared_memory = "MPIR_CVAR_NOLOCAL=0"
    transport_choice = "MPIR_CVAR_NOLOCAL"
    eager_limit = "MPIR_CVAR_*"
    algorithm_choice = "MPIR_CVAR_*_ALGORITHM"
    progress_thread = "MPIR_CVAR_ASYNC_PROGRESS"
    report: Mapping[str, str] = {"MPIR_CVAR_DEBUG_SUMMARY": "1"}
    gpu_setting = GpuSetting("MPIR_CVAR_ENABLE_GPU", needed=False, rocm=True)

    def pinning(self, intent: Intent) -> tuple[list[str], dict[str, str]]:
        if intent.cpus:
            return ["-bind-to", "user:" + ",".join(map(str, intent.cpus))], {}
        return (["-bind-to", intent.bind] if intent.bind else []), {}

    def reported_transports(self, text: str) -> list[str]:
        netmod = re.search(r"^==== (\w+) (?:netmod )?Capability", text, re.MULTILINE | re.IGNORECASE)
        return [*([f"netmod {netmod[1].lower()}"] if netmod else []), *super().reported_transports(text)]

    def built_transports(self, ask: Ask, variables: Mapping[str, str]) -> str:
        device = re.search(r"--with-device=(\S+?)['\s]", f"{ask('mpiexec', '--version')}\n")
        return f"device {device[1]}" if device else ""

    def gpu_support(self, ask: Ask, variables: Mapping[str, str], api: str | None) -> GpuAnswer:
        """Reads the configure line: the library supports at most one kind of GPU."""
        if (switch := self.gpu_switch(variables)).answer == "no":
            return switch
        program, text = "mpichversion", ask("mpichversion")
        if text is None:
            program, text = "mpiexec --version", ask("mpiexec", "--version") or ""
        options = re.findall(r"--(with(?:out)?)-(cuda|hip|ze)(=\S*?)?(?=['\s]|$)", text)
        source = f"{program}: {' '.join(f'--{how}-{name}{value}' for how, name, value in options)}"
        chosen = {name for how, name, value in options if how == "with" and value != "=no"}
        left_out = {name for _, name, _ in options} - chosen
        backend = {"cuda": "cuda", "rocm": "hip"}[api] if api else None
        named = _options(backend, ("cuda", "hip"))
        if backend in chosen or (backend is None and chosen):
            return GpuAnswer("yes", source)
        if chosen or (left_out if backend is None else backend in left_out):
            return GpuAnswer("no", source, f"use an MPICH that was configured {named}")
        if "onfigure" not in text:
            return GpuAnswer("unknown", f"{program} shows no configure options")
        return GpuAnswer(
            "unknown", f"{program}: configured without {named}, though configure may find the library itself"
        )


class IntelMpi(Hydra):
    key = "intel"
    title = "Intel MPI"
    names = ("intel", "impi")
    launcher_version = r"Intel\(R\) MPI Library.*?Version (\S+(?: Update \d+)?)"
    name_pattern = r"Intel(?=\(R\) MPI)"
    package = "impi-rt"
    settings = "I_MPI"
    variables = ("I_MPI_", *Mpich.variables)
    public_settings = "I_MPI_AUTH_METHOD"
    prefix_variable = "I_MPI_ROOT"
    eager_limit = "I_MPI_EAGER_THRESHOLD"
    algorithm_choice = "I_MPI_ADJUST_*"
    progress_thread = "I_MPI_ASYNC_PROGRESS"
    transport_settings = join_patterns((Mpich.transport_settings, r"I_MPI_(FABRICS|OFI_PROVIDER|SHM)"))
    report: Mapping[str, str] = {"I_MPI_DEBUG": "2"}
    gpu_setting = GpuSetting("I_MPI_OFFLOAD", needed=True, rocm=False)
    offload_mode = "I_MPI_OFFLOAD_MODE"  # auto, level_zero or cuda

    def environment(self, prefix: str) -> dict[str, str]:
        return {self.prefix_variable: prefix}

    def pinning(self, intent: Intent) -> tuple[list[str], dict[str, str]]:
        if intent.cpus:
            return [], {"I_MPI_PIN": "1", "I_MPI_PIN_PROCESSOR_LIST": ",".join(map(str, intent.cpus))}
        if intent.bind in (None, "none"):
            return [], {"I_MPI_PIN": "0"} if intent.bind else {}
        return [], {"I_MPI_PIN": "1", "I_MPI_PIN_DOMAIN": intent.bind}

    def built_transports(self, ask: Ask, variables: Mapping[str, str]) -> str:
        chosen = variables.get("FI_PROVIDER", "(chooses the provider itself; FI_PROVIDER names one)")
        return f"libfabric {chosen}"

    def gpu_support(self, ask: Ask, variables: Mapping[str, str], api: str | None) -> GpuAnswer:
        if api == "rocm":
            return GpuAnswer(
                "no",
                "Intel MPI does not support AMD GPUs",
                f"use an MPI that was configured {_options('hip', ())}",
            )
        switch, mode = self.gpu_switch(variables), variables.get(self.offload_mode, "auto")
        if switch.answer == "yes" and mode not in ("auto", "cuda"):
            source = f"{self.offload_mode}={_readable_value(mode)}"
            return GpuAnswer("no", source, f"set {self.offload_mode}=cuda")
        return switch


class CrayMpich(MpiLibrary):
    """Cray MPICH. It has no launcher; the system's launcher (srun) starts its programs."""

    title = "Cray MPICH"
    version = r"CRAY MPICH version (\S+)"  # in the output of mpichversion
    name_pattern = "Cray MPICH"
    settings = "MPICH"
    transport_settings = join_patterns((Mpich.transport_settings, r"MPICH_(NO_LOCAL|OFI_\w+|NETMOD\w*)"))
    gpu_setting = GpuSetting("MPICH_GPU_SUPPORT_ENABLED", needed=True, rocm=True)

    def gpu_support(self, ask: Ask, variables: Mapping[str, str], api: str | None) -> GpuAnswer:
        """Reads the setting. MPI_Init aborts if support is on and the program is not linked with the library for GPU access."""
        switch = self.gpu_switch(variables)
        library = f"libmpi_gtl_{'hsa' if api == 'rocm' else 'cuda'}.so"
        return (
            switch._replace(change=f"{switch.change} and LD_PRELOAD={library}") if switch.change else switch
        )


class Smpi(MpiLibrary):
    """SimGrid's simulator, for which the suite's tests are built."""

    key = "smpi"
    title = "SimGrid"
    launcher_version = r"SimGrid version (\S+)"
    name_pattern = "SMPI"


OPEN_MPI, MPICH, INTEL_MPI, CRAY_MPICH, OTHER = OpenMpi(), Mpich(), IntelMpi(), CrayMpich(), MpiLibrary()
# Messages list MPIs in this order. All lists of MPIs in other modules derive from it.
MPIS: tuple[MpiLibrary, ...] = (
    OPEN_MPI,
    MPICH,
    INTEL_MPI,
    CRAY_MPICH,
    Smpi(),
    OTHER,
)
WITH_LAUNCHER = tuple(mpi for mpi in MPIS if mpi.has_launcher)
INTERFACES = (*dict.fromkeys(mpi.interface for mpi in MPIS if mpi.interface), STANDARD_INTERFACE)
KEYS = frozenset({OTHER.key, *(mpi.key for mpi in WITH_LAUNCHER)})  # keys that an installation can have
*_FIRST_CHOICES, _LAST_CHOICE = (mpi.names[0] for mpi in MPIS if mpi.names)
CHOICES = f"{', '.join(_FIRST_CHOICES)} or {_LAST_CHOICE}"
_OTHER_PACKAGES = ", ".join(mpi.package for mpi in MPIS if mpi.package and mpi is not MPICH)
PACKAGES = f"`pip install {MPICH.package}` (or {_OTHER_PACKAGES})"

# Variables of libraries that several MPIs use: UCX, libfabric, PSM, OpenMP.
_SHARED_PUBLIC_SETTINGS = "FI_CXI_PROV_KEY_CACHE"
_SHARED_SETTINGS = "UCX|FI|PSM2?|HFI|IPATH|KMP|OMP"
_SHARED_TRANSPORT_SETTINGS = (
    r"UCX_(TLS|NET_DEVICES|MAX_RNDV_RAILS)|FI_(PROVIDER|TCP_IFACE|SOCKETS_IFACE|VERBS_IFACE)"
)


SETTINGS = re.compile(rf"({join_patterns(mpi.settings for mpi in MPIS)}|{_SHARED_SETTINGS})_\w+$")
TRANSPORT_SETTINGS = re.compile(
    rf"({join_patterns(mpi.transport_settings for mpi in MPIS)}|{_SHARED_TRANSPORT_SETTINGS})$"
)
LAUNCH_VARIABLES = re.compile(rf"({join_patterns(mpi.job_variables for mpi in MPIS)}|{JOB_ID})$")
LAUNCHER_CHOICES = re.compile(rf"({join_patterns(mpi.launcher_choice for mpi in MPIS)})$")
PUBLIC_SETTINGS = re.compile(
    join_patterns((*(mpi.public_settings for mpi in MPIS), _SHARED_PUBLIC_SETTINGS)), re.IGNORECASE
)
HOST_OPTIONS = frozenset(option for mpi in MPIS for option in mpi.host_options)
NAMED_OPTIONS = frozenset(option for mpi in MPIS for option in mpi.named_options)
ASSIGNING_OPTIONS = frozenset(option for mpi in MPIS for option in mpi.assigning_options)
OPTION_SYNONYMS = {option: usual for mpi in MPIS for option, usual in mpi.option_synonyms.items()}
PREFIX_VARIABLES = (*filter(None, (mpi.prefix_variable for mpi in MPIS)), "MPI_HOME", "MPI_ROOT")
MACROS = tuple(dict.fromkeys(macro for mpi in MPIS for macro in mpi.macros))
SHARED_MEMORY = "; ".join(
    (*filter(None, (mpi.shared_memory for mpi in MPIS)), "UCX_TLS with sm; FI_PROVIDER")
)
INTERFACE_SETTINGS = ", ".join(
    (*filter(None, (mpi.interface_setting for mpi in MPIS)), "UCX_NET_DEVICES, FI_TCP_IFACE")
)
TRANSPORT_CHOICES = ", ".join(
    ("UCX_TLS", *filter(None, (mpi.transport_choice for mpi in MPIS)), "FI_PROVIDER")
)
EAGER_LIMITS = ", ".join(("UCX_RNDV_THRESH", *filter(None, (mpi.eager_limit for mpi in MPIS))))
ALGORITHM_CHOICES = ", ".join(filter(None, (mpi.algorithm_choice for mpi in MPIS)))
PROGRESS_THREADS = ", ".join(filter(None, (mpi.progress_thread for mpi in MPIS)))
_LIBRARY = re.compile(rf"({join_patterns(mpi.name_pattern for mpi in MPIS)})\D*(\d[\w.]*)", re.IGNORECASE)


def mpi_of(key: str, version: str = "", variables: Mapping[str, str] | None = None) -> MpiLibrary:
    """The MPI with this key and version of an installation. Cray MPICH has the key of OTHER, so its version or the variable of its module
    identifies it."""
    cray = version.startswith(CRAY_MPICH.title) or "CRAY_MPICH_VERSION" in (variables or {})
    if key == OTHER.key and cray:
        return CRAY_MPICH
    return next((mpi for mpi in MPIS if mpi.key == key and mpi is not CRAY_MPICH), OTHER)


def chooses_transports(mpi: MpiLibrary, variable: str) -> bool:
    """Whether this variable chooses transports for this MPI or a library that it uses. An unknown MPI may read any such variable."""
    if mpi is OTHER:
        return TRANSPORT_SETTINGS.match(variable) is not None
    return (
        re.match(rf"({join_patterns((mpi.transport_settings, _SHARED_TRANSPORT_SETTINGS))})$", variable)
        is not None
    )


def ignored_variables(mpi: MpiLibrary, names: Iterable[str]) -> list[str]:
    """The variables that other MPIs read and this one ignores. An unknown MPI may read any variable."""
    foreign = tuple({start for other in MPIS for start in other.variables} - set(mpi.variables))
    return [] if mpi.key == OTHER.key else [name for name in names if name.startswith(foreign)]


def mpi_named(name: str) -> MpiLibrary | None:
    """The MPI with this user-visible name (`openmpi`, `impi`, ...), or None if there is none."""
    return next((mpi for mpi in MPIS if name in mpi.names), None)


def launcher_identity(text: str) -> tuple[MpiLibrary, str]:
    """The MPI of a launcher, and its name with version, from the output of `mpiexec --version`."""
    for mpi in MPIS:
        if mpi.launcher_version and (mark := re.search(mpi.launcher_version, text)):
            return mpi, f"{mpi.title} {mark[1]}"
    return OTHER, (text.strip().splitlines() or ["unknown"])[0]


def launching_mpis(libraries: str) -> tuple[MpiLibrary, ...]:
    """The MPIs whose launchers can start a program. `libraries`: the output of ldd for this program."""
    for mpi in WITH_LAUNCHER:
        known = (*(mpi.interface.libraries if mpi.interface else ()), *mpi.old_libraries)
        if re.search(rf"\b({join_patterns(map(re.escape, known))})(?!\d)", libraries):
            return tuple(other for other in WITH_LAUNCHER if other.interface == mpi.interface)
    return ()


def library_name(text: str) -> str:
    """`MPICH 5.0.2` from the text of MPI_Get_library_version (`MPICH Version: 5.0.2 ...`); the first line of an unknown text."""
    named = _LIBRARY.search(text)
    return f"{named[1]} {named[2]}" if named else text.partition("\n")[0]


def transports_in(mpi: MpiLibrary, text: str) -> str | None:
    """The transports in the text that ranks printed (`on-host sm`, `netmod ucx`, `provider tcp`), or None if it has none."""
    return ", ".join(mpi.reported_transports(text)) or None


def _readable_value(value: str) -> str:
    from imb.model.text import readable_text

    return readable_text(value)


def _options(name: str | None, others: tuple[str, ...]) -> str:
    return " or ".join(f"--with-{library}" for library in ((name,) if name else others))
