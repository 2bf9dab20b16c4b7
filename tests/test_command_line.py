"""The command line through the door a user uses: what is printed, where, how often, and the exit status."""

import lab
import pytest


def test_help_list_and_version_print_and_exit_0(mpi):
    for option, words in {
        "-help": ["-npmin", "-off_cache", "-check"],
        "-help all": ["-npmin", "-msglen", "-sync_mode"],
        "-h": ["-iter"],
        "--help": ["-json"],
        "-list": ["PingPong", "Reduce_scatter_block", "Uniband"],
        "-version": ["OpenIMB", "compatible with Intel(R) MPI Benchmarks 4.0"],
    }.items():
        done = lab.run(mpi, 2, option)
        assert done.code == 0
        for word in words:
            assert word in done.text
        assert "# Benchmarking" not in done.text
    assert done.text.count("OpenIMB") == 1  # once, not per rank


def test_a_list_of_named_benchmarks_has_only_these(mpi):
    done = lab.run(mpi, 2, "-list allreduce PingPong")
    assert done.code == 0
    assert [line.split()[0] for line in done.text.splitlines()[1:] if line] == ["PingPong", "Allreduce"]


def test_a_least_number_of_processes_above_all_of_them_is_a_warning(mpi, tmp_path):
    done = lab.run(mpi, 2, "-npmin 9 -iter 1 Barrier", records=tmp_path)
    assert done.code == 0 and [row["processes"] for row in done.rows] == [2]
    assert done.own_errors == [
        "IMB-MPI1: warning: -npmin 9: above the number of ranks launched; -npmin 2 is used"
    ]
    assert lab.run(mpi, 2, "-npmin 2 -iter 1 Barrier").own_errors == []


def test_without_a_launcher(mpi):
    import subprocess

    done = subprocess.run(
        [mpi.program(), "-list"], env=lab.environment(mpi), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0 and "PingPong" in done.stdout


MISTAKES = {
    "PingPnog": "did you mean PingPong?",
    "-itre 10 PingPong": "did you mean -iter?",
    "-iter": "-iter",
    "-iter ten": "ten",
    "-iter -5": "-5",
    "-time nan": "nan",
    "-msglog 5:3": "5, is above the largest, 3",
    "-npmin 0": "0",
    "-multi 2": "2",
    "-map 3x3": "3x3",
    "-map 2by2": "2by2",
    "-msglen /does/not/exist": "/does/not/exist",
    "-input /does/not/exist": "/does/not/exist",
    "-json /does/not/exist/run.jsonl": "/does/not/exist/run.jsonl",
    "-dumpfile /does/not/exist/dump": "/does/not/exist/dump",
    "-data_type quaternion": "quaternion",
    "-red_data_type byte": "byte",
    "-set FANCY=1": "FANCY",
    "-exclude PingPong -ignore_unknown PingPong": "-exclude leaves no benchmark",
    "-thread_level many": "many",
    "-mem 2X": "2X",
    "-mem 0": '-mem: "0" is not above 0 GB; for example: -mem 0.5',
    "-off_cache 2000000": '"2000000" is above the maximum, 1048576 MB; for example: -off_cache 16,128',
    "-list PingPnog": "did you mean PingPong?",
    "-list json PingPong": '-list json: no benchmark can be named with it: "PingPong"',
    "-ignore_unknown NoSuchBenchmark": "NoSuchBenchmark",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_before_anything_is_measured(mpi, mistake):
    done = lab.run(mpi, 2, mistake)
    assert done.code == 2
    assert len(done.own_errors) == 1, done.errors
    assert MISTAKES[mistake] in done.own_errors[0]
    assert "# Benchmarking" not in done.text


def test_a_malformed_file_is_named_with_its_line(mpi, tmp_path):
    lengths = tmp_path / "lengths"
    lengths.write_text("# sizes\n0\n12k\ntwelve\n")
    done = lab.run(mpi, 2, ["-msglen", str(lengths)])
    assert done.code == 2 and f"{lengths}:4: " in done.own_errors[0]
    names = tmp_path / "names"
    names.write_text("PingPong\n\n# comment\nPingPnog\n")
    done = lab.run(mpi, 2, ["-input", str(names)])
    assert done.code == 2 and f"{names}:4: " in done.own_errors[0] and "PingPong" in done.own_errors[0]


def test_files_are_read_and_their_contents_are_agreed(mpi, tmp_path):
    lengths, names = tmp_path / "lengths", tmp_path / "names"
    lengths.write_text("# any order\n1k\n\n0\n3\n")
    names.write_text("allreduce\n#PingPong\nBarrier\n")
    done = lab.run(
        mpi, 3, ["-msglen", str(lengths), "-input", str(names), "-iter", "2", "-npmin", "3"], records=tmp_path
    )
    assert done.code == 0
    assert [(row["benchmark"], row["bytes"]) for row in done.rows] == [
        ("Allreduce", 1024), ("Allreduce", 0), ("Allreduce", 4), ("Barrier", 0)
    ]  # fmt: skip
    assert "# Message lengths were user defined" in done.text


def test_options_in_any_order_and_names_in_any_case(mpi, tmp_path):
    done = lab.run(mpi, 2, "barrier -iter 3 PINGPONG -msgsize 8 -set MSGSPERSAMPLE=99", records=tmp_path)
    assert [(row["benchmark"], row["repetitions"]) for row in done.rows] == [("Barrier", 3), ("PingPong", 3)]


def test_the_command_line_is_repeated(mpi):
    done = lab.run(mpi, 2, "-iter 1 -msglog 1 Barrier")
    assert "IMB-MPI1 -iter 1 -msglog 1 Barrier \n" in done.text


def test_leniency_on_request_warns(mpi):
    done = lab.run(mpi, 2, "-ignore_unknown -fancy 3 PingPnog Barrier -iter 1")
    assert done.code == 0 and "# Benchmarking Barrier" in done.text
    assert "-fancy" in done.errors and "PingPnog" in done.errors


def test_the_unit_of_throughput_is_stated_and_can_be_changed(mpi, tmp_path):
    def reported(options):
        done = lab.run(mpi, 2, f"-msgsize 1m -iter 5 Sendrecv {options}", records=tmp_path)
        (table,) = lab.tables(done.text)
        return float(table.rows[0][-1]), done.rows[0]["bytes_per_second"], done.text

    shown, exact, text = reported("")
    assert shown == pytest.approx(exact / 2**20, abs=0.006) and "1048576 bytes" in text
    shown, exact, text = reported("-mbyte 1e6")
    assert shown == pytest.approx(exact / 1e6, abs=0.006) and "1000000 bytes" in text


def test_settings_that_differ_are_stated(mpi):
    assert "standard mode" in lab.run(mpi, 2, "Barrier").text
    text = lab.run(mpi, 2, "-set N_BARR=5 -iter 7 Barrier").text
    assert "standard mode" not in text and "N_BARR=5" in text and "MSGSPERSAMPLE=7" in text
