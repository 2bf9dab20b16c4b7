// -check of benchmarks on files: writes contents that identify the place of each byte, and compares files and
// buffers with them, in chunks. This code is never timed.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/context.h"
#include "engine/file_content.h"
#include "engine/setup.h"
#include "mpi/file.h"

namespace openimb {

class FileCheck {
 public:
  /// `group`: the processes that open the file.
  FileCheck(const Spec& spec, const Setup& setup, const GroupContext& group);

  /// Called before repetition i of a write, whose buffer is at `slot`.
  void write_send(std::int64_t i, std::int64_t slot);
  /// Called after all writes: number of wrong bytes in the file, as this rank sees it. `open`: opens the file
  /// on this rank alone.
  std::int64_t count_written(std::int64_t repetitions, const std::function<File()>& open);

  /// Called before and after repetition i of a read.
  void arm_receive(std::int64_t i, std::int64_t slot);
  void look_at_receive(std::int64_t i, std::int64_t slot);
  /// Called after all reads: number of wrong bytes in buffers. Collective over the group.
  std::int64_t count_read(std::int64_t repetitions);

  /// Fills the buffers as for timing.
  void restore();

 private:
  /// Whether the blocks of processes may be in the file in any order.
  bool any_order() const;
  bool alone() const { return group_.comm == MPI_COMM_SELF; }
  Tile tile(int rank) const;
  std::int64_t first_place() const;
  std::int64_t count_misread(std::int64_t repetitions, const File& file);
  std::int64_t count_misplaced_writes(std::int64_t repetitions, const File& file);
  std::int64_t count_misplaced_reads(std::int64_t repetitions);
  std::uint64_t fingerprint_of_content(std::int64_t position, std::int64_t bytes);

  const Spec& spec_;
  const Setup& setup_;
  const GroupContext& group_;
  std::vector<std::byte> chunk_;
  std::vector<std::uint64_t> seen_;  ///< fingerprints of what was read
  std::int64_t defects_ = 0;         ///< of reads so far
};

}  // namespace openimb
