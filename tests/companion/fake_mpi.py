"""An MPI of shell scripts: its launcher writes the records of a PingPong without measuring anything.

Asked for its version, the suite prints nothing and the MPI that ranks are connected by $FAKE_TRANSPORTS (sm).
A launch takes FAKE_TIME microseconds (`--env FAKE_TIME=2`) and up to a percent more, by its number in the session: the
same order of launches gives the same figures. With $FAKE_TIMES, a file, each takes its time from the next line. It appends its FAKE_NAME to the file
$FAKE_LOG, and waits as long as the file $FAKE_HOLD is there, or $FAKE_HOLD-NAME. After its records it waits for the file
$FAKE_END, and fails without it. State probes of the launches whose numbers are in $FAKE_SLOW take 2.5 µs, those of others 1 µs.
"""

from __future__ import annotations

from pathlib import Path

from imb.model.records import End, MachineState, Passes, Rank, Result, Run, write

_LAUNCHER = r"""#!/bin/sh
[ "$1" = --version ] && { echo 'mpiexec (Open MPI) 5.0.9'; exit; }
time=1 name=launch ranks=2
while [ $# -gt 1 ]; do
    case $1 in FAKE_TIME=*) time=${1#*=};; FAKE_NAME=*) name=${1#*=};; -n) ranks=$2;; esac
    shift
done
[ "$1" = -version ] && { printf '  on-host:  all connections are %b\n' "${FAKE_TRANSPORTS:-sm}"; exit; }
echo "$name" >> "${FAKE_LOG:-/dev/null}"
[ -s "$FAKE_TIMES" ] && { read -r time < "$FAKE_TIMES"; sed -i 1d "$FAKE_TIMES"; }
left=6000
while [ -n "$FAKE_HOLD" ] && { [ -e "$FAKE_HOLD" ] || [ -e "$FAKE_HOLD-$name" ]; }; do
    [ $((left -= 1)) -gt 0 ] || { echo "still held after two minutes" >&2; exit 1; }
    sleep 0.02
done
number=${1%.part/*} number=1${number##*/}
case $number in *[!0-9]*) number=1;; esac
case " $FAKE_SLOW " in *" $((number % 10000)) "*) probe=2.5;; *) probe=1;; esac
sed "s/:77\.0\([],}]\)/:$time.00$((number * 7 % 10))e-6\1/g; s/:55\.0,/:${probe}e-6,/g" "${0%/*}/records-$ranks" > "$1"
left=250
while [ -n "$FAKE_END" ] && [ ! -e "$FAKE_END" ]; do
    [ $((left -= 1)) -gt 0 ] || { echo "no $FAKE_END after five seconds" >&2; exit 1; }
    sleep 0.02
done
"""


def make(folder: Path, hosts: tuple[str, ...] = ("here", "here")) -> list[object]:
    """The options --mpi and --programs of an MPI in this new folder, whose ranks say they are on these hosts."""
    (folder / "bin").mkdir(parents=True)
    scripts = {"mpicxx": "#!/bin/sh\necho c++\n", "mpiexec": _LAUNCHER}
    scripts |= {f"IMB-{component}": "#!/bin/sh\n" for component in ("MPI1", "RMA")}
    for name, text in scripts.items():
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    for ranks in (2, 4):
        (folder / "bin" / f"records-{ranks}").write_bytes(records(77.0, hosts * (ranks // 2)))
    return ["--mpi", folder, "--programs", folder / "bin"]


def records(
    seconds: float,
    hosts: tuple[str, ...] = ("here", "here"),
    rows: int = 1,
    *,
    passes: bool = False,
    arrival: str | None = None,
) -> bytes:
    """A whole PingPong of so many lengths, each of which takes so long; in passes, all in one state of the machine. `arrival`: of
    the ranks, with -sync_start clock."""
    state = Passes(samples=100, used=100, states=[MachineState(55.0, 100, seconds)])
    run = Run(component="MPI1", ranks=[Rank(number, host) for number, host in enumerate(hosts)])
    if arrival:
        run.options = {"sync_start": "clock", "arrival": arrival}
    lines = [
        Result(
            benchmark="PingPong",
            multi="off",
            processes=2,
            group_count=1,
            bytes=8 << row,
            time_avg_seconds=seconds,
            passes=state if passes else None,
        )
        for row in range(rows)
    ]
    return write([run, *lines, End(state="complete", measured=rows)])
