// Owns a group of ranks.
#pragma once

#include <mpi.h>

#include <span>

namespace openimb {

/// All ranks of a communicator, or some of them.
class Group {
 public:
  explicit Group(MPI_Comm ranks) { MPI_Comm_group(ranks, &handle_); }
  Group(MPI_Comm ranks, std::span<const int> some) {
    const Group all(ranks);
    MPI_Group_incl(all.view(), static_cast<int>(some.size()), some.data(), &handle_);
  }
  ~Group() { MPI_Group_free(&handle_); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  MPI_Group view() const { return handle_; }

 private:
  MPI_Group handle_ = MPI_GROUP_NULL;
};

}  // namespace openimb
