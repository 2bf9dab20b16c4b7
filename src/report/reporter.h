// Where results go. The engine calls these in order; on ranks other than 0 nobody listens.
#pragma once

#include "plan/options.h"
#include "result/measurement.h"

namespace openimb {

/// Order of calls: begin, then per table open_table and any number of row and failure, then end. Each call
/// has left its text on disk (flushed) when it returns. A reporter that cannot write says so once on stderr,
/// goes on, and reports it by ok().
class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual void begin(const RunFacts& facts, const Options& options) = 0;
  virtual void open_table(const Table& table) = 0;
  virtual void close_table(const Table& table) { static_cast<void>(table); }
  virtual void row(const Table& table, const Measurement& measurement) = 0;
  virtual void failure(const Table& table, const Failure& failure) = 0;
  virtual void end(const Ending& ending) = 0;
  virtual bool ok() const { return true; }
};

}  // namespace openimb
