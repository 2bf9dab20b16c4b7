// Interleaved launches run on one machine at the same time and measure one after the other.
#pragma once

#include <memory>
#include <string>

namespace openimb::system {

class Connection;

/// This rank's connection to the interleaving server of `imb`. The rank sends its launch's token over TCP,
/// then one byte whenever it waits. The server answers with one byte when all ranks of the launch may
/// measure. A waiting rank sleeps, so that it does not disturb the launch that measures. A launch that has
/// ended gets no further turns.
class Interleave {
 public:
  /// Throws std::runtime_error, with a message, if no server answers.
  Interleave(const std::string& host, const std::string& port, const std::string& token);
  ~Interleave();
  Interleave(const Interleave&) = delete;
  Interleave& operator=(const Interleave&) = delete;
  /// Both end this launch's turn, if it has the turn, and sleep until its next one. Call wait_for_row()
  /// before a new row; it waits until the rows of other launches have ended. Call wait_for_segment() before
  /// the next segment of a row. Both return at once if the connection is lost.
  void wait_for_row();
  void wait_for_segment();
  /// Whether the connection is lost: other launches may then measure at the same time.
  bool lost() const { return lost_; }

 private:
  void wait_after(const char* request);

  std::unique_ptr<Connection> connection_;
  bool lost_ = false;
};

}  // namespace openimb::system
