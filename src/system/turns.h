// Launches that take turns on one machine, so that whatever the machine does hits all of them alike.
#pragma once

#include <string>

namespace openimb::system {

/// This rank's line to the conductor of the turns (`imb` is one): over TCP it says its launch's token, then
/// one byte whenever it waits, and the conductor answers with one byte when all ranks of the launch have the
/// turn. While it waits a rank sleeps, so that it disturbs nobody's measurement. What has ended gives the
/// turn up.
class Turns {
 public:
  /// Throws std::runtime_error, with words, where nobody answers.
  Turns(const std::string& host, const std::string& port, const std::string& token);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;
  /// Gives up the turn, if it has one, and sleeps until the next. `row`: for a row that begins, which waits
  /// for the rows of other launches to end; else for the next part of one. Returns at once where the
  /// conductor is gone.
  void take(bool row);
  /// The conductor is gone: what is measured from then on may not have the machine for itself.
  bool lost() const { return lost_; }

 private:
  int socket_ = -1;
  bool lost_ = false;
};

}  // namespace openimb::system
