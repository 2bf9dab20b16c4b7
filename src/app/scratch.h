// The temporary files of IMB-IO in a launch: chooses their path, keeps other launches from using it, and
// deletes them.
#pragma once

#include <optional>
#include <string>

#include "benchmarks/components.h"
#include "engine/mpi_agreement.h"
#include "plan/options.h"
#include "system/guardian.h"

namespace openimb {

/// Reserves a path for the files of this launch and deletes what a killed launch left there. At the end
/// deletes its own files. Collective; nothing happens for components without files.
class ScratchFiles {
 public:
  /// `guardian`: of this process; empty for components without files. Throws UsageError on all ranks or on
  /// none: where a rank cannot write, where the name given exists, or where another launch uses it.
  ScratchFiles(const Component& component, MpiAgreement& world, const Options& options,
               std::optional<system::Guardian>& guardian);
  ~ScratchFiles();
  ScratchFiles(const ScratchFiles&) = delete;
  ScratchFiles& operator=(const ScratchFiles&) = delete;

  /// The path of the files, absolute and without suffixes; empty for components without files.
  const std::string& base() const { return base_; }

 private:
  bool reserve(const std::string& base, const std::string& token, bool only_unused) const;
  void choose(const std::string& wanted, bool folder);
  void sweep() const;

  Agreement& world_;
  std::optional<system::Guardian>& guardian_;
  std::string base_;
  bool responsible_ = false;  ///< the first rank of its host
};

}  // namespace openimb
