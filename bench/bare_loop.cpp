// The floor under the suite's figures: the same measurement written by hand, as plainly as can be.
// bench/run.py runs the two by turns and compares times and machine code.
//
//   bare_loop COMPONENT REPETITIONS BYTES...
//       MPI1: PingPong with each length, then Allreduce with each. NBC: Iallreduce_pure. RMA: Unidir_put,
//       EXT: Unidir_Put, both not aggregate. Per measurement a line BENCHMARK BYTES SECONDS: mean per
//       repetition on the slowest rank, PingPong's halved
//   bare_loop
//       nothing but MPI_Init and MPI_Finalize
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

constexpr int tag = 1;
long warm_up_repetitions = 10;  // no constant, or the compiler makes loops of their own for the warm-up
constexpr int warm_up_bytes = 4;
constexpr std::size_t guard = 64;

[[gnu::noinline]] double ping_pong(char* send, char* receive, int bytes, int rank, MPI_Comm comm,
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

[[gnu::noinline]] double allreduce(char* send, char* receive, int bytes, int, MPI_Comm comm,
                                   long repetitions) {
  const int count = bytes / static_cast<int>(sizeof(float));
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) MPI_Allreduce(send, receive, count, MPI_FLOAT, MPI_SUM, comm);
  return MPI_Wtime() - start;
}

[[gnu::noinline]] double iallreduce_and_wait(char* send, char* receive, int bytes, int, MPI_Comm comm,
                                             long repetitions) {
  const int count = bytes / static_cast<int>(sizeof(float));
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    MPI_Request request;
    MPI_Iallreduce(send, receive, count, MPI_FLOAT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return MPI_Wtime() - start;
}

// Rank 0 alone, with a lock on rank 1's window.
[[gnu::noinline]] double put_and_flush(const char* send, int bytes, MPI_Win win, long repetitions) {
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    MPI_Put(send, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
    MPI_Win_flush(1, win);
  }
  return MPI_Wtime() - start;
}

[[gnu::noinline]] double put_and_fence(const char* send, int bytes, int rank, MPI_Win win, long repetitions) {
  const double start = MPI_Wtime();
  if (rank == 0) {
    for (long i = 0; i < repetitions; ++i) {
      MPI_Put(send, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
      MPI_Win_fence(0, win);
    }
  } else {
    for (long i = 0; i < repetitions; ++i) MPI_Win_fence(0, win);
  }
  return MPI_Wtime() - start;
}

// As the suite has it: page-aligned, 64 bytes more than the message, the contents of the guide.
char* make_buffer(int bytes, int rank) {
  const std::size_t size = static_cast<std::size_t>(bytes) + guard;
  float* const values = static_cast<float*>(::operator new(size, std::align_val_t{4096}));
  for (std::size_t i = 0; i < size / sizeof(float); ++i) {
    values[i] = 0.1F * static_cast<float>(rank + 1) + static_cast<float>(i);
  }
  return reinterpret_cast<char*>(values);
}

// `run`: repetitions to the seconds they took on this rank, 0 where it has no part in them and waits.
template <class Run>
void measure(const char* name, int bytes, double factor, int rank, long repetitions, Run run) {
  run(warm_up_repetitions);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  const double mine = run(repetitions);
  MPI_Barrier(MPI_COMM_WORLD);
  double slowest = 0;
  MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  const double seconds = slowest / static_cast<double>(repetitions) * factor;
  if (rank == 0) std::printf("%s %d %.17g\n", name, bytes, seconds);
}

struct TwoSided {
  const char* component;
  const char* name;
  double (*run)(char* send, char* receive, int bytes, int rank, MPI_Comm comm, long repetitions);
  double factor;
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 3) {
    const char* const component = argv[1];
    const long repetitions = std::atol(argv[2]);
    int largest = warm_up_bytes;
    for (int i = 3; i < argc; ++i) largest = std::max(largest, std::atoi(argv[i]));
    char* const send = make_buffer(largest, rank);
    char* const receive = make_buffer(largest, rank);
    MPI_Comm comm;  // one of its own, as in the suite
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);

    for (const TwoSided& benchmark : {TwoSided{"MPI1", "PingPong", ping_pong, 0.5},
                                      {"MPI1", "Allreduce", allreduce, 1.0},
                                      {"NBC", "Iallreduce_pure", iallreduce_and_wait, 1.0}}) {
      if (std::strcmp(component, benchmark.component) != 0) continue;
      benchmark.run(send, receive, warm_up_bytes, rank, comm, warm_up_repetitions);
      for (int i = 3; i < argc; ++i) {
        const int bytes = std::atoi(argv[i]);
        measure(benchmark.name, bytes, benchmark.factor, rank, repetitions,
                [&](long n) { return benchmark.run(send, receive, bytes, rank, comm, n); });
      }
    }

    const bool locks = std::strcmp(component, "RMA") == 0;
    const bool fences = std::strcmp(component, "EXT") == 0;
    for (int i = 3; i < argc && (locks || fences); ++i) {
      const int bytes = std::atoi(argv[i]);
      MPI_Win win;  // one per measurement, as in the suite
      MPI_Win_create(receive, bytes, 1, MPI_INFO_NULL, comm, &win);
      if (locks) {
        measure("Unidir_put", bytes, 1.0, rank, repetitions, [&](long n) {
          if (rank != 0) return 0.0;
          MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
          const double seconds = put_and_flush(send, bytes, win, n);
          MPI_Win_unlock(1, win);
          return seconds;
        });
      } else {
        measure("Unidir_Put", bytes, 1.0, rank, repetitions, [&](long n) {
          MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
          const double seconds = put_and_fence(send, bytes, rank, win, n);
          MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
          return seconds;
        });
      }
      MPI_Win_free(&win);
    }

    MPI_Comm_free(&comm);
    for (char* const buffer : {send, receive}) ::operator delete(buffer, std::align_val_t{4096});
  }
  MPI_Finalize();
  return 0;
}
