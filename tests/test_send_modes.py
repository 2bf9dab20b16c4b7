"""-send_mode of IMB-MPI1: every benchmark that has the mode, on 2, 3 and 5 ranks; what lacks it; a lying MPI."""

import re

import lab
import pytest

MODES = ["synchronous", "buffered"]
PINGS = [
    f"{ping}{source}" for ping in ("PingPong", "PingPing") for source in ("", "SpecificSource", "AnySource")
]
LACKS = {"synchronous": [], "buffered": ["Uniband"]}
LOOPS = {
    "standard": "",
    "multi1": "-multi 1",
    "off_cache": "-off_cache 0.05,64",
    "tail": "-show_tail yes",
    "passes": "-passes 3",
}


def sent_by(mode: str) -> list[str]:
    every = [*PINGS, "PingPong_mprobe", "Exchange", "Uniband", "Biband"]
    return [name for name in every if name not in LACKS[mode]]


@pytest.mark.parametrize("ranks", [2, 3, 5])
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("mode", MODES)
def test_every_send_mode_is_complete_and_correct(mpi, mode, loop, ranks, tmp_path):
    if loop != "standard" and ranks == 5:
        pytest.skip("the same loops on 2 and 3 ranks; oversubscribed ranks are slow")
    names = sent_by(mode)
    sizes = [0, 1, 4096, 300000]
    words = f"-iter 3 -window_size 4 -msgsize {','.join(map(str, sizes))} -npmin {ranks} -check -time 60"
    done = lab.run(mpi, ranks, f"{words} -send_mode {mode} {LOOPS[loop]} {' '.join(names)}", records=tmp_path)
    assert done.code == 0, done.text[-3000:] + done.errors[-3000:]
    assert done.records[0]["options"]["send_mode"] == mode
    assert re.search(rf"# Sends +: +-send_mode {mode}\n", done.text)
    assert {(row["benchmark"], row["bytes"]) for row in done.rows} == {(n, s) for n in names for s in sizes}
    assert all(row["defects"] == 0 for row in done.rows)


@pytest.mark.parametrize("mode", MODES)
def test_repetitions_without_checks_arrive(mpi, mode, tmp_path):
    """Many in a row: a buffer that is used again."""
    names = sent_by(mode)
    words = f"-iter 300 -window_size 4 -msgsize 8,20000 -send_mode {mode} {' '.join(names)}"
    done = lab.run(mpi, 2, words, records=tmp_path)
    assert done.code == 0, done.text[-3000:] + done.errors[-3000:]
    assert len(done.rows) == 2 * len(names)


@pytest.mark.parametrize("mode", MODES)
def test_what_lacks_a_mode_has_a_row_that_says_why(mpi, mode, tmp_path):
    none = ["PingPong_persist", "Sendrecv", "Allreduce"]
    lacks = [*LACKS[mode], *none]
    done = lab.run(
        mpi, 2, f"-iter 2 -msgsize 8 -send_mode {mode} {' '.join(lacks)} PingPing", records=tmp_path
    )
    failures = [record for record in done.records if record["record"] == "failure"]
    assert {record["benchmark"] for record in failures} == {*lacks}
    assert {row["benchmark"] for row in done.rows} == {"PingPing"}
    assert all(
        record["cause"] == "unavailable" and f"-send_mode {mode}" in record["detail"] for record in failures
    )


def test_the_buffer_is_memory(mpi, tmp_path):
    """Three messages of 1 MiB in the buffer, besides one to send and one to receive."""
    for mode, rows in (("standard", 1), ("buffered", 0)):
        words = f"-iter 2 -mem 0.004 -msgsize 1048576 -send_mode {mode} PingPong"
        done = lab.run(mpi, 2, words, records=tmp_path)
        assert len(done.rows) == rows, done.text


def test_a_buffer_beyond_an_int_needs_large_counts(mpi, tmp_path):
    """Three messages of 768 MiB. Without MPI_Buffer_attach_c none of it is allocated."""
    words = f"-iter 1 -warm_up off -mem 16 -msgsize {768 << 20},8 -check -send_mode buffered PingPong"
    done = lab.run(mpi, 2, words, records=tmp_path)
    measured = [row["bytes"] for row in done.rows]
    if mpi.flavor == "mpich":
        assert done.code == 0 and measured == [768 << 20, 8], done.errors
    else:
        assert done.code == 3 and measured == [8], done.errors
        (failure,) = (record for record in done.records if record["record"] == "failure")
        assert failure["cause"] == "out_of_memory" and "MPI_Buffer_attach" in failure["detail"]


@pytest.mark.parametrize("component", ["MT", "P2P", "NBC"])
def test_other_components_have_no_send_modes(mpi, component):
    done = lab.run(mpi, 2, "-send_mode synchronous", component=component)
    assert done.code == 2
    assert (
        f"-send_mode: IMB-{component} has no benchmark that uses it; leave it out, or run IMB-MPI1"
        in done.errors
    )


@pytest.mark.parametrize("how", ["flip", "drop"])
@pytest.mark.parametrize("mode", MODES)
def test_check_finds_a_lying_mpi_in_every_send_mode(mpi, liars, mode, how, tmp_path):
    library = liars(mpi, "lying_mpi.cpp")
    wrap = ["env", f"LD_PRELOAD={library}", f"LIE_HOW={how}"]
    names = sent_by(mode)
    words = f"-check -iter 4 -window_size 4 -msgsize 64 -send_mode {mode} {' '.join(names)}"
    done = lab.run(mpi, 2, words, records=tmp_path, wrap=wrap)
    assert done.code == 4
    assert {row["benchmark"] for row in done.rows if row["defects"]} == {*names}
