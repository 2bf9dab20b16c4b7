// What the programs written by hand share: buffers as the suite has them, and one way to measure.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>

constexpr int tag = 1;
inline long warm_up_repetitions =
    10;  // no constant, or the compiler makes loops of their own for the warm-up
constexpr int warm_up_bytes = 4;
constexpr std::size_t guard = 64;

// Page-aligned, 64 bytes more than the message, the contents of the guide.
inline char* make_buffer(int bytes, int rank) {
  const std::size_t size = static_cast<std::size_t>(bytes) + guard;
  float* const values = static_cast<float*>(::operator new(size, std::align_val_t{4096}));
  for (std::size_t i = 0; i < size / sizeof(float); ++i) {
    values[i] = 0.1F * static_cast<float>(rank + 1) + static_cast<float>(i);
  }
  return reinterpret_cast<char*>(values);
}

// `run`: repetitions to the seconds they took on this rank, 0 where it has no part in them and waits.
template <class Run>
void measure_cold(const char* name, int bytes, double factor, int rank, long repetitions, Run run) {
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  const double mine = run(repetitions);
  MPI_Barrier(MPI_COMM_WORLD);
  double slowest = 0;
  MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  const double seconds = slowest / static_cast<double>(repetitions) * factor;
  if (rank == 0) std::printf("%s %d %.17g\n", name, bytes, seconds);
}

template <class Run>
void measure(const char* name, int bytes, double factor, int rank, long repetitions, Run run) {
  run(warm_up_repetitions);
  measure_cold(name, bytes, factor, rank, repetitions, run);
}

[[gnu::noinline]] inline double ping_pong(char* send, char* receive, int bytes, int rank, MPI_Comm comm,
                                          long repetitions) {
  const double start = MPI_Wtime();
  if (rank == 0) {
    for (long i = 0; i < repetitions; ++i) {
      MPI_Send(send, bytes, MPI_BYTE, 1, tag, comm);
      MPI_Recv(receive, bytes, MPI_BYTE, MPI_ANY_SOURCE, tag, comm, MPI_STATUS_IGNORE);
    }
  } else {
    for (long i = 0; i < repetitions; ++i) {
      MPI_Recv(receive, bytes, MPI_BYTE, MPI_ANY_SOURCE, tag, comm, MPI_STATUS_IGNORE);
      MPI_Send(send, bytes, MPI_BYTE, 0, tag, comm);
    }
  }
  return MPI_Wtime() - start;
}

[[gnu::noinline]] inline double allreduce(char* send, char* receive, int bytes, int, MPI_Comm comm,
                                          long repetitions) {
  const int count = bytes / static_cast<int>(sizeof(float));
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) MPI_Allreduce(send, receive, count, MPI_FLOAT, MPI_SUM, comm);
  return MPI_Wtime() - start;
}

template <class Body>
[[gnu::always_inline]] inline double repeat(long repetitions, Body body) {
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) body();
  return MPI_Wtime() - start;
}

constexpr int most_requests = 16;

// Of this rank: whom it exchanges with, where, and through which requests. `bytes`: of a message without its
// gaps.
struct Here {
  char* send;
  char* receive;
  int bytes;
  int rank;
  MPI_Comm comm;
  MPI_Request* requests;
  const int* neighbors = nullptr;
  MPI_Win win = MPI_WIN_NULL;
};

// Two ranks on a torus of two dimensions, as -topo 1x2 has them.
inline Here on_a_grid(Here here) {
  const int extents[] = {1, 2}, periodic[] = {1, 1};
  MPI_Comm grid;
  MPI_Cart_create(here.comm, 2, extents, periodic, 0, &grid);
  here.comm = grid;
  return here;
}

struct Component {
  const char* name;
  void (*run)(Here here, long repetitions);
};

// The main function of PROGRAM COMPONENT REPETITIONS BYTES...; `blocks`: messages in a buffer.
inline int run_components(int argc, char** argv, const char* program, int blocks,
                          std::initializer_list<Component> components) {
  const bool threads = argc > 1 && std::strcmp(argv[1], "MT") == 0;
  int level = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int largest = warm_up_bytes;
  for (int i = 3; i < argc; ++i) largest = std::max(largest, std::atoi(argv[i]));
  char* const send = make_buffer(blocks * largest, rank);
  char* const receive = make_buffer(blocks * largest, rank);
  MPI_Request requests[most_requests];
  MPI_Comm comm;  // one of its own, as in the suite
  MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
  bool found = false;
  for (const Component& component : components) {
    if (argc < 4 || std::strcmp(argv[1], component.name) != 0) continue;
    found = true;
    for (int i = 3; i < argc; ++i) {
      component.run({.send = send,
                     .receive = receive,
                     .bytes = std::atoi(argv[i]),
                     .rank = rank,
                     .comm = comm,
                     .requests = requests},
                    std::atol(argv[2]));
    }
  }
  MPI_Comm_free(&comm);
  for (char* const buffer : {send, receive}) ::operator delete(buffer, std::align_val_t{4096});
  MPI_Finalize();
  if (!found && rank == 0) std::fprintf(stderr, "usage: %s COMPONENT REPETITIONS BYTES...\n", program);
  return found ? 0 : 2;
}
