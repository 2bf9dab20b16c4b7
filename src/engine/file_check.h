// -check of benchmarks on files: contents that show where each byte belongs, and what a file or a buffer has
// of them, looked at in chunks. Nothing here is timed.
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
  /// `group`: of those who open the file.
  FileCheck(const Spec& spec, const Setup& setup, const GroupContext& group);

  /// Before repetition i of a write, whose buffer is at `slot`.
  void write_send(std::int64_t i, std::int64_t slot);
  /// After all of them: wrong bytes in the file, as this rank sees it. `open`: the file, for this rank alone.
  std::int64_t count_written(std::int64_t repetitions, const std::function<File()>& open);

  /// Before and after repetition i of a read.
  void arm_receive(std::int64_t i, std::int64_t slot);
  void look_at_receive(std::int64_t i, std::int64_t slot);
  /// After all of them: wrong bytes in buffers; collective over the group.
  std::int64_t count_read(std::int64_t repetitions);

  /// Buffers as they are while timed.
  void restore();

 private:
  /// Blocks of processes lie in the file as they came.
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
