"""bench/gpu.sh, which is for a machine with a GPU, on fake ones (tests/fake_gpu)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import gpu
import lab
import pytest

SCRIPT = lab.TOP / "bench" / "gpu.sh"
KINDS = ("cuda,host", "cuda_managed")  # two of four


def bundle_of(mpi: lab.Mpi, folder: Path) -> Path:
    """What `gpu.sh pack` makes, with the build of this checkout in place of the wheel's executables, and no UCX."""
    for name in ("mpi", "by_hand", "site", "wheels"):
        (folder / name).mkdir(parents=True)
    (folder / "suite").symlink_to(mpi.build)
    (folder / "mpi" / mpi.key).symlink_to(Path(mpi.launcher[0]).parent.parent)
    (folder / "site" / "imb").symlink_to(lab.TOP / "python" / "imb")
    words = [mpi.wrapper, "-std=c++20", "-O1", str(lab.TOP / "bench" / "gpu_by_hand.cpp"), "-ldl"]
    subprocess.run(
        [*words, "-o", str(folder / "by_hand" / mpi.key)], check=True, env=lab.environment(mpi), timeout=120
    )
    return folder


def run(bundle: Path, results: Path, mpi: lab.Mpi, **settings: str) -> subprocess.CompletedProcess[str]:
    place = gpu.built(mpi)
    env = {
        **lab.environment(mpi),
        **lab.COPIES_TWICE[mpi.flavor],
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": str(place / "cuda"),
        "GPU_PRELOAD": str(place / gpu.GUARD),
        "GPU_MPIS": mpi.key,
        "GPU_KINDS": " ".join(KINDS),
        "GPU_MORE": "-iter 2,1,1",
        "GPU_REPETITIONS": "4",
        "GPU_POINTS": "100",
        "GPU_SECONDS": "1000",
        **settings,
    }
    return subprocess.run(
        ["bash", str(SCRIPT), "run", str(bundle), str(results)],
        env=env,
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.mark.needs_mpi
def test_everything_is_measured_on_a_fake_gpu(tmp_path: Path) -> None:
    mpi = next((one for one in lab.MAIN if one.flavor == "mpich"), None) or lab.missing("no MPICH")
    results = tmp_path / "results"
    bundle = bundle_of(mpi, tmp_path / "bundle")
    done = run(bundle, results, mpi)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all as expected" in done.stdout
    assert (results / "summary.txt").read_text() == done.stdout
    assert not re.search(r"FAILED|skipped|defects|no figures|Traceback", done.stdout + done.stderr), (
        done.stdout
    )
    for kind in KINDS:
        for name in ("pingpong", "halo", "allreduce", "put", "partitioned"):
            assert re.search(rf"(?m)^{name}-{kind}-{mpi.key} +0 .* [1-9]\d* rows$", done.stdout), (name, kind)
    assert re.search(rf"(?m)^overlap-bcast-{mpi.key} +0 .* 3 rows", done.stdout)
    assert re.search(rf"(?m)^doctor-{mpi.key} +0 .*GPU memory", done.stdout)
    # Five lengths beside the loop by hand and the copy.
    assert len(re.findall(r"(?m)^ +\d+ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+$", done.stdout)) == 5
    assert re.search(r"leaks-MPI1-\S+ +0  as-expected .* 10 lengths [1-9].* 100 lengths [1-9]", done.stdout)
    late = run(bundle, results, mpi, GPU_SECONDS="0")
    assert late.returncode == 1
    assert "out of time" in late.stdout


def test_usage_errors_are_one_line(tmp_path: Path) -> None:
    for words, said in (
        ([], "give pack"),
        (["run", str(tmp_path / "absent")], "absent: not found; make it with"),
        (["run", str(tmp_path)], "suite/bin/IMB-MPI1 is missing"),
        (["run"], "run needs BUNDLE"),
    ):
        done = subprocess.run(["bash", str(SCRIPT), *words], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 2
        assert done.stderr.startswith("gpu.sh: ") and done.stderr.count("\n") == 1 and said in done.stderr
