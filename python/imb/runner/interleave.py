"""Interleaved launches: several launches run at the same time and measure their rows in alternating segments.

The speed of a shared machine varies within seconds as much as within hours. So launches that run one after the other differ,
even if they are long. Launches that alternate within milliseconds meet the same state of the machine ("duet benchmarking": Bulej
et al., "Duet Benchmarking: Improving Measurement Accuracy in the Cloud", ICPE 2020; there, both sides run simultaneously).
"""

from __future__ import annotations

import contextlib
import random
import resource
import secrets
import selectors
import socket
import threading
import time
from collections.abc import Sequence
from types import TracebackType

from imb.model.errors import ImbError

_ROW = b"r"  # a rank sends this byte if it waits for its next row and not for a segment: src/system/interleave.cpp
_GO = b"!"
TURN_LIMIT = 60.0  # least seconds after which a launch counts as stopped in its turn; turns last a fraction of a second
_TIMES = 10  # a turn may last this many times as long as the longest turn so far
_START_TIMES = 5  # the next rank may take this many times the limit to connect
_TICK = 1.0  # seconds between looks at the clock


def _allow_connections(count: int) -> None:
    """Raises the limit of open files if needed. Raises ImbError if the system does not allow that many."""
    needed = count + 100  # for other open files
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or needed <= soft:
        return
    if hard != resource.RLIM_INFINITY and needed > hard:
        raise ImbError(
            f"{count} interleaved ranks need {needed} open files, and {hard} are allowed (ulimit -Hn); launch one by one (imb ab --launch-by-launch; a campaign without segments)"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


class _Side:
    """One launch. `requests`: connection -> request, for each rank that waits."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self.token = secrets.token_hex(8)
        self.requests: dict[socket.socket, bytes] = {}
        self.connected = 0
        self.has_turn = False
        self.ended = False
        self.lost: str | None = None

    @property
    def waits(self) -> bool:
        return len(self.requests) == self.ranks

    @property
    def begins_row(self) -> bool:
        return _ROW in self.requests.values()


class Conductor:
    """A context in which a thread gives the turn to one launch at a time.

    In a round, all launches that are within a row get a turn each, in random order. When no launch is within a row, all begin
    their next row. The first turn is given when all ranks are connected. A launch that has ended, has lost a rank, or does not end
    its turn in time gets no more turns, and the others do not wait for it.
    """

    def __init__(
        self, ranks: Sequence[int], seed: int, *, everywhere: bool = False, limit: float = TURN_LIMIT
    ) -> None:
        """`ranks`: number of ranks of each launch; `everywhere`: whether ranks may be on other hosts. A turn may last `limit` seconds or ten
        times as long as the longest turn so far, whichever is longer."""
        _allow_connections(sum(ranks))
        self._sides = [_Side(count) for count in ranks]
        self._random = random.Random(seed)
        self._queue: list[_Side] = []
        self._side_of: dict[socket.socket, _Side | None] = {}  # None until its token has arrived
        self._received: dict[socket.socket, bytes] = {}
        self._leaving: list[int] = []
        address = "" if everywhere else "127.0.0.1"
        try:
            self._listener = socket.create_server((address, 0), backlog=4096)
        except OSError as error:
            where = address or "this host"
            raise ImbError(
                f"interleaved launches need a port of {where}: {error.strerror or error}; enable that network, or launch one by one (imb ab --launch-by-launch; a campaign without segments)"
            ) from error
        self._host = socket.gethostname() if everywhere else "127.0.0.1"
        self._wake_receiver, self._wake_sender = socket.socketpair()
        self._over = False
        self._limit = limit
        self._waited = 0.0  # seconds since the last turn was given, or the last rank connected
        self._longest = 0.0  # longest turn so far, in seconds
        self._selector = selectors.DefaultSelector()
        for sock in (self._listener, self._wake_receiver):
            sock.setblocking(False)
            self._selector.register(sock, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, name="turns", daemon=True)

    def __enter__(self) -> Conductor:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = True
        self._wake()
        self._thread.join()
        for sock in (self._listener, self._wake_receiver, self._wake_sender, *self._side_of):
            sock.close()
        self._selector.close()

    def words(self, side: int, parts: int) -> list[str]:
        """The suite's option -turns for launch `side`, with `parts` segments per row."""
        port = self._listener.getsockname()[1]
        return ["-turns", f"{parts},{self._host}:{port},{self._sides[side].token}"]

    def leave(self, side: int) -> None:
        """The caller tells that this launch has ended, even if it never connected. May be called from any thread."""
        self._leaving.append(side)
        self._wake()

    def stop_reason(self, side: int) -> str | None:
        """Why this launch gets no more turns, or None if it has not stopped. The caller must end a launch that stopped. May be called from any
        thread."""
        return self._sides[side].lost

    def _wake(self) -> None:
        """Wakes the thread."""
        self._wake_sender.send(b".")

    def _serve(self) -> None:
        while not self._over:
            began = time.monotonic()
            ready = self._selector.select(_TICK)
            # The limit matters if this process was suspended together with the launches.
            self._waited += min(time.monotonic() - began, 2 * _TICK)
            for key, _ in ready:
                sock = key.fileobj
                assert isinstance(sock, socket.socket)
                if sock.fileno() < 0:  # closed above, together with another rank of its launch
                    continue
                if sock is self._listener:
                    self._accept()
                elif sock is self._wake_receiver:
                    sock.recv(4096)
                    while self._leaving:
                        self._sides[self._leaving.pop()].ended = True
                else:
                    self._receive(sock)
            self._give_up()
            self._give_turn()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # it has disconnected
            rank, _ = self._listener.accept()
            rank.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._side_of[rank], self._received[rank] = None, b""
            self._selector.register(rank, selectors.EVENT_READ)

    def _receive(self, rank: socket.socket) -> None:
        try:
            data = rank.recv(256)
        except OSError:
            data = b""
        side = self._side_of[rank]
        if not data:
            self._disconnect(rank)
        elif side is None:
            self._identify(rank, self._received[rank] + data)
        else:
            self._take_request(rank, side, data)

    def _identify(self, rank: socket.socket, data: bytes) -> None:
        """Finds the launch of a rank by its token. The rank's first request may arrive together with the token."""
        self._received[rank] = data
        token, newline, request = data.partition(b"\n")
        side = next((side for side in self._sides if side.token.encode() == token), None)
        if newline and side and sum(owner is side for owner in self._side_of.values()) < side.ranks:
            self._side_of[rank] = side
            side.connected += 1
            self._waited = 0.0  # the time limit of the others starts again
            if request:
                self._take_request(rank, side, request)
        elif newline or len(data) > 64:  # not a rank of these launches
            self._disconnect(rank)

    def _take_request(self, rank: socket.socket, side: _Side, request: bytes) -> None:
        side.requests[rank] = request[-1:]
        if side.has_turn and side.waits:
            side.has_turn = False
            self._longest = max(self._longest, self._waited)

    def _disconnect(self, rank: socket.socket) -> None:
        """Closes a connection that ended. If it belongs to a launch, closes all connections of that launch: its other ranks need no turn."""
        side = self._side_of[rank]
        ranks = [rank] if side is None else [each for each, owner in self._side_of.items() if owner is side]
        for each in ranks:
            self._selector.unregister(each)
            each.close()
            del self._side_of[each], self._received[each]
        if side is not None:
            side.ended = True

    def _give_up(self) -> None:
        """Marks launches as lost if they exceeded their time limit to connect or to end a turn."""
        active = [side for side in self._sides if not side.ended]
        arriving = [side for side in active if side.connected < side.ranks]
        if arriving:
            begun = len(arriving) < len(active) or any(side.connected for side in arriving)
            limit = _START_TIMES * self._limit if begun else None
        else:
            limit = max(self._limit, _TIMES * self._longest)
        if limit is None or self._waited < limit:
            return
        for side in arriving or [side for side in active if not side.waits]:
            others = "launches" if len(arriving) < len(active) else "ranks"
            arrived, action = side.connected, f"connect within {limit:.3g} s of the other {others}"
            if not arriving:
                arrived = len(side.requests)
                action = f"end the turn within {limit:.3g} s (turns took {self._longest:.2g} s at most)"
            side.lost = f"{side.ranks - arrived} of {side.ranks} ranks did not {action}"
            side.ended = True
            if rank := next((rank for rank, owner in self._side_of.items() if owner is side), None):
                self._disconnect(rank)  # also disconnects the other ranks of this launch
        self._waited = 0.0

    def _give_turn(self) -> None:
        active = [side for side in self._sides if not side.ended]
        if not active or any(side.has_turn or not side.waits for side in active):
            return
        self._queue = [side for side in self._queue if not side.ended]
        if not self._queue:
            self._queue = [side for side in active if not side.begins_row] or active
            self._random.shuffle(self._queue)
        side = self._queue.pop()
        ranks, side.requests, side.has_turn = list(side.requests), {}, True
        self._waited = 0.0
        for rank in ranks:
            with contextlib.suppress(OSError):  # if it has disconnected, `_receive` notices
                rank.send(_GO)
