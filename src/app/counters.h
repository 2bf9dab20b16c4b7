// What the operating system counts on this rank, as readings of results.
#pragma once

#include <string>
#include <vector>

#include "result/evidence.h"
#include "session/agreement.h"
#include "system/evidence.h"

namespace openimb {

/// The first rank of a host also reads what is common to the host. Collective over the host to make.
class Counters {
 public:
  explicit Counters(Agreement& host);
  Reading read();
  /// By world rank, at rank 0: the interfaces whose bytes it reads. Collective.
  std::vector<std::vector<std::string>> interfaces(Agreement& world) const;

 private:
  system::Evidence evidence_;
};

}  // namespace openimb
