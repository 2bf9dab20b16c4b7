// The floor under the suite's figures: the same measurement written by hand, as plainly as can be.
// bench/run.py runs the two by turns and compares times and machine code.
//
//   bare_loop COMPONENT REPETITIONS BYTES...
//       MPI1: PingPong with each length, then Allreduce with each. NBC: Iallreduce_pure. RMA: Unidir_put,
//       EXT: Unidir_Put, both not aggregate. Per measurement a line BENCHMARK BYTES SECONDS: mean per
//       repetition on the slowest rank, PingPong's halved
//   bare_loop IO REPETITIONS FILE BYTES...
//       P_Write_Expl, aggregate with each length, then not aggregate, then P_Read_Expl; lines as above
//   bare_loop
//       nothing but MPI_Init and MPI_Finalize
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "bare.h"

// Compared by its machine code alone: `requests` are a send and a receive.
[[gnu::noinline]] double ping_pong_persistent(MPI_Request* requests, int rank, long repetitions) {
  const double start = MPI_Wtime();
  if (rank == 0) {
    for (long i = 0; i < repetitions; ++i) {
      MPI_Startall(2, requests);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
  } else {
    for (long i = 0; i < repetitions; ++i) {
      MPI_Start(requests + 1);
      MPI_Wait(requests + 1, MPI_STATUS_IGNORE);
      MPI_Start(requests);
      MPI_Wait(requests, MPI_STATUS_IGNORE);
    }
  }
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

// A rank's part of a portion, in a file of one portion per repetition.
struct Share {
  int bytes;
  MPI_Offset first;
  MPI_Offset portion;
};

[[gnu::noinline]] double write_all_and_sync(char* send, Share share, MPI_File file, MPI_Comm comm,
                                            long repetitions) {
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    MPI_File_write_at(file, share.first + i * share.portion, send, share.bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  MPI_File_sync(file);
  MPI_Barrier(comm);
  MPI_File_sync(file);
  return MPI_Wtime() - start;
}

[[gnu::noinline]] double write_and_sync(char* send, Share share, MPI_File file, MPI_Comm comm,
                                        long repetitions) {
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    MPI_File_write_at(file, share.first + i * share.portion, send, share.bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(comm);
    MPI_File_sync(file);
  }
  return MPI_Wtime() - start;
}

[[gnu::noinline]] double read_all(char* receive, Share share, MPI_File file, MPI_Comm, long repetitions) {
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    MPI_File_read_at(file, share.first + i * share.portion, receive, share.bytes, MPI_BYTE,
                     MPI_STATUS_IGNORE);
  }
  return MPI_Wtime() - start;
}

// Compared by its machine code alone. Of errors the first is kept: MPI goes on after those of files.
struct ToOpen {
  const char* name;
  MPI_Comm comm;
  MPI_Info info;
  int rank;
  const unsigned char* mark;
};

[[gnu::noinline]] double open_and_close(const ToOpen file, int* error, long repetitions) {
  const auto keep = [&](int code) {
    if (code != MPI_SUCCESS && *error == MPI_SUCCESS) *error = code;
  };
  const double start = MPI_Wtime();
  for (long i = 0; i < repetitions; ++i) {
    MPI_File opened = MPI_FILE_NULL;
    keep(MPI_File_open(file.comm, file.name, MPI_MODE_CREATE | MPI_MODE_RDWR, file.info, &opened));
    if (opened == MPI_FILE_NULL) continue;
    keep(MPI_File_write_at(opened, file.rank, file.mark, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    keep(MPI_File_close(&opened));
  }
  return MPI_Wtime() - start;
}

struct OnFile {
  const char* name;
  bool reads;
  double (*run)(char* memory, Share share, MPI_File file, MPI_Comm comm, long repetitions);
};

// As in the suite, no warm-up, and a file that is opened anew: of what is written one that was not there, of
// what is read one that each rank has filled with what it will read.
void measure_file(const OnFile& benchmark, const char* name, int portion, char* send, char* receive, int rank,
                  int ranks, MPI_Comm comm, long repetitions) {
  const int even = portion / ranks, rest = portion % ranks;
  const Share share{even + (rank < rest ? 1 : 0), MPI_Offset{rank} * even + std::min(rank, rest), portion};
  MPI_File file;
  if (rank == 0) std::remove(name);
  MPI_Barrier(comm);
  if (benchmark.reads) {
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    for (long i = 0; i < repetitions; ++i) {
      const MPI_Offset at = share.first + i * portion;
      MPI_File_write_at(file, at, send, share.bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    MPI_File_sync(file);
    MPI_File_close(&file);
    MPI_Barrier(comm);
  }
  MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  measure_cold(benchmark.name, portion, 1.0, rank, repetitions,
               [&](long n) { return benchmark.run(benchmark.reads ? receive : send, share, file, comm, n); });
  MPI_File_close(&file);
  MPI_Barrier(comm);
  if (rank == 0) std::remove(name);
}

struct TwoSided {
  const char* component;
  const char* name;
  double (*run)(char* send, char* receive, int bytes, int rank, MPI_Comm comm, long repetitions);
  double factor;
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc > 3) {
    const char* const component = argv[1];
    const long repetitions = std::atol(argv[2]);
    const bool on_files = std::strcmp(component, "IO") == 0;
    const int first_length = on_files ? 4 : 3;
    int largest = warm_up_bytes;
    for (int i = first_length; i < argc; ++i) largest = std::max(largest, std::atoi(argv[i]));
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

    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    for (const OnFile& benchmark : {OnFile{"P_Write_Expl, aggregate", false, write_all_and_sync},
                                    {"P_Write_Expl", false, write_and_sync},
                                    {"P_Read_Expl", true, read_all}}) {
      for (int i = first_length; i < argc && on_files; ++i) {
        measure_file(benchmark, argv[3], std::atoi(argv[i]), send, receive, rank, ranks, comm, repetitions);
      }
    }

    MPI_Comm_free(&comm);
    for (char* const buffer : {send, receive}) ::operator delete(buffer, std::align_val_t{4096});
  }
  MPI_Finalize();
  return 0;
}
