// Interleaved launches: launches that run on one machine at the same time measure one after the other.
#pragma once

#include <memory>
#include <string>

namespace openimb::system {

class Connection;

/// This rank's connection to the interleaving server (`imb` has one). Over TCP the rank sends its launch's
/// token, then one byte whenever it waits; the server answers with one byte when all ranks of the launch may
/// measure. A waiting rank sleeps, so that it does not disturb the launch that measures. A launch that has
/// ended has no further slices.
class Interleave {
 public:
  /// Throws std::runtime_error, with a message, where no server answers.
  Interleave(const std::string& host, const std::string& port, const std::string& token);
  ~Interleave();
  Interleave(const Interleave&) = delete;
  Interleave& operator=(const Interleave&) = delete;
  /// End the slice in which the launch measures, if it has one, and sleep until its next: before a new row,
  /// which waits until the rows of other launches have ended; or before the next segment of a row. Return at
  /// once where the connection is lost.
  void wait_for_row();
  void wait_for_segment();
  /// Whether the connection is lost: from then on other launches may measure at the same time.
  bool lost() const { return lost_; }

 private:
  void wait_after(const char* request);

  std::unique_ptr<Connection> connection_;
  bool lost_ = false;
};

}  // namespace openimb::system
