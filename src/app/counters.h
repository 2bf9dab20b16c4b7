// Reads the operating system's counters of this rank as a Reading (result/evidence.h).
#pragma once

#include <string>
#include <vector>

#include "result/evidence.h"
#include "session/process_group.h"
#include "system/counter_reader.h"

namespace openimb {

/// The first rank of a host also reads the counters of the whole host. Construction is collective over the
/// host.
class Counters {
 public:
  explicit Counters(ProcessGroup& host);
  Reading read();
  /// The network interfaces that each rank reads, by world rank, at rank 0; empty elsewhere. Collective.
  std::vector<std::vector<std::string>> interfaces(ProcessGroup& world) const;

 private:
  system::CounterReader reader_;
};

}  // namespace openimb
