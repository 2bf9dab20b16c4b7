// Memory that is open only inside MPI calls and inside its own write() and read().
#pragma once

namespace openimb::guard {

/// Brackets what may touch message memory; nests.
class Open {
 public:
  Open();
  ~Open();
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;
};

/// Something else than this process's MPI calls works on message memory: it stays open until that ends.
void lend();
void take_back();

}  // namespace openimb::guard
