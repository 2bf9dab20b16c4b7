// As bench/bare_loop.cpp, for what MPI programs do today: one loop for each way to communicate.
//
//   bare_today COMPONENT REPETITIONS BYTES...
//       MPI1: Neighbor_alltoall, Neighbor_allgather, PingPong_mprobe. MPI1/synchronous: PingPong. NBC:
//       Ineighbor_alltoall_pure. RMA: Rput, Rget, Raccumulate. RMA/pscw: Unidir_put. RMA/shared:
//       Shared_store, Shared_load. EXT: Attach_detach. P2P: random pairs, Multi_pair, SendRecv_Replace, Halo
//       in two dimensions. P2P/pairs: PingPong, PingPing. MPI4: Sendrecv_persist, Exchange_persist,
//       Allreduce_persist_pure and, but under Open MPI, where they hang, Partitioned_PingPong and
//       Partitioned_Exchange. MPI4/creation: Comm_split. MT: PingPongMT, AllReduceMT, of one thread.
//       Lines as of bare_loop. Exit status 2 with anything else
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "bare.h"
#include "model/random.h"

constexpr int window = 16;
constexpr int parts = 8;
constexpr int sides = 4;
static_assert(std::max(2 * sides, window) <= most_requests);
constexpr int to_left = 1, to_right = 2;

[[gnu::noinline]] double neighbor_alltoall(const Here& h, long repetitions) {
  const Here here = h;
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    MPI_Neighbor_alltoall(here.send, here.bytes, MPI_BYTE, here.receive, here.bytes, MPI_BYTE, here.comm);
  }
  return MPI_Wtime() - start;
}

[[gnu::noinline]] double ping_pong_with_probe(const Here& h, long repetitions) {
  const Here here = h;
  MPI_Message message;
  const double start = MPI_Wtime();
  if (here.rank == 0) {
    for (long i = 0; i < repetitions; ++i) {
      MPI_Send(here.send, here.bytes, MPI_BYTE, 1, tag, here.comm);
      MPI_Mprobe(MPI_ANY_SOURCE, tag, here.comm, &message, MPI_STATUS_IGNORE);
      MPI_Mrecv(here.receive, here.bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    }
  } else {
    for (long i = 0; i < repetitions; ++i) {
      MPI_Mprobe(MPI_ANY_SOURCE, tag, here.comm, &message, MPI_STATUS_IGNORE);
      MPI_Mrecv(here.receive, here.bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
      MPI_Send(here.send, here.bytes, MPI_BYTE, 0, tag, here.comm);
    }
  }
  return MPI_Wtime() - start;
}

[[gnu::noinline]] double ping_pong_synchronous(const Here& h, long repetitions) {
  const Here here = h;
  const double start = MPI_Wtime();
  if (here.rank == 0) {
    for (long i = 0; i < repetitions; ++i) {
      MPI_Ssend(here.send, here.bytes, MPI_BYTE, 1, tag, here.comm);
      MPI_Recv(here.receive, here.bytes, MPI_BYTE, MPI_ANY_SOURCE, tag, here.comm, MPI_STATUS_IGNORE);
    }
  } else {
    for (long i = 0; i < repetitions; ++i) {
      MPI_Recv(here.receive, here.bytes, MPI_BYTE, MPI_ANY_SOURCE, tag, here.comm, MPI_STATUS_IGNORE);
      MPI_Ssend(here.send, here.bytes, MPI_BYTE, 0, tag, here.comm);
    }
  }
  return MPI_Wtime() - start;
}

[[gnu::noinline]] double neighbor_allgather(const Here& h, long repetitions) {
  const Here here = h;
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    MPI_Neighbor_allgather(here.send, here.bytes, MPI_BYTE, here.receive, here.bytes, MPI_BYTE, here.comm);
  }
  return MPI_Wtime() - start;
}

[[gnu::noinline]] double ineighbor_alltoall_and_wait(const Here& h, long repetitions) {
  const Here here = h;
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    MPI_Request request;
    MPI_Ineighbor_alltoall(here.send, here.bytes, MPI_BYTE, here.receive, here.bytes, MPI_BYTE, here.comm,
                           &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return MPI_Wtime() - start;
}

[[gnu::noinline]] double paired_pingpong(const Here& h, long repetitions) {
  const Here here = h;
  const int other = 1 - here.rank;
  const double start = MPI_Wtime();
  if (here.rank == 0) {
    for (long i = 0; i < repetitions; ++i) {
      MPI_Send(here.send, here.bytes, MPI_BYTE, other, tag, here.comm);
      MPI_Recv(here.receive, here.bytes, MPI_BYTE, other, tag, here.comm, MPI_STATUS_IGNORE);
    }
  } else {
    for (long i = 0; i < repetitions; ++i) {
      MPI_Recv(here.receive, here.bytes, MPI_BYTE, other, tag, here.comm, MPI_STATUS_IGNORE);
      MPI_Send(here.send, here.bytes, MPI_BYTE, other, tag, here.comm);
    }
  }
  return MPI_Wtime() - start;
}

[[gnu::noinline]] double paired_pingping(const Here& h, long repetitions) {
  const Here here = h;
  const int other = 1 - here.rank;
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    MPI_Request request;
    MPI_Irecv(here.receive, here.bytes, MPI_BYTE, other, tag, here.comm, &request);
    MPI_Send(here.send, here.bytes, MPI_BYTE, other, tag, here.comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return MPI_Wtime() - start;
}

[[gnu::noinline]] double multi_pair(const Here& h, long repetitions) {
  const Here here = h;
  const int other = 1 - here.rank;
  const double start = MPI_Wtime();
  if (here.rank == 0) {
    for (long i = 0; i < repetitions; ++i) {
      for (int k = 0; k < window; ++k) {
        MPI_Isend(here.send, here.bytes, MPI_BYTE, other, tag, here.comm, here.requests + k);
      }
      MPI_Waitall(window, here.requests, MPI_STATUSES_IGNORE);
    }
  } else {
    for (long i = 0; i < repetitions; ++i) {
      for (int k = 0; k < window; ++k) {
        MPI_Irecv(here.receive, here.bytes, MPI_BYTE, other, tag, here.comm, here.requests + k);
      }
      MPI_Waitall(window, here.requests, MPI_STATUSES_IGNORE);
    }
  }
  return MPI_Wtime() - start;
}

// In a round: whom this rank sends to and receives from, and whether it is the one that sends.
struct Round {
  int to;
  int from;
  bool sends;
};

// The suite's rounds, as their order decides what is timed: of two ranks in pairs, and on a cycle.
std::vector<Round> rounds_of(int rank) {
  std::vector<Round> rounds;
  for (int round = 0; round < openimb::partner_rounds; ++round) {
    const std::vector<int> order = openimb::random_order(1, round, 2);
    rounds.push_back({.to = 1 - rank, .from = 1 - rank, .sends = order[0] == rank});
  }
  return rounds;
}

[[gnu::noinline]] double unirandom(const Here& h, const Round* rounds, long repetitions) {
  const Here here = h;
  int round = 0;
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    if (rounds[round].sends) {
      MPI_Send(here.send, here.bytes, MPI_BYTE, rounds[round].to, tag, here.comm);
    } else {
      MPI_Recv(here.receive, here.bytes, MPI_BYTE, rounds[round].from, tag, here.comm, MPI_STATUS_IGNORE);
    }
    if (++round == openimb::partner_rounds) round = 0;
  }
  return MPI_Wtime() - start;
}

// Of two ranks both partners are the other one, in Birandom and in Corandom.
[[gnu::noinline]] double random_exchange(const Here& h, const Round* rounds, long repetitions) {
  const Here here = h;
  int round = 0;
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    MPI_Request request;
    MPI_Irecv(here.receive, here.bytes, MPI_BYTE, rounds[round].from, tag, here.comm, &request);
    MPI_Send(here.send, here.bytes, MPI_BYTE, rounds[round].to, tag, here.comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (++round == openimb::partner_rounds) round = 0;
  }
  return MPI_Wtime() - start;
}

[[gnu::noinline]] double get_and_wait(const Here& h, long repetitions) {
  const Here here = h;
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    MPI_Request request;
    MPI_Rget(here.receive, here.bytes, MPI_BYTE, 1, 0, here.bytes, MPI_BYTE, here.win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return MPI_Wtime() - start;
}

[[gnu::noinline]] double accumulate_and_wait(const Here& h, long repetitions) {
  const Here here = h;
  const int count = here.bytes / static_cast<int>(sizeof(float));
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    MPI_Request request;
    MPI_Raccumulate(here.send, count, MPI_FLOAT, 1, 0, count, MPI_FLOAT, MPI_SUM, here.win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return MPI_Wtime() - start;
}

[[gnu::noinline]] double put_from_post_to_wait(const Here& h, MPI_Group other, long repetitions) {
  const Here here = h;
  const double start = MPI_Wtime();
  if (here.rank == 0) {
    for (long i = 0; i < repetitions; ++i) {
      MPI_Win_start(other, 0, here.win);
      MPI_Put(here.send, here.bytes, MPI_BYTE, 1, 0, here.bytes, MPI_BYTE, here.win);
      MPI_Win_complete(here.win);
    }
  } else {
    for (long i = 0; i < repetitions; ++i) {
      MPI_Win_post(other, 0, here.win);
      MPI_Win_wait(here.win);
    }
  }
  return MPI_Wtime() - start;
}

// A call, as in the suite: no compiler knows the length.
[[gnu::noinline]] void copy(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

[[gnu::noinline]] double store_and_sync(const Here& h, char* part, long repetitions) {
  const Here here = h;
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    copy(part, here.send, static_cast<std::size_t>(here.bytes));
    MPI_Win_sync(here.win);
  }
  return MPI_Wtime() - start;
}

[[gnu::noinline]] double sync_and_load(const Here& h, const char* part, long repetitions) {
  const Here here = h;
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    MPI_Win_sync(here.win);
    copy(here.receive, part, static_cast<std::size_t>(here.bytes));
  }
  return MPI_Wtime() - start;
}

[[gnu::noinline]] double attach_and_detach(const Here& h, long repetitions) {
  const Here here = h;
  const MPI_Aint bytes = std::max(1, here.bytes);
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    MPI_Win_attach(here.win, here.receive, bytes);
    MPI_Win_detach(here.win, here.receive);
  }
  return MPI_Wtime() - start;
}

[[gnu::noinline]] double split_and_free(const Here& h, long repetitions) {
  const Here here = h;
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    MPI_Comm made;
    MPI_Comm_split(here.comm, here.rank % 2, here.rank, &made);
    MPI_Comm_free(&made);
  }
  return MPI_Wtime() - start;
}

// Rank 0 alone, with a lock on rank 1's window.
[[gnu::noinline]] double put_and_wait(const Here& h, long repetitions) {
  const Here here = h;
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    MPI_Request request;
    MPI_Rput(here.send, here.bytes, MPI_BYTE, 1, 0, here.bytes, MPI_BYTE, here.win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return MPI_Wtime() - start;
}

[[gnu::noinline]] double send_receive_replace(const Here& h, long repetitions) {
  const Here here = h;
  const int other = 1 - here.rank;
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    MPI_Sendrecv_replace(here.receive, here.bytes, MPI_BYTE, other, tag, other, tag, here.comm,
                         MPI_STATUS_IGNORE);
  }
  return MPI_Wtime() - start;
}

// Tags are the directions of messages: of two neighbors in a dimension the second one's message goes in the
// direction of the first.
[[gnu::noinline]] double stencil(const Here& h, long repetitions) {
  const Here here = h;
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    for (int side = 0; side < sides; ++side) {
      MPI_Irecv(here.receive + side * here.bytes, here.bytes, MPI_BYTE, here.neighbors[side],
                sides - 1 - side, here.comm, here.requests + side);
    }
    for (int side = 0; side < sides; ++side) {
      MPI_Isend(here.send + side * here.bytes, here.bytes, MPI_BYTE, here.neighbors[side], side, here.comm,
                here.requests + sides + side);
    }
    MPI_Waitall(2 * sides, here.requests, MPI_STATUSES_IGNORE);
  }
  return MPI_Wtime() - start;
}

template <int count>
[[gnu::always_inline]] inline double start_all(const Here& h, long repetitions) {
  MPI_Request* const requests = h.requests;
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    MPI_Startall(count, requests);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  }
  return MPI_Wtime() - start;
}
[[gnu::noinline]] double start_two_and_wait(const Here& h, long repetitions) {
  return start_all<2>(h, repetitions);
}
[[gnu::noinline]] double start_four_and_wait(const Here& h, long repetitions) {
  return start_all<4>(h, repetitions);
}

[[gnu::noinline]] double start_and_wait(const Here& h, long repetitions) {
  MPI_Request* const request = h.requests;
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
  }
  return MPI_Wtime() - start;
}

#ifndef OPEN_MPI
[[gnu::noinline]] double ping_pong_in_parts(const Here& h, long repetitions) {
  MPI_Request* const requests = h.requests;  // send, receive
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    MPI_Start(requests + 1);
    if (h.rank != 0) MPI_Wait(requests + 1, MPI_STATUS_IGNORE);
    MPI_Start(requests);
    for (int part = 0; part < parts; ++part) MPI_Pready(part, requests[0]);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
    if (h.rank == 0) MPI_Wait(requests + 1, MPI_STATUS_IGNORE);
  }
  return MPI_Wtime() - start;
}

[[gnu::noinline]] double exchange_in_parts(const Here& h, long repetitions) {
  MPI_Request* const requests = h.requests;  // two receives, two sends
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    MPI_Startall(4, requests);
    for (int part = 0; part < parts; ++part) MPI_Pready(part, requests[2]);
    for (int part = 0; part < parts; ++part) MPI_Pready(part, requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  }
  return MPI_Wtime() - start;
}
#endif

void free_all(MPI_Request* requests, int count) {
  for (int i = 0; i < count; ++i) MPI_Request_free(requests + i);
}

void of_mpi1(Here here, long repetitions) {
  Here on_grid = on_a_grid(here);
  measure("Neighbor_alltoall", here.bytes, 1.0, here.rank, repetitions,
          [&](long n) { return neighbor_alltoall(on_grid, n); });
  measure("Neighbor_allgather", here.bytes, 1.0, here.rank, repetitions,
          [&](long n) { return neighbor_allgather(on_grid, n); });
  MPI_Comm_free(&on_grid.comm);
  measure("PingPong_mprobe", here.bytes, 0.5, here.rank, repetitions,
          [&](long n) { return ping_pong_with_probe(here, n); });
}

void of_synchronous(Here here, long repetitions) {
  measure("PingPong, -send_mode synchronous", here.bytes, 0.5, here.rank, repetitions,
          [&](long n) { return ping_pong_synchronous(here, n); });
}

void of_nbc(Here here, long repetitions) {
  Here on_grid = on_a_grid(here);
  measure("Ineighbor_alltoall_pure", here.bytes, 1.0, here.rank, repetitions,
          [&](long n) { return ineighbor_alltoall_and_wait(on_grid, n); });
  MPI_Comm_free(&on_grid.comm);
}

// A window for each, as in the suite. Of a get rank 1's send buffer is in it.
void of_rma(Here here, long repetitions) {
  struct {
    const char* name;
    double (*run)(const Here& here, long repetitions);
    char* exposed;
  } const requests[] = {{"Rput", put_and_wait, here.receive},
                        {"Rget", get_and_wait, here.send},
                        {"Raccumulate", accumulate_and_wait, here.receive}};
  for (const auto& one : requests) {
    MPI_Win_create(one.exposed, here.bytes, 1, MPI_INFO_NULL, here.comm, &here.win);
    measure(one.name, here.bytes, 1.0, here.rank, repetitions, [&](long n) {
      if (here.rank != 0) return 0.0;
      MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, here.win);
      const double seconds = one.run(here, n);
      MPI_Win_unlock(1, here.win);
      return seconds;
    });
    MPI_Win_free(&here.win);
  }
}

void of_shared_memory(Here here, long repetitions) {
  char *own = nullptr, *part = nullptr;
  MPI_Aint size = 0;
  int unit = 1;
  MPI_Win_allocate_shared(here.bytes, 1, MPI_INFO_NULL, here.comm, static_cast<void*>(&own), &here.win);
  MPI_Win_shared_query(here.win, 1, &size, &unit, static_cast<void*>(&part));
  const auto locked = [&](const auto& run) {
    return [&](long n) {
      if (here.rank != 0) return 0.0;
      MPI_Win_lock_all(0, here.win);
      const double seconds = run(n);
      MPI_Win_unlock_all(here.win);
      return seconds;
    };
  };
  const auto store = [&](long n) { return store_and_sync(here, part, n); };
  const auto load = [&](long n) { return sync_and_load(here, part, n); };
  measure("Shared_store", here.bytes, 1.0, here.rank, repetitions, locked(store));
  measure("Shared_load", here.bytes, 1.0, here.rank, repetitions, locked(load));
  MPI_Win_free(&here.win);
}

void of_pscw(Here here, long repetitions) {
  MPI_Group all, other;
  const int rank = 1 - here.rank;
  MPI_Comm_group(here.comm, &all);
  MPI_Group_incl(all, 1, &rank, &other);
  MPI_Win_create(here.receive, here.bytes, 1, MPI_INFO_NULL, here.comm, &here.win);
  measure("Unidir_put, -sync_mode pscw", here.bytes, 1.0, here.rank, repetitions,
          [&](long n) { return put_from_post_to_wait(here, other, n); });
  MPI_Win_free(&here.win);
  MPI_Group_free(&other);
  MPI_Group_free(&all);
}

void of_ext(Here here, long repetitions) {
  MPI_Win_create_dynamic(MPI_INFO_NULL, here.comm, &here.win);
  measure("Attach_detach", here.bytes, 1.0, here.rank, repetitions,
          [&](long n) { return attach_and_detach(here, n); });
  MPI_Win_free(&here.win);
}

void of_creation(Here here, long repetitions) {
  measure("Comm_split", 0, 1.0, here.rank, repetitions, [&](long n) { return split_and_free(here, n); });
}

void of_pairs(Here here, long repetitions) {
  measure("PingPong, of pairs", here.bytes, 0.5, here.rank, repetitions,
          [&](long n) { return paired_pingpong(here, n); });
  measure("PingPing, of pairs", here.bytes, 1.0, here.rank, repetitions,
          [&](long n) { return paired_pingping(here, n); });
}

void of_p2p(Here here, long repetitions) {
  const std::vector<Round> rounds = rounds_of(here.rank);
  measure("Unirandom", here.bytes, 1.0, here.rank, repetitions,
          [&](long n) { return unirandom(here, rounds.data(), n); });
  for (const char* const name : {"Birandom", "Corandom"}) {
    measure(name, here.bytes, 1.0, here.rank, repetitions,
            [&](long n) { return random_exchange(here, rounds.data(), n); });
  }
  measure("Multi_pair", here.bytes, 1.0, here.rank, repetitions, [&](long n) { return multi_pair(here, n); });
  measure("SendRecv_Replace", here.bytes, 1.0, here.rank, repetitions,
          [&](long n) { return send_receive_replace(here, n); });
  const int other = 1 - here.rank, neighbors[] = {here.rank, other, other, here.rank};
  here.neighbors = neighbors;
  measure("Halo", here.bytes, 1.0, here.rank, repetitions, [&](long n) { return stencil(here, n); });
}

void of_mpi4(Here here, long repetitions) {
  const int other = 1 - here.rank, count = here.bytes / static_cast<int>(sizeof(float));
  MPI_Recv_init(here.receive, here.bytes, MPI_BYTE, other, tag, here.comm, here.requests);
  MPI_Send_init(here.send, here.bytes, MPI_BYTE, other, tag, here.comm, here.requests + 1);
  measure("Sendrecv_persist", here.bytes, 1.0, here.rank, repetitions,
          [&](long n) { return start_two_and_wait(here, n); });
  free_all(here.requests, 2);
  char* const second_receive = here.receive + here.bytes;
  char* const second_send = here.send + here.bytes;
  MPI_Recv_init(here.receive, here.bytes, MPI_BYTE, other, to_right, here.comm, here.requests);
  MPI_Recv_init(second_receive, here.bytes, MPI_BYTE, other, to_left, here.comm, here.requests + 1);
  MPI_Send_init(here.send, here.bytes, MPI_BYTE, other, to_right, here.comm, here.requests + 2);
  MPI_Send_init(second_send, here.bytes, MPI_BYTE, other, to_left, here.comm, here.requests + 3);
  measure("Exchange_persist", here.bytes, 1.0, here.rank, repetitions,
          [&](long n) { return start_four_and_wait(here, n); });
  free_all(here.requests, 4);
  MPI_Allreduce_init(here.send, here.receive, count, MPI_FLOAT, MPI_SUM, here.comm, MPI_INFO_NULL,
                     here.requests);
  measure("Allreduce_persist_pure", here.bytes, 1.0, here.rank, repetitions,
          [&](long n) { return start_and_wait(here, n); });
  free_all(here.requests, 1);
#ifndef OPEN_MPI
  const int each = here.bytes / parts;
  MPI_Psend_init(here.send, parts, each, MPI_BYTE, other, tag, here.comm, MPI_INFO_NULL, here.requests);
  MPI_Precv_init(here.receive, parts, each, MPI_BYTE, other, tag, here.comm, MPI_INFO_NULL,
                 here.requests + 1);
  measure("Partitioned_PingPong", here.bytes, 0.5, here.rank, repetitions,
          [&](long n) { return ping_pong_in_parts(here, n); });
  free_all(here.requests, 2);
  const auto receive = [&](char* at, int direction, MPI_Request* request) {
    MPI_Precv_init(at, parts, each, MPI_BYTE, other, direction, here.comm, MPI_INFO_NULL, request);
  };
  const auto send = [&](char* at, int direction, MPI_Request* request) {
    MPI_Psend_init(at, parts, each, MPI_BYTE, other, direction, here.comm, MPI_INFO_NULL, request);
  };
  receive(here.receive, to_right, here.requests);
  receive(second_receive, to_left, here.requests + 1);
  send(here.send, to_right, here.requests + 2);
  send(second_send, to_left, here.requests + 3);
  measure("Partitioned_Exchange", here.bytes, 1.0, here.rank, repetitions,
          [&](long n) { return exchange_in_parts(here, n); });
  free_all(here.requests, 4);
#endif
}

void of_threads(Here here, long repetitions) {
  measure("PingPongMT", here.bytes, 0.5, here.rank, repetitions,
          [&](long n) { return ping_pong(here.send, here.receive, here.bytes, here.rank, here.comm, n); });
  measure("AllReduceMT", here.bytes, 1.0, here.rank, repetitions,
          [&](long n) { return allreduce(here.send, here.receive, here.bytes, here.rank, here.comm, n); });
}

int main(int argc, char** argv) {
  return run_components(argc, argv, "bare_today", sides,
                        {{"MPI1", of_mpi1},
                         {"MPI1/synchronous", of_synchronous},
                         {"NBC", of_nbc},
                         {"RMA", of_rma},
                         {"RMA/shared", of_shared_memory},
                         {"RMA/pscw", of_pscw},
                         {"EXT", of_ext},
                         {"P2P", of_p2p},
                         {"P2P/pairs", of_pairs},
                         {"MPI4", of_mpi4},
                         {"MPI4/creation", of_creation},
                         {"MT", of_threads}});
}
