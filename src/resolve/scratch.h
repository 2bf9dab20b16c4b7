// The temporary files of IMB-IO in a launch.
#pragma once

#include <optional>
#include <string>

#include "benchmarks/components.h"
#include "engine/mpi_process_group.h"
#include "model/options.h"
#include "system/guardian.h"

namespace openimb {

/// Chooses a path that no other launch uses, and deletes the files at the end. Collective. Does nothing for
/// components without files.
class ScratchFiles {
 public:
  /// `guardian`: the guardian of this process; empty for components without files. Throws UsageError on all
  /// ranks if any rank cannot write.
  ScratchFiles(const Component& component, MpiProcessGroup& world, const Options& options,
               std::optional<system::Guardian>& guardian);
  ~ScratchFiles();
  ScratchFiles(const ScratchFiles&) = delete;
  ScratchFiles& operator=(const ScratchFiles&) = delete;

  /// The absolute path that the user requested. All names begin with it. Empty for components without files.
  const std::string& requested_path() const { return requested_path_; }
  /// The path of the files, without suffixes of groups and ranks. Empty for components without files.
  const std::string& base() const { return base_; }

 private:
  ProcessGroup& world_;
  std::optional<system::Guardian>& guardian_;
  std::string requested_path_, base_;
  bool responsible_ = false;  ///< this rank is the first on its host and deletes the files
};

}  // namespace openimb
