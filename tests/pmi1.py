"""Starts the ranks of an MPI program and answers them in version 1 of PMI, the protocol of MPICH's and Intel's launchers.

The library connects to PMI_PORT. Requests and answers are lines of words "key=value", of which cmd is the first.
"""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path


class Server:
    """The ranks' meeting point: what each puts, all can get; a barrier."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        # All ranks are on this one node.
        self.values = {"PMI_process_mapping": f"(vector,(0,1,{ranks}))"}
        self._barrier = threading.Barrier(ranks)
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> str:
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        self._barrier.abort()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("r", encoding="ascii") as requests:
            for line in requests:
                # A value is the last word and may contain blanks.
                head, _, value = line.strip().partition(" value=")
                words = dict(word.split("=", 1) for word in head.split() if "=" in word)
                try:
                    answer = self._answer(words, value)
                except threading.BrokenBarrierError:
                    return
                connection.sendall("".join(f"cmd={one}\n" for one in answer).encode())

    def _answer(self, words: Mapping[str, str], value: str) -> list[str]:
        match words.get("cmd"):
            case "initack":
                rank = words.get("pmiid", "0")
                return ["initack rc=0", f"set size={self.ranks}", f"set rank={rank}", "set debug=0"]
            case "init":
                return ["response_to_init pmi_version=1 pmi_subversion=1 rc=0"]
            case "get_maxes":
                return ["maxes kvsname_max=256 keylen_max=64 vallen_max=4096"]
            case "get_appnum":
                return ["appnum appnum=0"]
            case "get_my_kvsname":
                return ["my_kvsname kvsname=tests"]
            case "get_universe_size":
                return [f"universe_size size={self.ranks}"]
            case "put":
                self.values[words["key"]] = value
                return ["put_result rc=0 msg=success"]
            case "get":
                if words["key"] in self.values:
                    return [f"get_result rc=0 msg=success value={self.values[words['key']]}"]
                return ["get_result rc=-1 msg=key_not_found value=unknown"]
            case "barrier_in":
                self._barrier.wait()
                return ["barrier_out"]
            case "finalize":
                return ["finalize_ack"]
        return []


class Ranks:
    """The processes of a launch. The end of rank 0 with an error ends the others, as launchers do. Its text and errors are
    in files: Wine's own processes, which live on, inherit pipes."""

    def __init__(self, command: list[str], ranks: int, environment: Mapping[str, str], folder: Path) -> None:
        self._server = Server(ranks)
        self._folder = folder
        self.processes: list[subprocess.Popen] = []
        with (folder / "stdout").open("wb") as text, (folder / "stderr").open("wb") as errors:
            for rank in range(ranks):
                own = {"PMI_PORT": self._server.port, "PMI_ID": str(rank), "PMI_RANK": str(rank)}
                own |= {"PMI_SIZE": str(ranks), "MPI_LOCALNRANKS": str(ranks), "MPI_LOCALRANKID": str(rank)}
                self.processes.append(
                    subprocess.Popen(
                        command,
                        env={**environment, **own},
                        cwd=folder,
                        stdin=subprocess.DEVNULL,
                        stdout=text if rank == 0 else subprocess.DEVNULL,
                        stderr=errors if rank == 0 else subprocess.DEVNULL,
                        start_new_session=True,
                    )
                )

    def finish(self, timeout: float) -> tuple[int, str, str]:
        """Exit status of rank 0, its text and its errors."""
        try:
            code = self.processes[0].wait(timeout)
            for process in self.processes[1:] if code in (0, 2, 3, 4) else []:
                process.wait(30)
        finally:
            self.kill()
            self._server.close()
        return code, (self._folder / "stdout").read_text(), (self._folder / "stderr").read_text()

    def kill(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
