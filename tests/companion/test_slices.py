"""Each slice can be taken out: without its folder and its line in the registry, every other part of `imb` works. `make without-slices`
also runs all tests of the rest without each of them."""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import imb
import lab
import pytest
from companion import fake_mpi
from companion.machines import curve, launch, message, save
from imb import registry

sys.path.insert(0, str(lab.TOP / "tools"))
import without_slice

NAMES = [name.removeprefix("imb.") for name in registry.SLICES]
# Runs commands in one process, which prints their exit statuses as JSON.
COMMANDS = """
import json, sys
from imb.cli import main
statuses = []
for words in json.loads(sys.argv[1]):
    try:
        main(words)
    except SystemExit as end:
        statuses.append(end.code or 0)
sys.stdout.flush()
print(json.dumps(statuses))
"""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.slow
def test_the_rest_works_without_a_slice(name: str, tmp_path: Path) -> None:
    copy = tmp_path / "without"
    without_slice.write_copy(name, copy)
    environment = {**os.environ, "PYTHONPATH": str(copy / "python")}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", *words], capture_output=True, text=True, env=environment, cwd=tmp_path
        )

    modules = [
        module.name
        for module in pkgutil.walk_packages(imb.__path__, "imb.")
        if not module.name.endswith("__main__") and not f"{module.name}.".startswith(f"imb.{name}.")
    ]
    assert len(modules) > 150
    done = run(f"import importlib; [importlib.import_module(name) for name in {modules}]")
    assert (done.returncode, done.stderr) == (0, "")

    removed = registry.entries()[1 + NAMES.index(name)].commands
    files = [str(save(tmp_path / f"{side}.jsonl", launch(curve(message)))) for side in "ab"]
    launching = ["PingPong", *map(str, fake_mpi.make(tmp_path / "mpi"))]
    steps: list[tuple[list[str], int]] = [
        (["--help"], 0),
        (["watch", "--help"], 0),
        (["import", *files, "--label", "both"], 0),
        (["show", "both"], 0),
        (["compare", *files, "--format", "junit"], 11),
        (["compare", *files, "--format", "html"], 11),
        (["baseline", "set", "base", "both"], 0),
        (["watch", "both"], 11),
        (["diagnose", files[0]], 0),
        (["report", "both", "--output", "page.html"], 0),
        (["run", *launching], 0),
        (
            [
                "ab",
                "--a",
                "FAKE_TIME=1",
                "--b",
                "FAKE_TIME=3",
                "--launches",
                "3",
                "--launch-by-launch",
                *launching,
            ],
            10,
        ),
        (["archive", "verify"], 0),
        *(([command], 2) for command in removed),
    ]
    done = run(COMMANDS, json.dumps([words for words, _ in steps]))
    assert json.loads(done.stdout.splitlines()[-1]) == [status for _, status in steps], done.stderr
    assert "Traceback" not in done.stderr
    for command in registry.commands():
        assert (f"\n  {command} " in done.stdout) == (command not in removed), command
    for command in removed:
        assert f"imb {command}" not in done.stdout
        assert f"imb: No such command '{command}'" in done.stderr

    words = ["-m", "pytest", "-q", "--no-mpi", "-p", "no:cacheprovider", "tests/test_architecture.py"]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, env=environment, cwd=copy)
    assert done.returncode == 0, done.stdout

    # A session that the slice began.
    for experiment in registry.entries()[1 + NAMES.index(name)].experiments:
        done = run(f"from imb import registry; registry.experiment('{experiment}')")
        assert f"this imb has no command {experiment}, which began the session" in done.stderr
