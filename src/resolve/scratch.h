// The temporary files of IMB-IO in a launch: chooses their path, and deletes them.
#pragma once

#include <optional>
#include <string>

#include "benchmarks/components.h"
#include "engine/mpi_process_group.h"
#include "model/options.h"
#include "system/guardian.h"

namespace openimb {

/// Names that no other launch has. At the end deletes the files. Collective; nothing happens for components
/// without files.
class ScratchFiles {
 public:
  /// `guardian`: of this process; empty for components without files. Throws UsageError on all ranks or on
  /// none, where a rank cannot write.
  ScratchFiles(const Component& component, MpiProcessGroup& world, const Options& options,
               std::optional<system::Guardian>& guardian);
  ~ScratchFiles();
  ScratchFiles(const ScratchFiles&) = delete;
  ScratchFiles& operator=(const ScratchFiles&) = delete;

  /// The path that the user asked for, absolute: how all names begin. Empty for components without files.
  const std::string& asked() const { return asked_; }
  /// The path of the files, without suffixes of groups and ranks; empty for components without files.
  const std::string& base() const { return base_; }

 private:
  ProcessGroup& world_;
  std::optional<system::Guardian>& guardian_;
  std::string asked_, base_;
  bool responsible_ = false;  ///< the first rank of its host
};

}  // namespace openimb
