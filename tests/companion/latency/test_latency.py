"""imb latency: real launches, and what cannot be measured."""

from __future__ import annotations

import math
import re
import statistics
from pathlib import Path

import lab
import pytest
from companion import fake_mpi
from companion.door import Imb
from companion.test_disturbance import WARNING, measuring
from companion.test_disturbance import busy as busy
from companion.test_failed_launch import HOST, failing
from companion.test_resumed import resumed
from companion.test_run import with_
from imb.model.records import Result
from imb.store.store import Archive


def test_latency_is_one_line(mpi: lab.Mpi, imb: Imb, archive: Archive) -> None:
    said = imb("latency", *with_(mpi), "--cpus", "0,1", "--launches", "2", "--repetitions", "500")
    assert said.code == 0, said.err
    pattern = r"([\d.]+) µs one way \(min [\d.]+, p25 [\d.]+, p75 [\d.]+, max [\d.]+ of 2 launches\); 1 byte, CPUs 0,1, .*\d"
    found = re.fullmatch(pattern, said.out.strip())
    assert found and float(found[1]) > 0
    times = [
        row.time_max_seconds * 1e6 for name in archive.ids() for row in archive.run(name).records().of(Result)
    ]
    assert len(times) == 2 and float(found[1]) == pytest.approx(sum(times) / 2, abs=0.006)


@pytest.mark.alone
def test_latency_in_passes_says_how_certain_it_is(mpi: lab.Mpi, imb: Imb, archive: Archive) -> None:
    said = imb("latency", *with_(mpi), "--launches", "3", "--launch-budget", "1", "--bytes", "8")
    assert said.code == 0, said.err
    pattern = r"([\d.]+) µs one way (?:±([\d.e+]+) %|± n/a) \(min ([\d.]+), p25 .* of 3 launches\); 8 bytes, this host, .*\d"
    found = re.fullmatch(pattern, said.out.strip())
    assert found, said.out
    rows = [row for name in archive.ids() for row in archive.run(name).records().of(Result)]
    assert len(rows) == 3 and all(row.passes and row.passes.samples > 5 for row in rows)
    times = [row.time_max_seconds * 1e6 for row in rows]
    assert float(found[1]) == pytest.approx(sorted(times)[1], abs=0.006)
    assert float(found[3]) == pytest.approx(min(times), abs=0.006)
    # Student's interval of three launches: 4.303 standard errors, of the logarithms.
    logs = [math.log(time) for time in times]
    half = 4.3027 * statistics.stdev(logs) / math.sqrt(3)
    if found[2] is None:  # more than the time itself
        assert math.expm1(half) > 0.99
    else:
        assert float(found[2]) == pytest.approx(100 * math.expm1(half), rel=0.06, abs=0.051)
    # One launch has the interval of its own samples.
    said = imb("latency", *with_(mpi), "--launches", "1", "--label", "alone")
    assert re.match(r"[\d.]+ µs one way (±[\d.e+]+ % |± n/a )?\(1 launch\); 1 byte", said.out), said.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--launch-budget", "1", "--classic"], "--launch-budget needs passes"),
        (["--launch-budget", "1", "--repetitions", "10"], "--launch-budget needs passes"),
        (
            ["--launch-budget", "30", "--timeout", "20"],
            "a budget of 30 s needs a timeout above it, not 20 s",
        ),
        (["--launch-budget", "0"], "--launch-budget"),
        (["--bytes", "99999999999999"], "2147483647"),
        (["--cpus", "0,0"], "--cpus 0,0: both ranks on CPU 0 would compete for it; give two CPUs"),
    ],
)
def test_mistakes_are_one_line(imb: Imb, tmp_path: Path, words: list[str], says: str) -> None:
    said = imb("latency", *fake_mpi.make(tmp_path / "mpi"), *words)
    assert said.code == 2 and says in said.err and len(said.err.splitlines()) == 1, said.err


@pytest.mark.usefixtures("busy")
def test_latency_warns_of_load(imb: Imb, tmp_path: Path) -> None:
    options = measuring(tmp_path / "mpi", 0.1)
    title, *rest = imb("latency", *options, "--verbose").err.splitlines()
    assert (
        title.startswith("session ") and len(rest) == 1 and rest[0].startswith("$ ") and " -json " in rest[0]
    )
    said = imb("latency", *options)
    assert said.code == 0 and said.err.splitlines()[1:] == [WARNING], said


def test_latency_warns_of_a_wide_interval(imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("imb.mpi.load.load_between", lambda before, after: None)
    said = imb("latency", *measuring(tmp_path / "mpi", 2.82))
    warning = "imb: warning: the interval is wider than ±20 %; repeat on an idle machine"
    assert said.code == 0 and "one way ± n/a" in said.out and said.err.splitlines()[1:] == [warning], said
    said = imb("latency", *measuring(tmp_path / "again", 0.19))
    assert said.code == 0 and len(said.err.splitlines()) == 1, said  # the session


def test_latency_without_a_result_prints_the_reason(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    said = imb("latency", *failing(tmp_path / "mpi", HOST), "--hosts", "nosuchhost")
    reason = said.err.splitlines()[-1]
    assert said.code == 1 and "no launch has results; " in reason, said
    assert "ssh: Could not resolve hostname nosuchhost: Name or service not known" in reason
    assert any(f"see `imb show {name[:10]}`" in reason for name in archive.ids())


def test_latency_ends_with_its_line(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    first = imb("latency", *measuring(tmp_path / "eight", 0.01), "--launches", 3)  # of 8 bytes
    assert resumed(imb, archive, first).out == first.out and "8 bytes, this host" in first.out
