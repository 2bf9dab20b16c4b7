// The floor under the suite's figures: the same measurement written by hand, as plainly as can be.
// bench/run.py runs the two by turns and compares times and machine code.
//
//   bare_loop REPETITIONS BYTES...   PingPong with each length, then Allreduce with each; per measurement a
//   line
//                                    BENCHMARK BYTES SECONDS: mean per repetition on the slowest rank,
//                                    PingPong's halved
//   bare_loop                        nothing but MPI_Init and MPI_Finalize
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>

constexpr int tag = 1;
constexpr int warm_up_repetitions = 10;
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

struct Benchmark {
  const char* name;
  double (*run)(char* send, char* receive, int bytes, int rank, MPI_Comm comm, long repetitions);
  double factor;
};

// As the suite has it: page-aligned, 64 bytes more than the message, the contents of the guide.
char* make_buffer(int bytes, int rank) {
  const std::size_t size = static_cast<std::size_t>(bytes) + guard;
  float* const values = static_cast<float*>(::operator new(size, std::align_val_t{4096}));
  for (std::size_t i = 0; i < size / sizeof(float); ++i) {
    values[i] = 0.1F * static_cast<float>(rank + 1) + static_cast<float>(i);
  }
  return reinterpret_cast<char*>(values);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 2) {
    const long repetitions = std::atol(argv[1]);
    int largest = warm_up_bytes;
    for (int i = 2; i < argc; ++i) largest = std::max(largest, std::atoi(argv[i]));
    char* const send = make_buffer(largest, rank);
    char* const receive = make_buffer(largest, rank);
    MPI_Comm comm;  // one of its own, as in the suite
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
    for (const Benchmark& benchmark :
         {Benchmark{"PingPong", ping_pong, 0.5}, {"Allreduce", allreduce, 1.0}}) {
      benchmark.run(send, receive, warm_up_bytes, rank, comm, warm_up_repetitions);
      for (int i = 2; i < argc; ++i) {
        const int bytes = std::atoi(argv[i]);
        benchmark.run(send, receive, bytes, rank, comm, warm_up_repetitions);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        const double mine = benchmark.run(send, receive, bytes, rank, comm, repetitions);
        double slowest = 0;
        MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        const double seconds = slowest / static_cast<double>(repetitions) * benchmark.factor;
        if (rank == 0) std::printf("%s %d %.17g\n", benchmark.name, bytes, seconds);
      }
    }
    MPI_Comm_free(&comm);
    for (char* const buffer : {send, receive}) ::operator delete(buffer, std::align_val_t{4096});
  }
  MPI_Finalize();
  return 0;
}
