// The error of the common clock of src/clocks, where clocks are fake and the true time is known. Prints a
// line per time:
//   SECONDS LARGEST ERROR BOUND DISAGREEMENT SAME TRUTH
// in microseconds: the largest error of all ranks; error and bound of the rank that exceeds its bound most,
// or is nearest to it; SAME is 1 where no clock was set. Then "messages N": those of the first
// synchronization. Arguments: system (ranks of a host share its clock), messages, or hca3 (100 offsets of 10
// exchanges, two ranks, error alone); then times in seconds after the first synchronization, with a plus
// where the clocks are synchronized again before.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <numeric>
#include <vector>

#include "clocks/mpi_clock.h"
#include "engine/mpi_process_group.h"
#include "fake_clock.h"
#include "mpi/world.h"

namespace {

#ifdef SMPI_CLOCK
double truth() { return PMPI_Wtime(); }
#else
double truth() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec % 100000) + 1e-9 * static_cast<double>(now.tv_nsec);
}
#endif

// By rank: simulated ranks share one process.
std::map<int, fake::Clock>& clocks() {
  static std::map<int, fake::Clock> all;
  return all;
}

void pause(double seconds) {
  timespec time{};
  time.tv_sec = static_cast<time_t>(seconds);
  time.tv_nsec = static_cast<long>((seconds - static_cast<double>(time.tv_sec)) * 1e9);
  nanosleep(&time, nullptr);
}

// FAKE_SLOW=s: on all ranks but 0 each reading takes so many seconds, from the second exchanges on.
void slow_down(int rank) {
  static const char* const seconds = std::getenv("FAKE_SLOW");
  static std::map<int, int> readings;
  constexpr int quick = 60;
  if (seconds != nullptr && rank > 0 && ++readings[rank] > quick) pause(std::atof(seconds));
}

double fake_now() {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  slow_down(rank);
  return clocks().at(rank).reading(truth());
}

using openimb::MpiClock;

// Of HCA3, for two ranks: offsets from ten ping-pongs each, and a line through a hundred of them.
double hca3_error(int rank, const fake::Clock& root, double wait) {
  constexpr int fits = 100, exchanges = 10, tag = 7;
  std::vector<double> times, offsets;
  for (int i = 0; i < fits; ++i) {
    double least = -1e300, most = 1e300, stamp = 0;
    for (int k = 0; k < exchanges; ++k) {
      if (rank == 0) {
        MPI_Recv(&stamp, 1, MPI_DOUBLE, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        stamp = fake_now();
        MPI_Send(&stamp, 1, MPI_DOUBLE, 1, tag, MPI_COMM_WORLD);
      } else {
        const double sent = fake_now();
        MPI_Send(&sent, 1, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD);
        MPI_Recv(&stamp, 1, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        least = std::max(least, sent - stamp);
        most = std::min(most, fake_now() - stamp);
      }
    }
    times.push_back(fake_now());
    offsets.push_back((least + most) / 2);
  }
  pause(wait);
  if (rank == 0) return 0;
  const double n = fits;
  const double mean_t = std::accumulate(times.begin(), times.end(), 0.0) / n;
  const double mean_o = std::accumulate(offsets.begin(), offsets.end(), 0.0) / n;
  double above = 0, below = 0;
  for (int i = 0; i < fits; ++i) {
    above += (times[i] - mean_t) * (offsets[i] - mean_o);
    below += (times[i] - mean_t) * (times[i] - mean_t);
  }
  const double slope = above / below;
  const double at = truth(), reading = clocks().at(rank).reading(at);
  const double estimate = reading - (mean_o + slope * (reading - mean_t));
  return std::abs(estimate - root.exact(at));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const fake::Clock mine = clocks()[rank] = fake::clock_of(rank, truth());
  fake::Clock root = fake::clock_of(0, mine.first);
  MPI_Bcast(&root.first, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (argc > 2 && std::strcmp(argv[1], "hca3") == 0) {
    for (int i = 2; i < argc; ++i) {
      const double error = hca3_error(rank, root, std::atof(argv[i]));
      double most = 0;
      MPI_Reduce(&error, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
      if (rank == 0) std::printf("%s %.4f\n", argv[i], most * 1e6);
    }
    MPI_Finalize();
    return 0;
  }
  {
    const openimb::Communicator world = openimb::Communicator::duplicate(MPI_COMM_WORLD);
    openimb::MpiProcessGroup all_ranks(world);
    MpiClock clock(world, all_ranks, std::strcmp(argv[1], "system") == 0, fake_now);
    bool same = clock.synchronize();
    long long sent = clock.messages(), all = 0;
    MPI_Reduce(&sent, &all, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    // The common time is that of rank 0 since its clock was read first, which only it knows.
    double base = 0;
    if (rank == 0) {
      const double now = clock.now();
      base = now - clock.common_time(now);
    }
    MPI_Bcast(&base, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    double waited = 0;
    for (int i = 2; i < argc; ++i) {
      const bool again = argv[i][0] == '+';  // synchronizes first
      const double until = std::atof(argv[i]);
      if (until > waited) pause(until - waited);
      waited = std::max(waited, until);
      if (again) same = clock.synchronize();
      const double at = truth(), reading = mine.reading(at);
      const double error = std::abs(clock.common_time(reading) + base - root.exact(at));
      const double bound = clock.bound(reading);
      double mine_of[3] = {error * 1e6, (error - bound) * 1e6, bound * 1e6}, largest[3] = {};
      MPI_Reduce(mine_of, largest, 3, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
      if (rank == 0) {
        std::printf("%s %.4f %.4f %.4f %.4f %d %.6f\n", argv[i], largest[0], largest[1], largest[2],
                    clock.disagreement() * 1e6, same ? 1 : 0, truth() - mine.first);
      }
    }
    if (rank == 0) std::printf("messages %lld\n", all);
  }
  MPI_Finalize();
}
