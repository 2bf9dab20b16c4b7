// As bench/bare_loop.cpp, for the modes and forms of benchmarks: one loop for each.
//
//   bare_modes COMPONENT REPETITIONS BYTES...
//       MPI1/vectors: Neighbor_allgatherv, Neighbor_alltoallv, Neighbor_alltoallw. MPI1/buffered: PingPong.
//       RMA/fence, RMA/lock, RMA/lock_all, RMA/flush_local: Unidir_put. RMA/fetch: Rget_accumulate.
//       MPI4/creation: Comm_create, Session_init. Lines as of bare_loop. Exit status 2 with anything else
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "bare.h"

constexpr int neighbors = 4;

// --- Neighborhood collectives with arguments for each neighbor --------------------------------------------

struct PerNeighbor {
  int counts[neighbors], at[neighbors];
  MPI_Aint bytes[neighbors];
  MPI_Datatype types[neighbors];

  explicit PerNeighbor(int length) {
    for (int i = 0; i < neighbors; ++i) {
      counts[i] = length;
      bytes[i] = at[i] = i * length;
      types[i] = MPI_BYTE;
    }
  }
};

[[gnu::noinline]] double allgatherv_of_neighbors(const Here& h, const PerNeighbor& all, long repetitions) {
  const Here here = h;
  return repeat(repetitions, [&] {
    MPI_Neighbor_allgatherv(here.send, here.bytes, MPI_BYTE, here.receive, all.counts, all.at, MPI_BYTE,
                            here.comm);
  });
}

[[gnu::noinline]] double alltoallv_of_neighbors(const Here& h, const PerNeighbor& all, long repetitions) {
  const Here here = h;
  return repeat(repetitions, [&] {
    MPI_Neighbor_alltoallv(here.send, all.counts, all.at, MPI_BYTE, here.receive, all.counts, all.at,
                           MPI_BYTE, here.comm);
  });
}

[[gnu::noinline]] double alltoallw_of_neighbors(const Here& h, const PerNeighbor& all, long repetitions) {
  const Here here = h;
  return repeat(repetitions, [&] {
    MPI_Neighbor_alltoallw(here.send, all.counts, all.bytes, all.types, here.receive, all.counts, all.bytes,
                           all.types, here.comm);
  });
}

void of_vectors(Here here, long repetitions) {
  here = on_a_grid(here);
  const PerNeighbor all(here.bytes);
  measure("Neighbor_allgatherv", here.bytes, 1.0, here.rank, repetitions,
          [&](long n) { return allgatherv_of_neighbors(here, all, n); });
  measure("Neighbor_alltoallv", here.bytes, 1.0, here.rank, repetitions,
          [&](long n) { return alltoallv_of_neighbors(here, all, n); });
  measure("Neighbor_alltoallw", here.bytes, 1.0, here.rank, repetitions,
          [&](long n) { return alltoallw_of_neighbors(here, all, n); });
  MPI_Comm_free(&here.comm);
}

// --- Send modes -------------------------------------------------------------------------------------------

[[gnu::noinline]] double ping_pong_buffered(const Here& h, long repetitions) {
  const Here here = h;
  const auto receive = [&] {
    MPI_Recv(here.receive, here.bytes, MPI_BYTE, MPI_ANY_SOURCE, tag, here.comm, MPI_STATUS_IGNORE);
  };
  if (here.rank == 0) {
    return repeat(repetitions, [&] {
      MPI_Bsend(here.send, here.bytes, MPI_BYTE, 1, tag, here.comm);
      receive();
    });
  }
  return repeat(repetitions, [&] {
    receive();
    MPI_Bsend(here.send, here.bytes, MPI_BYTE, 0, tag, here.comm);
  });
}

void of_buffered(Here here, long repetitions) {
  std::vector<char> buffer(static_cast<std::size_t>(here.bytes + MPI_BSEND_OVERHEAD) * 16);
  MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
  measure("PingPong, -send_mode buffered", here.bytes, 0.5, here.rank, repetitions,
          [&](long n) { return ping_pong_buffered(here, n); });
  void* memory = nullptr;
  int size = 0;
  MPI_Buffer_detach(static_cast<void*>(&memory), &size);
}

// --- One-sided --------------------------------------------------------------------------------------------

void put_to_1(const Here& here) {
  MPI_Put(here.send, here.bytes, MPI_BYTE, 1, 0, here.bytes, MPI_BYTE, here.win);
}

[[gnu::noinline]] double put_between_fences(const Here& h, long repetitions) {
  const Here here = h;
  MPI_Win_fence(0, here.win);
  const double seconds = repeat(repetitions, [&] {
    if (here.rank == 0) put_to_1(here);
    MPI_Win_fence(0, here.win);
  });
  MPI_Win_fence(0, here.win);
  return seconds;
}
[[gnu::noinline]] double put_in_lock(const Here& h, long repetitions) {
  const Here here = h;
  return repeat(repetitions, [&] {
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, here.win);
    put_to_1(here);
    MPI_Win_unlock(1, here.win);
  });
}
[[gnu::noinline]] double put_in_lock_all(const Here& h, long repetitions) {
  const Here here = h;
  return repeat(repetitions, [&] {
    MPI_Win_lock_all(0, here.win);
    put_to_1(here);
    MPI_Win_unlock_all(here.win);
  });
}
[[gnu::noinline]] double put_and_flush_local(const Here& h, long repetitions) {
  const Here here = h;
  return repeat(repetitions, [&] {
    put_to_1(here);
    MPI_Win_flush_local(1, here.win);
  });
}
[[gnu::noinline]] double fetch_and_wait(const Here& h, long repetitions) {
  const Here here = h;
  const int count = here.bytes / static_cast<int>(sizeof(float));
  return repeat(repetitions, [&] {
    MPI_Request request;
    MPI_Rget_accumulate(here.send, count, MPI_FLOAT, here.receive, count, MPI_FLOAT, 1, 0, count, MPI_FLOAT,
                        MPI_SUM, here.win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  });
}

enum class Part { both, origin, origin_with_lock };

void of_window(Here here, const char* name, double (*run)(const Here& here, long repetitions), Part part,
               long repetitions) {
  MPI_Win_create(here.receive, here.bytes, 1, MPI_INFO_NULL, here.comm, &here.win);
  measure(name, here.bytes, 1.0, here.rank, repetitions, [&](long n) {
    if (part != Part::both && here.rank != 0) return 0.0;
    if (part == Part::origin_with_lock) MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, here.win);
    const double seconds = run(here, n);
    if (part == Part::origin_with_lock) MPI_Win_unlock(1, here.win);
    return seconds;
  });
  MPI_Win_free(&here.win);
}
void of_fence(Here here, long repetitions) {
  of_window(here, "Unidir_put, -sync_mode fence", put_between_fences, Part::both, repetitions);
}
void of_lock(Here here, long repetitions) {
  of_window(here, "Unidir_put, -sync_mode lock", put_in_lock, Part::origin, repetitions);
}
void of_lock_all(Here here, long repetitions) {
  of_window(here, "Unidir_put, -sync_mode lock_all", put_in_lock_all, Part::origin, repetitions);
}
void of_flush_local(Here here, long repetitions) {
  of_window(here, "Unidir_put, -sync_mode flush_local", put_and_flush_local, Part::origin_with_lock,
            repetitions);
}
void of_fetch(Here here, long repetitions) {
  of_window(here, "Rget_accumulate", fetch_and_wait, Part::origin_with_lock, repetitions);
}

// --- Communicators and sessions ---------------------------------------------------------------------------

[[gnu::noinline]] double create_and_free(const Here& h, MPI_Group group, long repetitions) {
  const Here here = h;
  return repeat(repetitions, [&] {
    MPI_Comm made;
    MPI_Comm_create(here.comm, group, &made);
    MPI_Comm_free(&made);
  });
}
[[gnu::noinline]] double begin_and_end_session(MPI_Errhandler errors, long repetitions) {
  return repeat(repetitions, [&] {
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, errors, &session);
    MPI_Session_finalize(&session);
  });
}

void on_error(MPI_Session*, int*, ...) {}

void of_creation(Here here, long repetitions) {
  MPI_Group group;
  MPI_Comm_group(here.comm, &group);
  measure("Comm_create", 0, 1.0, here.rank, repetitions,
          [&](long n) { return create_and_free(here, group, n); });
  MPI_Group_free(&group);
  MPI_Errhandler errors;  // one of its own, as in the suite
  MPI_Session_create_errhandler(on_error, &errors);
  measure("Session_init", 0, 1.0, here.rank, repetitions,
          [&](long n) { return begin_and_end_session(errors, n); });
  MPI_Errhandler_free(&errors);
}

int main(int argc, char** argv) {
  return run_components(argc, argv, "bare_modes", neighbors,
                        {{"MPI1/vectors", of_vectors},
                         {"MPI1/buffered", of_buffered},
                         {"RMA/fence", of_fence},
                         {"RMA/lock", of_lock},
                         {"RMA/lock_all", of_lock_all},
                         {"RMA/flush_local", of_flush_local},
                         {"RMA/fetch", of_fetch},
                         {"MPI4/creation", of_creation}});
}
