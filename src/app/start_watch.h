// Silence before a sweep has its patient agreement: while MPI starts, and in what follows.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "benchmarks/components.h"
#include "system/watch.h"

namespace openimb {

/// From its construction until over(). After ten times -pair_timeout rank 0 aborts the run; after fifteen
/// times rank 1 does, if rank 0 is the silent one. Watches nothing in components without rounds, with
/// -pair_timeout 0 and on simulated ranks.
class StartWatch {
 public:
  StartWatch(const Component& component, std::span<const std::string> arguments);
  void over() { watch_.reset(); }

 private:
  std::optional<system::Watch> watch_;
};

}  // namespace openimb
