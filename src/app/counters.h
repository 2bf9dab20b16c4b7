// The operating system's counters of this rank, as readings of src/result.
#pragma once

#include <string>
#include <vector>

#include "result/evidence.h"
#include "session/process_group.h"
#include "system/counter_reader.h"

namespace openimb {

/// The first rank of a host also reads what is common to the host. Construction is collective over the host.
class Counters {
 public:
  explicit Counters(ProcessGroup& host);
  Reading read();
  /// By world rank, at rank 0: the interfaces whose bytes it reads. Collective.
  std::vector<std::vector<std::string>> interfaces(ProcessGroup& world) const;

 private:
  system::CounterReader evidence_;
};

}  // namespace openimb
