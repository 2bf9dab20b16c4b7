// What did not go as asked for, in lines for stderr when a launch ends.
#pragma once

#include <cstdio>
#include <string>

#include "report/reporter.h"

namespace openimb {

/// A line each for an early end, for rows beyond a limit and failed rows with the first cause of each, and
/// for wrong bytes; else nothing.
class SummaryReporter final : public Reporter {
 public:
  /// `err` stays the caller's; it may be a launcher's pipe.
  explicit SummaryReporter(std::FILE* err) : err_(err) {}
  void begin(const RunFacts& facts, const Options& options) override;
  void open_table(const Table&) override {}
  void row(const Table&, const Measurement&) override {}
  void failure(const Table& table, const Failure& failure) override;
  void close_table(const Table&) override {}
  void end(const Ending& ending) override;

 private:
  std::FILE* err_;
  std::string program_ = "IMB";
  std::string first_, first_beyond_limit_;  ///< failure
};

}  // namespace openimb
