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
            "--launch-budget 30 needs a --timeout above it, not 20",
        ),
        (["--launch-budget", "0"], "--launch-budget"),
        (["--bytes", "99999999999999"], "2147483647"),
        (["--cpus", "0,0"], "--cpus 0,0: both ranks on CPU 0 would compete for it; give two CPUs"),
    ],
)
def test_mistakes_are_one_line(imb: Imb, tmp_path: Path, words: list[str], says: str) -> None:
    said = imb("latency", *fake_mpi.make(tmp_path / "mpi"), *words)
    assert said.code == 2 and says in said.err and len(said.err.splitlines()) == 1, said.err
