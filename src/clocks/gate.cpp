#include "clocks/gate.h"

#include <algorithm>

#include "session/batch.h"

namespace openimb {

Gate::Gate(MPI_Comm comm, const MpiClock& clock) : comm_(comm), clock_(clock) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &ranks_);
}

// Makes a few agreements first, to learn how long one takes.
void Gate::open() {
  constexpr int trials = 4;
  for (int i = 0; i < trials; ++i) agree(false);
  first_ = true;
}

// Computes the largest values over all ranks with the dissemination algorithm, like dissemination_barrier().
Gate::Agreement Gate::agree(bool late) {
  constexpr int gate_tag = 31002;
  Agreement mine{.latest = clock_.common_time(clock_.now()), .needed = needed_, .late = late ? 1.0 : 0.0};
  for (int distance = 1; distance < ranks_; distance *= 2) {
    Agreement other;
    MPI_Sendrecv(&mine, 3, MPI_DOUBLE, (rank_ + distance) % ranks_, gate_tag, &other, 3, MPI_DOUBLE,
                 (rank_ - distance + ranks_) % ranks_, gate_tag, comm_, MPI_STATUS_IGNORE);
    mine.latest = std::max(mine.latest, other.latest);
    mine.needed = std::max(mine.needed, other.needed);
    mine.late = std::max(mine.late, other.late);
  }
  needed_ = clock_.common_time(clock_.now()) - mine.latest;
  slack_.observe(mine.needed, mine.late > 0);
  return mine;
}

void Gate::wait(double* stamps) {
  const bool late = !first_ && is_late(stamps - stamps_each, clock_.tolerance());
  first_ = false;
  const Agreement agreed = agree(late);
  const double delay = delay_of(arrival_, rank_, ranks_, repetition_++);
  stamps[0] = clock_.reading_at(agreed.latest + slack_.seconds() + delay);
  clock_.wait_until(stamps[0]);
}

}  // namespace openimb
