// -check for benchmarks on files. It writes contents that identify the position of each byte, and compares
// files and buffers with them. This code is never timed.
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
  /// `group`: the ranks that open the file.
  FileCheck(const Spec& spec, const Setup& setup, const GroupContext& group);

  /// Fills the send buffer at `slot` before repetition i of a write.
  void write_send(std::int64_t i, std::int64_t slot);
  /// Number of wrong bytes in the file, as this rank sees them, after all writes. `open` opens the file on
  /// this rank alone.
  std::int64_t count_written(std::int64_t repetitions, const std::function<File()>& open);

  /// Arm the receive buffer before repetition i of a read, and check it after the repetition.
  void arm_receive(std::int64_t i, std::int64_t slot);
  void check_receive(std::int64_t i, std::int64_t slot);
  /// Number of wrong bytes in the receive buffers after all reads. Collective over the group.
  std::int64_t count_read(std::int64_t repetitions);

  /// Fills the buffers with the contents for timing.
  void restore();

 private:
  /// Whether the blocks of the ranks may have any order in the file.
  bool allows_any_order() const;
  bool has_one_rank() const { return group_.comm == MPI_COMM_SELF; }
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
  std::vector<std::uint64_t> seen_;  ///< fingerprints of the blocks that were read
  std::int64_t defects_ = 0;         ///< wrong bytes of the reads so far
};

}  // namespace openimb
