"""The path of messages: launches whose bytes are known because they were made, and real ones."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import lab
import pytest
from companion import fake_mpi
from companion.door import Imb
from companion.machines import launch as made
from companion.machines import row, save
from imb.diagnose import Finding, diagnose
from imb.model import path
from imb.model.conditions import Interface, conditions_of
from imb.model.observations import Launch, Side, launches_of
from imb.model.records import End, Evidence, InterfaceBytes, Passes, Record, Records, Result, Run, write
from imb.mpi.host_conditions import interfaces
from imb.runner import transports
from imb.store.store import Archive

ONE, TWO = ("a", "a"), ("a", "b")
LENGTHS = (0, 8, 4096, 65536, 1048576)
WIRE = 1.05  # what headers make of a byte


def carried(name: str, share: float, host: str = "a", noise: float = 0.0) -> tuple[str, str, float, float]:
    """An interface that counts this share of the bytes, and `noise` bytes per second besides."""
    return name, host, share, noise


def pingpong(*interfaces: tuple[str, str, float, float], seconds: float = 1e-4, **more: Any) -> list[Record]:
    """PingPong of which these interfaces counted shares; both ways pass each of them. With interfaces of two hosts, each
    counts as its own what it sends and what it receives."""
    rows: list[Record] = []
    for n in LENGTHS:
        one = row("PingPong", 2, n, seconds, "single_transfer", **more)
        asked, elapsed = 2 * n * path.repetitions_of(one), path.seconds_of(one)
        one.evidence = Evidence(
            interfaces=[
                InterfaceBytes(host, name, share * asked + noise * elapsed, share * asked + noise * elapsed)
                for name, host, share, noise in interfaces
                if share * asked + noise * elapsed > 0
            ]
            or None
        )
        rows.append(one)
    return rows


def launched(
    rows: list[Record], hosts: tuple[str, ...] = ONE, there: tuple[str, ...] = ("lo", "eth0"), **facts: Any
) -> Launch:
    first, *others = made(rows, hosts=hosts)
    assert isinstance(first, Run)
    seen: set[str] = set()
    for rank in first.ranks or []:
        if rank.host not in seen:
            rank.interfaces = list(there)
        seen.add(rank.host)
    [found] = launches_of(Records([first, *others], []), "launch", facts)
    return found


def the_way(one: Launch) -> path.MessagePath:
    [found] = path.message_paths(one.run, one.rows.values())
    return found


def findings(*launches: Launch) -> list[Finding]:
    return [one for one in diagnose(Side(name="side", launches=launches)).findings if one.rule == "path"]


def known(*interfaces: Interface) -> dict[str, Any]:
    """Facts of a launch on a host with these."""
    return {"interfaces": [{"name": i.name, "rdma": i.rdma, "up": i.up, "addressed": i.addressed, "speed": i.speed} for i in interfaces]}  # fmt: skip


def interface(name: str, gigabits: float, **more: Any) -> Interface:
    return Interface(name=name, **{"up": True, "addressed": True, "speed": gigabits * 1e9, **more})


# ---------------------------------------------------------------- the rule


def test_nothing_counted_is_shared_memory() -> None:
    way = the_way(launched(pingpong(carried("lo", 0.0, noise=5e4))))
    assert (way.name, way.placement) == ("shared memory", "intra-node")
    assert way.asked == sum(2 * n * 100 for n in LENGTHS if n >= 4096)


def test_loopback_is_tcp() -> None:
    assert str(the_way(launched(pingpong(carried("lo", 1.001))))) == "loopback TCP"


@pytest.mark.parametrize("noise", [0.0, 1e8, 5e10])
@pytest.mark.parametrize("share", [0.0, 1.02])
def test_background_is_not_taken_for_messages(noise: float, share: float) -> None:
    """Also where another job moves more bytes over the same interface than the launch."""
    way = the_way(launched(pingpong(carried("lo", share, noise=noise))))
    assert way.name == ("loopback TCP" if share else "shared memory")


def test_one_disturbed_row_does_not_decide() -> None:
    rows = pingpong(carried("lo", 0.0))
    assert isinstance(rows[3], Result)
    rows[3].evidence = Evidence(interfaces=[InterfaceBytes("a", "lo", 1e9, 1e9)])
    assert the_way(launched(rows)).name == "shared memory"


def test_messages_between_hosts_take_the_interface_that_counted_them() -> None:
    rows = pingpong(carried("eth0", WIRE / 2, "a"), carried("eth0", WIRE / 2, "b"), carried("lo", 3, "a"))
    way = the_way(launched(rows, TWO))
    assert (way.placement, way.name) == ("inter-node", "eth0")
    assert way.share == pytest.approx(WIRE)


def test_rails_have_shares() -> None:
    both = [
        carried(name, share * WIRE / 2, host)
        for name, share in (("mlx5_0", 0.75), ("mlx5_1", 0.25))
        for host in TWO
    ]
    assert str(the_way(launched(pingpong(*both), TWO))) == "mlx5_0 and mlx5_1 (75 %, 25 %)"


def test_layers_are_not_rails() -> None:
    """A bond counts what its members count."""
    every = [
        carried(name, share / 2, host)
        for name, share in (("bond0", 1.05), ("eth0", 0.52), ("eth1", 0.53))
        for host in TWO
    ]
    way = the_way(launched(pingpong(*every), TWO))
    assert (way.name, way.above) == ("eth0 and eth1", ["bond0"])
    assert way.share == pytest.approx(1.05)


def test_a_third_of_the_bytes_is_in_part() -> None:
    assert the_way(launched(pingpong(carried("lo", 0.35)))).name == "in part loopback TCP"


def test_what_cannot_be_known_is_unknown() -> None:
    short = [one for one in pingpong(carried("lo", 0)) if isinstance(one, Result) and (one.bytes or 0) < 4096]
    assert "no message of 4096 bytes" in the_way(launched(list(short))).why
    few = [
        one
        for one in pingpong(carried("lo", 0), repetitions=10)
        if isinstance(one, Result) and one.bytes == 4096
    ]
    assert "too few" in the_way(launched(list(few))).why
    assert "no counters" in the_way(launched(pingpong(), there=())).why
    assert (
        "no interface counted" in the_way(launched(pingpong(), TWO)).why
    )  # one memory, or an adapter that counts not
    assert path.message_paths(Run(), []) == []


def test_passes_count_all_samples() -> None:
    rows = pingpong(carried("lo", 1.0), passes=Passes(samples=40, used=20))
    way = the_way(launched(rows))
    assert way.asked == sum(2 * n * 100 * 40 for n in LENGTHS if n >= 4096)
    assert way.name == "loopback TCP"


@pytest.mark.parametrize(
    ("benchmark", "processes", "asked"),
    [
        ("PingPong", 2, 2),
        ("PingPing", 2, 2),
        ("Sendrecv", 4, 4),
        ("Exchange", 4, 8),
        ("Uniband", 4, 2 * 256),
        ("Biband", 4, 4 * 256),
        ("Bcast", 4, 3),
        ("Iallreduce_pure", 4, 6),
        ("Alltoallv", 4, 12),
        ("Unidir_put", 2, 1),
        ("Bidir_Get", 2, 2),
        ("All_put_all", 3, 6),
    ],
)
def test_bytes_asked_for(benchmark: str, processes: int, asked: int) -> None:
    """Counted by hand from the patterns of docs/methodology.md; collectives: what has to move at least."""
    one = row(benchmark, processes, 1000, 1e-6, "collective")
    assert path.traffic_of(one, dict.fromkeys(range(processes), "a")) == (asked * 1000 * 100, 0)
    apart = {rank: str(rank) for rank in range(processes)}
    assert path.traffic_of(one, apart) == (0, asked * 1000 * 100)


def test_a_ring_over_two_hosts_asks_for_both() -> None:
    one = row("Sendrecv", 4, 1000, 1e-6, "parallel_transfer")
    assert path.traffic_of(one, {0: "a", 1: "a", 2: "b", 3: "b"}) == (200000, 200000)
    assert (
        path.traffic_of(row("Bcast", 4, 1000, 1e-6, "collective"), {0: "a", 1: "a", 2: "b", 3: "b"}) is None
    )
    mapped = row("PingPong", 2, 1000, 1e-6, "single_transfer", groups=[[0, 2]])
    assert path.traffic_of(mapped, {0: "a", 1: "a", 2: "b", 3: "b"}) == (0, 200000)


# ---------------------------------------------------------------- what the machine offers


def test_tcp_within_a_node_is_a_warning_with_its_setting() -> None:
    one = launched(pingpong(carried("lo", 1.0)), conditions={"environment": {"OMPI_MCA_btl": "self,tcp"}})
    [found] = findings(one)
    assert found.level == "warning" and found.found.startswith("TCP over loopback between ranks of one node")
    assert "OMPI_MCA_btl=self,tcp" in found.found
    assert not findings(launched(pingpong(carried("lo", 0.0))))


def between(name: str, *there: Interface, listed: tuple[str, ...] = ("lo", "eth0", "eth1")) -> list[Finding]:
    rows = pingpong(carried(name, WIRE / 2, "a"), carried(name, WIRE / 2, "b"))
    return findings(launched(rows, TWO, listed, conditions=known(*there)))


def test_one_of_two_rails_is_a_warning() -> None:
    rails = [interface("eth0", 10), interface("eth1", 10)]
    [found] = between("eth0", *rails)
    assert "one of two rails: eth0, not eth1" in found.found
    assert not between("eth0", rails[0])
    for idle in (
        interface("eth1", 1),
        interface("eth1", 10, up=False),
        interface("eth1", 10, addressed=False),
        interface("docker0", 10),
    ):
        assert not between("eth0", rails[0], idle), idle
    both = [carried(name, WIRE / 4, host) for name, host in itertools.product(("eth0", "eth1"), TWO)]
    assert not findings(launched(pingpong(*both), TWO, conditions=known(*rails)))


def test_the_slower_of_two_is_a_warning() -> None:
    [found] = between("eth1", interface("eth0", 100), interface("eth1", 10))
    assert "eth1 though eth0 (100 Gb/s) is faster" in found.found


def test_ethernet_beside_rdma_is_a_warning() -> None:
    """By the conditions, or, where these say nothing, by the names that the ranks' hosts list."""
    adapter = Interface(name="mlx5_0", rdma=True, up=True, speed=200e9)
    assert "eth0 though mlx5_0 is there" in between("eth0", interface("eth0", 10), adapter)[0].found
    assert "eth0 though mlx5_0 is there" in between("eth0", listed=("lo", "eth0", "mlx5_0"))[0].found
    down = Interface(name="mlx5_0", rdma=True, up=False)
    assert not between("eth0", interface("eth0", 10), down, listed=("lo", "eth0", "mlx5_0"))
    assert not between("mlx5_0", interface("eth0", 10), adapter)


def test_interfaces_are_a_condition() -> None:
    said = conditions_of(
        launched(pingpong(), conditions=known(interface("eth0", 10), interface("eth1", 1, up=False)))
    )
    assert said["interfaces"] == "eth0 (10 Gb/s), eth1 (down)"
    assert "interfaces" not in conditions_of(launched(pingpong(), conditions={"interfaces": ["what"]}))


def test_launches_of_different_paths_are_told() -> None:
    several = [launched(pingpong(carried("lo", share))) for share in (0.0, 0.0, 1.0)]
    ways, tcp = findings(*several)
    assert "shared memory in 2, loopback TCP in 1" in ways.found
    assert "in 1 of 3 launches" in tcp.found
    assert conditions_of(several[2])["path"] == "intra-node: loopback TCP"


def test_show_has_the_path_on_a_line(imb: Imb, tmp_path: Path) -> None:
    one = launched(pingpong(carried("lo", 1.0)))
    file = save(tmp_path / "made.jsonl", [one.run, *one.rows.values()])
    assert imb("import", file).code == 0
    name = Archive(tmp_path / "archive").ids()[0]
    assert "path         within a host: loopback TCP" in imb("show", name, "--no-chart").out


def launched_by_fake(tmp_path: Path, *more: object) -> list[object]:
    """`imb run` of an MPI whose launches have these rows."""
    one = launched(pingpong(carried("lo", 1.0)))
    options = fake_mpi.make(tmp_path / "mpi")
    rows: list[Record] = [one.run, *one.rows.values(), End(state="complete", measured=len(LENGTHS))]
    (tmp_path / "mpi" / "bin" / "records-2").write_bytes(write(rows))
    return ["run", "PingPong", *options, "--label", "x", *more]


def test_the_transports_that_the_mpi_reports_are_beside_the_path(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_TRANSPORTS", r"tcp\033[31m")
    monkeypatch.setenv("OMPI_MCA_btl", "self,tcp")
    monkeypatch.delenv("OMPI_MCA_mtl", raising=False)
    assert imb(*launched_by_fake(tmp_path)).code == 0
    word = "the MPI itself: on-host tcp?[31m"
    shown = imb("show", "x", "--no-chart").out
    assert f"path         within a host: loopback TCP ({word}; OMPI_MCA_btl=self,tcp)\n" in shown
    found = " ".join(imb("diagnose", "x").out.split())  # folded
    assert f"; {word}; settings of the MPI: OMPI_MCA_btl" in found
    assert imb("report", "x", "-o", tmp_path / "r.html").code == 0
    page = (tmp_path / "r.html").read_text()
    assert re.search(
        r'<th scope="row">path of messages</th><td>intra-node: loopback TCP</td></tr>\s*'
        r'<tr><th scope="row">transports reported by the MPI</th><td>on-host tcp\?\[31m</td>',
        page,
    )


def test_transports_are_asked_for_once_in_a_session(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    own = transports.ask_transports

    def answered(*words: Any) -> tuple[str | None, bool]:
        asked.append(words)
        return own(*words)

    monkeypatch.setattr(transports, "ask_transports", answered)
    assert imb(*launched_by_fake(tmp_path), "--launches", "3").code == 0
    assert len(asked) == 1 and len(archive.ids()) == 3
    stored = {archive.run(name).facts()["conditions"]["transports"] for name in archive.ids()}
    assert stored == {"on-host sm"}


def test_an_mpi_that_reports_no_transports(imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_TRANSPORTS", "n/a")
    for name in ("OMPI_MCA_btl", "OMPI_MCA_mtl"):
        monkeypatch.delenv(name, raising=False)
    assert imb(*launched_by_fake(tmp_path)).code == 0
    assert "loopback TCP (the MPI itself: not stated)\n" in imb("show", "x", "--no-chart").out


def test_ctrl_c_while_transports_are_asked_for(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The launch before it is over and stored; the next one is not made."""
    monkeypatch.setattr(transports, "ask_transports", lambda *words: (None, True))
    said = imb(*launched_by_fake(tmp_path), "--launches", "2")
    assert said.code == 130 and re.search(
        r"\nimb: interrupted; continue with `imb run --resume \S+`\n$", said.err
    ), said
    assert [archive.run(name).facts()["outcome"] for name in archive.ids()] == ["measured"]
    monkeypatch.undo()
    monkeypatch.setenv("IMB_ARCHIVE", str(archive.folder))
    assert imb("run", "--resume").code == 0 and len(archive.ids()) == 2


def test_interfaces_of_this_machine(tmp_path: Path) -> None:
    port = tmp_path / "mlx5_0/ports/1"
    port.mkdir(parents=True)
    (port / "rate").write_text("200 Gb/sec (4X HDR)\n")
    (port / "state").write_text("4: ACTIVE\n")
    found = {one.name: one for one in interfaces(tmp_path)}
    assert found["lo"].up and found["lo"].addressed
    assert found["mlx5_0"] == Interface(name="mlx5_0", rdma=True, up=True, speed=200e9)
    assert str(found["mlx5_0"]) == "mlx5_0 (200 Gb/s)"


# ---------------------------------------------------------------- real launches

TCP = {
    "openmpi": ["--env", "OMPI_MCA_pml=ob1", "--env", "OMPI_MCA_btl=self,tcp"],
    "mpich": [
        "--env",
        "MPIR_CVAR_NOLOCAL=1",
        "--env",
        "MPIR_CVAR_CH4_NETMOD=ofi",
        "--env",
        "FI_PROVIDER=tcp",
    ],
}


@pytest.mark.parametrize("forced", [False, True], ids=["default", "tcp"])
def test_the_path_of_a_launch(mpi: lab.Mpi, imb: Imb, archive: Archive, forced: bool) -> None:
    words = ["--mpi", mpi.wrapper, "--programs", mpi.build / "bin", "--np", "2"]
    words += TCP[mpi.key] if forced else []
    short = ["--", "-msglog", "12:16", "-passes", "3", "-budget", "30"]
    assert imb("run", "PingPong", *words, *short).code == 0
    [run] = archive.ids()
    shown = imb("show", run, "--no-chart").out
    said = imb("diagnose", run).out
    assert f"within a host: {'loopback TCP' if forced else 'shared memory'}" in shown, shown
    assert ("TCP over loopback between ranks of one node" in said) == forced
    assert not forced or TCP[mpi.key][-1] in said
    # MPICH reports its transport between hosts only.
    own = {"openmpi": ("on-host sm", "on-host tcp"), "mpich": ("netmod ucx", "provider tcp")}[mpi.key][forced]
    assert f"(the MPI itself: {own}" in shown
