"""Launches that run at the same time and measure in turns: the server, what the suite does, what `imb` makes of both."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import lab
import psutil
import pytest
from companion import fake_mpi
from companion.door import Imb
from imb.model.records import Run
from imb.readers.formats import parse
from imb.runner import campaign_definition, planning, session
from imb.runner.interleave import TURN_LIMIT, Conductor
from imb.store.store import Archive

PATIENCE = 60  # seconds that a server of these tests waits for a launch

# --- The conductor -------------------------------------------------------------------------------------


class Player:
    """A launch of so many ranks that does nothing for a while in each of its turns."""

    def __init__(self, words: list[str], ranks: int, log: list[str], name: str) -> None:
        _, address, self.token = words[1].split(",")
        self.host, _, self.port = address.rpartition(":")
        self.ranks, self.log, self.name = ranks, log, name
        self.lines: list[socket.socket] = []

    def come(self) -> None:
        for _ in range(self.ranks):
            self.lines.append(socket.create_connection((self.host, int(self.port)), timeout=10))
            self.lines[-1].sendall(f"{self.token}\n".encode())

    def play(self, wishes: str) -> None:
        """Each wish is a turn; then the launch ends."""
        self.come()
        for wish in wishes:
            for line in self.lines:
                line.sendall(wish.encode())
            for line in self.lines:
                assert line.recv(1) == b"!"
            self.log.append(f"<{self.name}{wish}")
            time.sleep(0.002)
            self.log.append(">")
        for line in self.lines:
            line.close()


def played(*plays: Callable[[], None]) -> None:
    threads = [threading.Thread(target=play, daemon=True) for play in plays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads), "somebody waits for ever"


def test_one_at_a_time_and_rows_begin_together() -> None:
    log: list[str] = []
    with Conductor([2, 3, 1], seed=1) as conductor:
        players = [
            Player(conductor.words(side, 5), ranks, log, "abc"[side]) for side, ranks in enumerate([2, 3, 1])
        ]
        played(
            lambda: players[0].play("rpprpp"),
            lambda: players[1].play("rppprp"),
            lambda: players[2].play("rr"),
        )
    assert log[1::2] == [">"] * 14  # no launch began before the previous one had ended
    turns = [word[1:] for word in log[::2]]
    assert sorted(turns[:3]) == ["ar", "br", "cr"]
    second = min(i for i, turn in enumerate(turns[3:], 3) if turn.endswith("r"))
    assert sorted(turns[3:second]) == ["ap", "ap", "bp", "bp", "bp"]
    assert {"ap", "bp"} == set(turns[3:5])  # alternately
    assert sorted(turns[second : second + 3]) == ["ar", "br", "cr"]


def test_the_order_is_random_and_that_of_the_seed() -> None:
    def order(seed: int) -> list[str]:
        log: list[str] = []
        with Conductor([1, 1], seed) as conductor:
            players = [Player(conductor.words(side, 5), 1, log, "ab"[side]) for side in range(2)]
            played(*(functools.partial(player.play, "r" + "p" * 30) for player in players))
        return log[::2]

    first = order(3)
    assert first == order(3) != order(4)
    assert {"<ap", "<bp"} == set(first[2:]) and 10 < sum(
        a[1] != b[1] for a, b in itertools.pairwise(first)
    ) < 60


def test_nobody_waits_for_who_has_gone_or_never_came() -> None:
    log: list[str] = []
    with Conductor([1, 2, 1], seed=1) as conductor:
        a, b = (Player(conductor.words(side, 5), ranks, log, "ab"[side]) for side, ranks in ((0, 1), (1, 2)))

        def lose_a_rank() -> None:
            b.come()
            time.sleep(0.1)
            b.lines[1].sendall(b"r")
            b.lines[0].close()
            assert b.lines[1].recv(1) == b""  # told, so that it does not wait for ever either

        conductor.leave(2)  # could not be started
        played(lambda: a.play("rpppr"), lose_a_rank)
    assert [word[1:] for word in log[::2]] == ["ar", "ap", "ap", "ap", "ar"]


def test_strangers_are_sent_away() -> None:
    with Conductor([1], seed=1) as conductor:
        player = Player(conductor.words(0, 5), 1, [], "a")
        for words in (b"GET / HTTP/1.1\r\n\r\n", b"x" * 200, b"0123456789abcdef\nr"):
            with socket.create_connection((player.host, int(player.port)), timeout=10) as stranger:
                stranger.sendall(words)
                assert stranger.recv(1) == b""
        with socket.create_connection((player.host, int(player.port)), timeout=10) as more:
            player.come()
            time.sleep(0.1)
            more.sendall(f"{player.token}\n".encode())
            assert more.recv(1) == b""  # there is one of that name already
            for line in player.lines:
                line.sendall(b"r")
                assert line.recv(1) == b"!"


@pytest.mark.slow
def test_a_turn_that_lasts_too_long_is_taken_away() -> None:
    log: list[str] = []
    with Conductor([1, 2], seed=1, limit=1.0) as conductor:
        a, b = (Player(conductor.words(side, 5), ranks, log, "ab"[side]) for side, ranks in ((0, 1), (1, 2)))

        def stop_one_rank() -> None:
            b.come()
            for line in b.lines:
                line.sendall(b"r")
            assert b.lines[0].recv(1) == b.lines[1].recv(1) == b"!"
            b.lines[0].sendall(b"p")  # and the other rank does not
            assert b.lines[0].recv(1) == b""  # told, so that it ends

        began = time.monotonic()
        played(lambda: a.play("rpppr"), stop_one_rank)
        assert 0.9 < time.monotonic() - began < 10
        lost = conductor.stop_reason(1)
        assert conductor.stop_reason(0) is None and lost is not None
        assert re.fullmatch(
            r"1 of 2 ranks did not end the turn within \S+ s \(turns took \S+ s at most\)", lost
        ), lost
    assert [word[1:] for word in log[::2]] == ["ar", "ap", "ap", "ap", "ar"]


def test_a_limit_holds_although_strangers_keep_connecting() -> None:
    with Conductor([1, 1], seed=1, limit=0.3) as conductor:
        players = [Player(conductor.words(side, 5), 1, [], "ab"[side]) for side in (0, 1)]
        for player in players:
            player.come()
            player.lines[0].sendall(b"r")  # one of them gets the turn and does not end it
        deadline = time.monotonic() + 5
        while (
            not any(lost := [conductor.stop_reason(side) for side in (0, 1)]) and time.monotonic() < deadline
        ):
            with socket.create_connection((players[0].host, int(players[0].port)), timeout=10):
                time.sleep(0.02)
        (why,) = filter(None, lost)
        assert why.startswith("1 of 1 ranks did not end the turn within 0.3 s")


@pytest.mark.parametrize(("longest", "limit"), [(0.0, 60.0), (5.9, 60.0), (6.1, 61.0), (30.0, 300.0)])
def test_a_turn_may_last_a_minute_or_ten_times_the_longest_one(longest: float, limit: float) -> None:
    """By default. Without a minute's waiting: what the server has measured is set, not measured."""
    text = 'benchmarks = ["PingPong"]\n[variants.a]\n[variants.b]\n'
    assert campaign_definition.parse_campaign(text, Path("x.toml")).turn_timeout is None and TURN_LIMIT == 60
    for waited, lost in (
        (limit - 0.1, None),
        (
            limit,
            f"1 of 1 ranks did not end the turn within {limit:.3g} s (turns took {longest:.2g} s at most)",
        ),
    ):
        conductor = Conductor([1, 1], seed=1)
        for side in conductor._sides:
            side.connected = 1
        with conductor._wake_receiver, conductor._wake_sender, conductor._listener, socket.socket() as rank:
            conductor._sides[0].requests[rank] = b"p"  # waits for its turn, as the other one's goes on
            conductor._longest, conductor._waited = longest, waited
            conductor._give_up()
        conductor._selector.close()
        assert [conductor.stop_reason(side) for side in (0, 1)] == [None, lost]


@pytest.mark.slow
def test_a_launch_that_never_comes_is_not_waited_for_for_ever() -> None:
    log: list[str] = []
    with Conductor([1, 2], seed=1, limit=0.2) as conductor:
        a, b = (Player(conductor.words(side, 5), ranks, log, "ab"[side]) for side, ranks in ((0, 1), (1, 2)))
        b.ranks = 1
        b.come()
        played(lambda: a.play("rppr"))
        assert conductor.stop_reason(1) == "1 of 2 ranks did not connect within 1 s of the other launches"
    assert [word[1:] for word in log[::2]] == ["ar", "ap", "ap", "ar"]


@pytest.mark.slow
def test_launches_that_all_stop_while_they_start_are_ended() -> None:
    """One rank of each has connected, as where MPI_Init hangs on the others."""
    with Conductor([2, 2], seed=1, limit=0.1) as conductor:
        players = [Player(conductor.words(side, 5), 1, [], "ab"[side]) for side in (0, 1)]
        for player in players:
            player.come()
        deadline = time.monotonic() + PATIENCE
        while (
            None in (lost := [conductor.stop_reason(side) for side in (0, 1)]) and time.monotonic() < deadline
        ):
            time.sleep(0.05)
        assert lost == ["1 of 2 ranks did not connect within 0.5 s of the other ranks"] * 2


# --- The suite -----------------------------------------------------------------------------------------


class Counting:
    """Who gives the turn to a launch that is alone, and writes down what its first rank wished."""

    def __init__(self, ranks: int, most: int = 10**9, delay: float = 0) -> None:
        self.delay = delay
        self.server = socket.create_server(("127.0.0.1", 0))
        self.server.settimeout(PATIENCE)
        self.wishes = ""
        self.thread = threading.Thread(target=self._serve, args=(ranks, most), daemon=True)
        self.thread.start()

    def words(self, parts: int) -> str:
        return f"-turns {parts},127.0.0.1:{self.server.getsockname()[1]},token"

    def _serve(self, ranks: int, most: int) -> None:
        lines = [self.server.accept()[0] for _ in range(ranks)]
        for line in lines:
            line.settimeout(PATIENCE)
        tokens = [line.recv(6) for line in lines]
        assert tokens == [b"token\n"] * ranks
        while len(self.wishes) < most and (wish := lines[0].recv(1)):
            for line in lines[1:]:
                assert line.recv(1) == wish
            self.wishes += wish.decode()
            time.sleep(self.delay)
            for line in lines:
                line.sendall(b"!")
        for line in lines:
            line.close()


@pytest.mark.parametrize(
    ("component", "arguments", "wishes"),
    [
        ("MPI1", "PingPong -msglen {sizes} -iter 7 -iter_policy off", "r rpp rpp"),
        ("MPI1", "PingPong -msglen {sizes} -iter 2 -iter_policy off", "r rp rp"),
        ("MPI1", "PingPong -msglen {sizes} -iter 7 -iter_policy off -show_tail on", "r rpp rpp"),
        # Whole cycles of roots: five repetitions on two ranks are two of them.
        ("MPI1", "Bcast -msglen {sizes} -iter 5 -iter_policy off", "r rp rp"),
        ("MPI1", "Bcast -msglen {sizes} -iter 5 -iter_policy off -root_shift off", "r rpp rpp"),
        # Both halves, the second with computation.
        ("NBC", "Ialltoall -msglen {sizes} -iter 7 -iter_policy off -show_tail on", "r rpppp rpppp"),
        # What completes together stays together.
        ("RMA", "Unidir_put -msglen {sizes} -iter 9,9 -iter_policy off", "r rpp rpp r r r"),
        ("IO", "P_Write_priv -msglen {sizes} -iter 9 -iter_policy off -file {folder}", "r r r r r r"),
    ],
)
def test_rows_are_measured_in_parts(
    mpi: lab.Mpi, tmp_path: Path, component: str, arguments: str, wishes: str
) -> None:
    (tmp_path / "sizes").write_text("64\n4096\n")
    arguments = arguments.format(sizes=tmp_path / "sizes", folder=tmp_path)
    conductor = Counting(2)
    words = f"{arguments} -npmin 2 -check {conductor.words(3)}"
    done = lab.run(mpi, 2, words, component=component, records=tmp_path)
    assert done.code == 0, done.errors
    conductor.thread.join(10)
    assert conductor.wishes == wishes.replace(" ", "")
    if component != "IO":  # whose transfers without aggregation have a number of their own
        assert {str(row["repetitions"]) for row in done.rows} == {arguments.split("-iter ")[1][0]}
    assert {row["defects"] for row in done.rows} == {0}
    assert done.records[0]["options"]["turns"] == 3
    if "-show_tail" in arguments:
        assert all(min(row["quantiles"].values()) > 0 for row in done.rows)


def test_a_row_in_parts_is_given_up_as_well(mpi: lab.Mpi, tmp_path: Path) -> None:
    """Where a rank is late at each agreed start: after a hundred repetitions, at the end of a part or within one."""
    preload = f"LD_PRELOAD={lab.interposed(mpi, 'delayed_rank.cpp')}"
    gates = ",".join(map(str, range(4, 2000)))
    wrap = ["env", preload, "DELAYED_RANK=1", f"DELAY_GATES=5e-3:{gates}"]
    for parts, wishes in ((3, "rr"), (8, "rrp")):
        conductor = Counting(2)
        words = f"-iter 600 -iter_policy off -warm_up off -root_shift off -sync_start clock {conductor.words(parts)}"
        done = lab.run(mpi, 2, f"Bcast -msgsize 8 {words}", records=tmp_path, wrap=wrap)
        assert done.code == 0, done.errors
        conductor.thread.join(10)
        (row,) = done.rows
        assert (row["repetitions"], row["valid_percent"], row["given_up"]) == (100, 0, True)
        assert conductor.wishes == wishes
        assert "given up" in done.text


@pytest.mark.alone
def test_the_time_of_a_row_is_that_of_its_parts(mpi: lab.Mpi, tmp_path: Path) -> None:
    """What happens between the parts is not in it: here each turn comes late."""
    (tmp_path / "sizes").write_text("8\n")
    conductor = Counting(2, delay=0.05)  # a second, of a hundred repetitions
    words = f"PingPong -msglen {tmp_path / 'sizes'} -iter 100 -iter_policy off {conductor.words(20)}"
    done = lab.run(mpi, 2, words, records=tmp_path)
    assert done.code == 0 and done.rows[0]["time_max_seconds"] < 0.002


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("3", '"3" is not PARTS,HOST:PORT,TOKEN'),
        ("3,here,x", "is not PARTS,HOST:PORT,TOKEN"),
        ("3,here:1,", "is not PARTS,HOST:PORT,TOKEN"),
        ("0,here:1,x", "-turns"),
        ("3,here:99999,x", "-turns"),
        ("3,127.0.0.1:1,x", "-turns: 127.0.0.1:1: Connection refused"),
        ("3,no.such.host.invalid:1,x", "-turns: no.such.host.invalid:1: "),
    ],
)
def test_mistakes_are_one_line(mpi: lab.Mpi, word: str, says: str) -> None:
    done = lab.run(mpi, 2, ["PingPong", "-turns", word])
    assert done.code == 2 and len(done.own_errors) == 1 and says in done.own_errors[0], done.errors


def test_without_a_conductor_nothing_goes_on(mpi: lab.Mpi, tmp_path: Path) -> None:
    conductor = Counting(2, most=5)  # a table, two rows of two parts
    done = lab.run(mpi, 2, f"PingPong -iter 10 {conductor.words(2)}", records=tmp_path)
    assert done.code == 3 and len(done.rows) == 2
    reason = "lost connection to the interleaving server; run stopped after the last complete row"
    assert len(done.own_errors) == 1 and reason in done.own_errors[0]
    assert (done.records[-1]["state"], done.records[-1]["reason"]) == ("interrupted", reason)
    [launch] = parse(done.text.encode(), "output").launches
    assert launch.end and (launch.end.state, launch.end.reason) == ("interrupted", reason)


# --- imb -----------------------------------------------------------------------------------------------


def parts_of(archive: Archive) -> set[int | None]:
    """Of all runs."""
    runs = (run for name in archive.ids() for run in archive.run(name).records().of(Run))
    return {run.option("turns", int) or 1 for run in runs}


@pytest.mark.alone
def test_ab_by_turns(mpi: lab.Mpi, imb: Imb, archive: Archive) -> None:
    said = imb(
        "ab", "--a", "A=1", "--b", "A=2", "--mpi", mpi.wrapper, "--programs", mpi.build / "bin", "--launches", 3,
        "--segments", 5, "--name", "t", "--format", "json", "--classic", "PingPong", "--", "-msglog", "3", "-iter", "100",
    )  # fmt: skip
    assert said.code in (0, 10, 11, 12), said.err
    found = json.loads(said.out)
    assert (found["launches_a"], found["launches_b"], found["pairs"]) == (3, 3, True)
    assert parts_of(archive) == {5}
    assert any("too short to interleave" in warning for warning in found["warnings"])
    facts = [archive.run(name).facts() for name in archive.ids()]
    assert sorted(fact["turn"] for fact in facts) == [1, 1, 2, 2, 3, 3]
    assert {fact["outcome"] for fact in facts} == {"measured"}
    # A and B of one turn ran at the same time.
    for turn in (1, 2, 3):
        a, b = (fact for fact in facts if fact["turn"] == turn)
        assert max(a["started"], b["started"]) <= min(a["ended"], b["ended"])


def test_ab_interleaves_unless_told_otherwise(mpi: lab.Mpi, imb: Imb, archive: Archive) -> None:
    words = [
        "ab", "--a", "A=1", "--b", "A=2", "--mpi", mpi.wrapper, "--programs", mpi.build / "bin", "--launches", 1,
        "--launch-budget", "2", "PingPong", "--", "-msglog", "3:3",
    ]  # fmt: skip
    said = imb(*words)
    assert said.code in (0, 10, 11, 12) and "one after the other" not in said.err
    assert parts_of(archive) == {100}
    said = imb(words[0], "--launch-by-launch", *words[1:])
    assert said.code in (0, 10, 11, 12) and "one after the other" not in said.err
    assert parts_of(archive) == {100, 1}


CAMPAIGN = """benchmarks = ["PingPong"]
launches = 2
segments = 4
[common]
mpi = "{mpi}"
programs = "{programs}"
[variants.a]
env = {{ FAKE_NAME = "a" }}
[variants.b]
env = {{ FAKE_NAME = "b" }}
{more}
"""


def trial(tmp_path: Path, more: str = "") -> Path:
    if not (tmp_path / "mpi").exists():
        fake_mpi.make(tmp_path / "mpi")
    file = tmp_path / "trial.toml"
    file.write_text(CAMPAIGN.format(mpi=tmp_path / "mpi", programs=tmp_path / "mpi" / "bin", more=more))
    return file


@pytest.mark.parametrize("seed", (1, 5))
def test_a_missing_program_leaves_nothing_of_the_other_variant(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Whichever of the two comes first in the round."""
    file = trial(tmp_path)
    fake_mpi.make(tmp_path / "other")
    programs = tmp_path / "other" / "bin"
    text = file.read_text()
    file.write_text(text.replace('FAKE_NAME = "b" }', f'FAKE_NAME = "b" }}\nprograms = "{programs}"'))
    assert file.read_text() != text
    saved = session.save

    def save(archive: Archive, made: session.Plan) -> None:
        saved(archive, made)
        (programs / "IMB-MPI1").unlink()

    monkeypatch.setattr(session, "save", save)
    said = imb("campaign", file, "--seed", seed)
    assert said.code == 2 and f"no program {programs}/IMB-MPI1" in said.err, said
    assert not list(archive.folder.glob("sessions/*/*.part")) and not archive.ids()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            'setup = "true"',
            "variant b: with segments all variants run at the same time, so none can be set up",
        ),
        (
            'launcher = "srun"',
            "variant b: with segments all variants run at the same time, and steps of srun",
        ),
        ("[variants.c]\n[variants.d]", "and IMB-IO's files are in one folder"),
        ("[variants.c]\nsegments = 3", "no key variants.c.segments"),
        ('[variants.c]\narguments = "-turns x"', "-json, -input and -turns are set by imb"),
    ],
)
def test_what_does_not_go_with_parts(imb: Imb, tmp_path: Path, more: str, says: str) -> None:
    file = trial(tmp_path, more)
    if "IO" in says:
        file.write_text(file.read_text().replace("PingPong", "S_Write_indv"))
    said = imb("campaign", file)
    assert said.code == 2 and says in said.err and len(said.err.splitlines()) == 1


def test_cells_of_a_round_that_measure_the_same_run_together(tmp_path: Path) -> None:
    file = trial(tmp_path, '[variants.c]\narguments = "-iter 3"')
    text = file.read_text().replace('["PingPong"]', '[["PingPong"], ["Bcast", "rma:accumulate"]]')
    file.write_text(text.replace("launches = 2", "launches = 2\nprocesses = [2, 4]"))
    from imb.cli.launching import locate_variant
    from imb.runner import session

    made, _ = campaign_definition.read_campaign(file)
    plan = planning.campaign_plan(made, locate_variant, seed=1)
    lots = session.launch_batches(plan, plan.items)
    assert len(lots) == 2 * 2 * 3  # rounds, ranks, launches of a variant
    for lot in lots:
        assert sorted(item.variant for item in lot) == [0, 1, 2]
        assert len({(item.turn, item.ranks, item.component, item.arguments[0]) for item in lot}) == 1


@pytest.mark.parametrize("held", ["hold", "hold-b"])  # both launches, or one that the other waits for
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda n: n.name)
@pytest.mark.slow
def test_a_stopped_one_goes_on(
    imb: Imb,
    archive: Archive,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
    held: str,
) -> None:
    log, hold = tmp_path / "log", tmp_path / held
    monkeypatch.setenv("FAKE_LOG", str(log))
    monkeypatch.setenv("FAKE_HOLD", str(tmp_path / "hold"))
    hold.touch()
    process = subprocess.Popen(
        [sys.executable, "-m", "imb", "campaign", str(trial(tmp_path))],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    end = time.monotonic() + 30
    while not (log.exists() and sorted(log.read_text().split()) == ["a", "b"]):  # both are there
        assert time.monotonic() < end
        time.sleep(0.02)
    time.sleep(0.5)  # what is not held has ended
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    if number != signal.SIGKILL:
        assert process.returncode == 130 and "--resume" in err, err
    hold.unlink()
    said = imb("campaign", "--resume")
    assert said.code == 0, said.err
    facts = [archive.run(name).facts() for name in archive.ids()]
    measured = sorted((f["variant"], f["turn"]) for f in facts if f["outcome"] == "measured")
    assert measured == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    assert [f["outcome"] for f in facts].count("interrupted") == 2


def test_a_rank_that_dies_does_not_hold_the_other_up(mpi: lab.Mpi, imb: Imb, archive: Archive) -> None:
    said = imb(
        "ab", "--a", "arguments='-iter 20'", "--b", "arguments='-mem 1 -nonsense'", "--mpi", mpi.wrapper,
        "--programs", mpi.build / "bin", "--launches", 1, "--segments", 5, "PingPong", "--", "-msglog", "3",
    )  # fmt: skip
    facts = [archive.run(name).facts() for name in archive.ids()]
    assert sorted((f["variant"], f["outcome"]) for f in facts) == [("a", "measured"), ("b", "failed")], (
        said.err
    )


def test_a_stopped_rank_costs_its_launch_and_no_other(
    mpi: lab.Mpi, imb: Imb, archive: Archive, tmp_path: Path
) -> None:
    """As a dead host does. Only the pair of this launch is lost."""
    file = tmp_path / "t.toml"
    file.write_text(
        'benchmarks = ["PingPong"]\nlaunches = 3\nsegments = 20\nturn_timeout = 2\narguments = "-msglog 3:5 -passes 50"\n'
        f'[common]\nmpi = "{mpi.wrapper}"\nprograms = "{mpi.build / "bin"}"\n'
        "[variants.a]\nenv = { A = 1 }\n[variants.b]\nenv = { A = 2 }\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "imb", "campaign", file],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    stopped: psutil.Process | None = None
    end = time.monotonic() + PATIENCE
    while stopped is None and time.monotonic() < end and process.poll() is None:
        for rank in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if rank.name() == "IMB-MPI1" and rank.num_threads() and rows_so_far(archive, rank):
                    rank.send_signal(signal.SIGSTOP)
                    stopped = rank
                    break
        time.sleep(0.02)
    _, err = process.communicate(timeout=3 * PATIENCE)
    assert stopped is not None, err
    [line] = [
        line for line in err.splitlines() if "did not end the turn" in line and line.startswith("imb: ")
    ]
    assert re.match(
        r"imb: launch \d, t/[ab], 2 ranks: \d of 2 ranks did not end the turn within \S+ s \(turns took .* s at most\);"
        r" launch ended, its pair is lost; turn_timeout in a campaign file sets the limit$", line
    ), line  # fmt: skip
    facts = [archive.run(name).facts() for name in archive.ids()]
    assert sorted(f["outcome"] for f in facts) == ["measured"] * 5 + ["stopped"]
    lost = next(f for f in facts if f["outcome"] == "stopped")
    assert "did not end" in lost["problem"]
    compared = imb("compare", "t/a", "t/b", "--format", "json")
    assert compared.code in (0, 10, 11, 12) and json.loads(compared.out)["bands"]
    labeled = [label for tags in archive.tags().values() for label in tags.labels]
    assert len(labeled) == 5 and set(labeled) == {"t/a", "t/b"}  # what was lost is on no side
    assert not stopped.is_running()


def rows_so_far(archive: Archive, rank: psutil.Process) -> bool:
    """Whether this launch has measured something."""
    words = rank.cmdline()
    records = Path(words[words.index("-json") + 1])
    return records.exists() and b'"sample"' in records.read_bytes()
