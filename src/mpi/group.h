// A group of ranks, owned.
#pragma once

#include <mpi.h>

namespace openimb {

/// The ranks of a communicator.
class Group {
 public:
  explicit Group(MPI_Comm ranks) { MPI_Comm_group(ranks, &handle_); }
  ~Group() { MPI_Group_free(&handle_); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  MPI_Group view() const { return handle_; }

 private:
  MPI_Group handle_ = MPI_GROUP_NULL;
};

}  // namespace openimb
