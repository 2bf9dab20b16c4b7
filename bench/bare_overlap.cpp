// As bench/bare_loop.cpp, with computation between the start of an operation and its wait.
//
//   bare_overlap COMPONENT REPETITIONS BYTES...
//       NBC: Iallreduce, Ineighbor_alltoall. MPI4: Allreduce_persist, Alltoall_persist. Each first without
//       computation, then with as much as takes so long: the seconds of a line are those of the latter. Lines
//       as of bare_loop. Exit status 2 with anything else
#include <mpi.h>

#include "bare.h"
// The suite's own load: what is compared is the loop around it.
#include "engine/cpu_load.cpp"

struct Clock {
  static double now() { return MPI_Wtime(); }
};
constexpr double calibration_seconds = 0.01;  // the suite's TARGET_CPU_SECS

template <class Start>
[[gnu::always_inline]] inline double alone(long repetitions, Start start) {
  return repeat(repetitions, [&] {
    MPI_Request request;
    start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  });
}

// The two clock reads are what t_CPU costs.
template <class Start>
[[gnu::always_inline]] inline double computing(openimb::CpuLoad& load, long units, double& seconds,
                                               long repetitions, Start start) {
  return repeat(repetitions, [&] {
    MPI_Request request;
    start(&request);
    const double begin = MPI_Wtime();
    load.compute(units);
    seconds += MPI_Wtime() - begin;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  });
}

template <class Start>
void measure_overlap(const char* name, const Here& here, long repetitions, Start start) {
  static openimb::CpuLoad load;
  if (!load.calibrated()) load.calibrate<Clock>(calibration_seconds);
  alone(warm_up_repetitions, start);
  MPI_Barrier(here.comm);
  const double mine = alone(repetitions, start);
  double pure = 0, seconds = 0;
  MPI_Allreduce(&mine, &pure, 1, MPI_DOUBLE, MPI_MAX, here.comm);
  const long units = load.units_for(pure / static_cast<double>(repetitions));
  measure_cold(name, here.bytes, 1.0, here.rank, repetitions,
               [&](long n) { return computing(load, units, seconds, n, start); });
}

void of_nbc(Here here, long repetitions) {
  const int count = here.bytes / static_cast<int>(sizeof(float));
  measure_overlap("Iallreduce", here, repetitions, [here, count](MPI_Request* request) {
    MPI_Iallreduce(here.send, here.receive, count, MPI_FLOAT, MPI_SUM, here.comm, request);
  });
  Here on_grid = on_a_grid(here);
  measure_overlap("Ineighbor_alltoall", here, repetitions, [on_grid](MPI_Request* request) {
    MPI_Ineighbor_alltoall(on_grid.send, on_grid.bytes, MPI_BYTE, on_grid.receive, on_grid.bytes, MPI_BYTE,
                           on_grid.comm, request);
  });
  MPI_Comm_free(&on_grid.comm);
}

void of_mpi4(Here here, long repetitions) {
  const int count = here.bytes / static_cast<int>(sizeof(float));
  const auto measure_started = [&](const char* name, MPI_Request made) {
    measure_overlap(name, here, repetitions, [&made](MPI_Request* request) {
      MPI_Start(&made);
      *request = made;
    });
    MPI_Request_free(&made);
  };
  MPI_Request made;
  MPI_Allreduce_init(here.send, here.receive, count, MPI_FLOAT, MPI_SUM, here.comm, MPI_INFO_NULL, &made);
  measure_started("Allreduce_persist", made);
  MPI_Alltoall_init(here.send, here.bytes, MPI_BYTE, here.receive, here.bytes, MPI_BYTE, here.comm,
                    MPI_INFO_NULL, &made);
  measure_started("Alltoall_persist", made);
}

int main(int argc, char** argv) {
  return run_components(argc, argv, "bare_overlap", 4, {{"NBC", of_nbc}, {"MPI4", of_mpi4}});
}
