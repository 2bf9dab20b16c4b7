// As bench/bare_loop.cpp, for what MPI programs do today: one loop for each way to communicate.
//
//   bare_today COMPONENT REPETITIONS BYTES...
//       MPI1: Neighbor_alltoall, PingPong_mprobe. RMA: Rput. P2P: SendRecv_Replace, Halo in two dimensions.
//       MPI4: Sendrecv_persist, Allreduce_persist_pure and, but under Open MPI, where it hangs,
//       Partitioned_PingPong. MT: PingPongMT, of one thread. Lines as of bare_loop
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "bare.h"

// Of this rank: whom it exchanges with, where, and through which requests.
struct Here {
  char* send;
  char* receive;
  int bytes;
  int rank;
  MPI_Comm comm;
  MPI_Request* requests;
  const int* neighbors;
  MPI_Win win;
};

constexpr int parts = 8;
constexpr int sides = 4;

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

[[gnu::noinline]] double start_all_and_wait(const Here& h, long repetitions) {
  MPI_Request* const requests = h.requests;
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  return MPI_Wtime() - start;
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
#endif

void free_all(MPI_Request* requests, int count) {
  for (int i = 0; i < count; ++i) MPI_Request_free(requests + i);
}

void of_mpi1(Here here, long repetitions) {
  const int extents[] = {1, 2}, periodic[] = {1, 1};
  MPI_Comm grid;
  MPI_Cart_create(here.comm, 2, extents, periodic, 0, &grid);
  Here on_grid = here;
  on_grid.comm = grid;
  measure("Neighbor_alltoall", here.bytes, 1.0, here.rank, repetitions,
          [&](long n) { return neighbor_alltoall(on_grid, n); });
  MPI_Comm_free(&grid);
  measure("PingPong_mprobe", here.bytes, 0.5, here.rank, repetitions,
          [&](long n) { return ping_pong_with_probe(here, n); });
}

void of_rma(Here here, long repetitions) {
  MPI_Win_create(here.receive, here.bytes, 1, MPI_INFO_NULL, here.comm, &here.win);
  measure("Rput", here.bytes, 1.0, here.rank, repetitions, [&](long n) {
    if (here.rank != 0) return 0.0;
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, here.win);
    const double seconds = put_and_wait(here, n);
    MPI_Win_unlock(1, here.win);
    return seconds;
  });
  MPI_Win_free(&here.win);
}

void of_p2p(Here here, long repetitions) {
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
          [&](long n) { return start_all_and_wait(here, n); });
  free_all(here.requests, 2);
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
#endif
}

void of_threads(Here here, long repetitions) {
  measure("PingPongMT", here.bytes, 0.5, here.rank, repetitions,
          [&](long n) { return ping_pong(here.send, here.receive, here.bytes, here.rank, here.comm, n); });
}

struct Component {
  const char* name;
  void (*run)(Here here, long repetitions);
};

int main(int argc, char** argv) {
  const bool threads = argc > 1 && std::strcmp(argv[1], "MT") == 0;
  int level = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int largest = warm_up_bytes;
  for (int i = 3; i < argc; ++i) largest = std::max(largest, std::atoi(argv[i]));
  char* const send = make_buffer(sides * largest, rank);
  char* const receive = make_buffer(sides * largest, rank);
  MPI_Request requests[2 * sides];
  MPI_Comm comm;  // one of its own, as in the suite
  MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
  for (const Component& component : {Component{"MPI1", of_mpi1},
                                     {"RMA", of_rma},
                                     {"P2P", of_p2p},
                                     {"MPI4", of_mpi4},
                                     {"MT", of_threads}}) {
    if (argc < 4 || std::strcmp(argv[1], component.name) != 0) continue;
    for (int i = 3; i < argc; ++i) {
      component.run({.send = send,
                     .receive = receive,
                     .bytes = std::atoi(argv[i]),
                     .rank = rank,
                     .comm = comm,
                     .requests = requests,
                     .neighbors = nullptr,
                     .win = MPI_WIN_NULL},
                    std::atol(argv[2]));
    }
  }
  MPI_Comm_free(&comm);
  for (char* const buffer : {send, receive}) ::operator delete(buffer, std::align_val_t{4096});
  MPI_Finalize();
  return 0;
}
