"""Our text beside recorded outputs of IMB 2021: equal byte for byte where both measure the same, numbers masked."""

import re
from pathlib import Path

import lab
import pytest

REFERENCES = sorted((lab.TOP / "tests" / "reference").glob("*.txt"))
WIDTH = 13
MESSAGE_RATE = 4  # the column of IMB-P2P that is measured and has no decimals, the last one

# Banner lines that say who and where, and comment lines that only we print.
OURS_ALONE = re.compile(
    r"# (MPI Library {11}: |(Mbytes/sec|Settings|File|Completion of writes|Random partners) +: {3})"
)
NOTES = re.compile(r"\n(?:# note: .*\n)+")  # after the blank line that ends a table
# The same of IMB-MT, whose recorded banner is a title and nothing else.
OF_THREADS = re.compile(
    r"# (Date|Machine|System|Release|Version|MPI Version|MPI Thread Environment|MPI_Datatype|MPI_Datatype for reductions"
    r"|MPI_Op|Threads|(Minimum|Maximum) message length in bytes) *: "
    r"|# Calling sequence was: |# \S*IMB-MT |# List of Benchmarks to run:|# \w+MT$|# All processes entering MPI_Finalize"
)
RECORDED_AS = {  # without a calling sequence
    "mt-np2": "-count 1,4,64 -repeat 20",
    "mt-np2-threads2-check": "-count 1,4,64 -repeat 5 -threads 2",  # its checks have no column
    "halo-np2": "-halo 1 -msgsize 4,8,16,32 -mbyte 1e6 -iter 100 simple_halo",
}
SITE = re.compile(
    r"(# (?:Date|Machine|System|Release|Version|MPI Version) {2,}: |# MPI Thread Environment:).*"
)


LABELED = re.compile(r"(?<= )(\S+)\((usec|Mb/s)\)")  # of simple_halo


def without_number(number: str, unit: str) -> str:
    assert number == f"{float(number):g}", f"not of six significant digits: {number!r}"
    return f"measured({unit})"


def masked(text: str) -> list[str]:
    """Lines with the measured cells, 13 wide, replaced by a mark of the same width; everything else untouched."""
    lines = []
    for line in NOTES.sub("", text).splitlines(keepends=True):
        if OURS_ALONE.match(line):
            continue
        line = LABELED.sub(lambda found: without_number(*found.groups()), line)
        if re.fullmatch(r" [ \d.]+\n", line):
            cells = [line[at : at + WIDTH].rstrip("\n") for at in range(0, len(line) - 1, WIDTH)]
            assert all(len(cell) == WIDTH for cell in cells), f"not in columns of {WIDTH}: {line!r}"
            shown = [
                "measured.NN".rjust(WIDTH) if re.fullmatch(r" *\d+\.\d\d", cell) else cell for cell in cells
            ]
            if len(cells) == 5 and shown[-1] == cells[-1]:
                shown[-1] = "rate".rjust(WIDTH)  # of messages, a whole number
            line = "".join(shown) + "\n"
        line = re.sub(r"(# performance of) {1,4}\d+\.\d\d MFlops", r"\1 ... MFlops", line)
        line = SITE.sub(r"\1...", line)
        if re.match(r"#    (OpenIMB|Intel\(R\) MPI Benchmarks) ", line):
            line = re.sub(r"#    .*, ((MPI|IMB)-\S+ part).*", r"#    ..., \1", line)
            line = re.sub(r"#    .*, (MT part)", r"#    ..., \1", line)
        lines.append(line)
    return lines


def as_designed(recorded: str) -> str:
    """What we mean to do better than the recorded program: a line break that its banner of IMB-IO lacks, and the mode of
    nonblocking transfers, which the guide runs in non-aggregate mode only."""
    recorded = recorded.replace("MPI-IO partn#", "MPI-IO part\n#")
    tables = re.split(r"(?m)^(?=# Benchmarking )", recorded)
    return "".join(
        table.replace("MODE: AGGREGATE", "MODE: NON-AGGREGATE")
        if re.match(r"# Benchmarking [SPC]_I(Write|Read)_", table)
        else table
        for table in tables
    )


def without_folder(text: str) -> str:
    """Of the program in the calling sequence."""
    return re.sub(r"(?m)^# \S*(IMB-\w+) ", r"# \1 ", text)


def of_threads(text: str) -> str:
    """Our banner of IMB-MT without what only we print, the blank lines around it included."""
    title, head, tables = text.partition("\n#\n")
    facts, rule, rest = tables.partition("#-----")
    kept = [
        line
        for line in facts.splitlines()
        if line and not OF_THREADS.match(line) and not OURS_ALONE.match(line)
    ]
    rest = "".join(line for line in rest.splitlines(keepends=True) if not OF_THREADS.match(line))
    return title + head + "".join(f"{line}\n" for line in kept if line.strip("# ")) + "\n" + rule + rest


def of_halo(text: str) -> str:
    """Our text without banner and end, which IMB-HALO does not print."""
    tables = text[text.index("\n# Benchmarking ") :]
    return tables.partition("\n\n# All processes")[0]


def calling_sequence(text: str) -> list[str]:
    words: str
    (words,) = re.findall(r"# Calling sequence was: ?\n#?\n# \S*IMB-\w+ (.*)\n", text)
    return words.split()


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda path: path.stem)
def test_layout_is_that_of_the_reference(mpi, reference: Path, tmp_path):
    recorded = reference.read_text()
    ranks = int(re.findall(r"-np(\d+)", reference.stem)[0])
    program = reference.stem.partition("-")[0].upper()
    component = {"HALO": "P2P"}.get(program, program)
    # 0.1 s in each repetition by default: layout takes no notice.
    sooner = ["-set", "TARGET_CPU_SECS=0.001"] if component == "IO" else []
    known = RECORDED_AS.get(reference.stem)
    words = known.split() if known else calling_sequence(recorded)
    done = lab.run(mpi, ranks, words + sooner, component=component, folder=tmp_path)
    assert done.code == 0, done.errors
    ours = without_folder(done.text)
    ours = ours.replace(f" {' '.join(sooner)}\n", "\n") if sooner else ours
    ours = {"MT": of_threads, "HALO": of_halo}.get(program, str)(ours)
    assert masked(ours) == masked(as_designed(without_folder(recorded)))


def test_the_mask_notices_a_shifted_column():
    with pytest.raises(AssertionError):
        masked("           0           20         1.17         0.00\n")
    assert masked("            0           20         1.17\n") != masked(
        "            0           21         1.17\n"
    )


def test_a_parser_written_for_imb_finds_every_row(mpi):
    """What people's scripts do: header lines by prefix, rows by leading blanks and a digit."""
    done = lab.run(mpi, 2, "-iter 3 -msglog 2 PingPong Allreduce Barrier")
    found, benchmark = [], ""
    for line in done.text.splitlines():
        if line.startswith("# Benchmarking "):
            benchmark = line.split()[2]
        elif re.match(r"\s+\d", line):
            found.append((benchmark, *line.split()[:2]))
    assert found[:4] == [
        ("PingPong", "0", "3"),
        ("PingPong", "1", "3"),
        ("PingPong", "2", "3"),
        ("PingPong", "4", "3"),
    ]
    assert [name for name, *_ in found[4:]] == ["Allreduce", "Allreduce", "Barrier"]


def test_groups_of_more_than_sixteen_ranks_wrap(mpi):
    if mpi.flavor == "mpich":
        pytest.skip("34 busy ranks on few cores take minutes under MPICH")
    done = lab.run(mpi, 34, "-iter 1 -msgsize 4 -npmin 17 -multi 1 -time 60 -warm_up off Bcast")
    head = next(table.head for table in lab.tables(done.text) if len(table.head) > 2)
    first = head.index("# Group  0: " + "".join(f"{rank:5d}" for rank in range(16)))
    assert head[first + 1] == "#           " + f"{16:5d}"
