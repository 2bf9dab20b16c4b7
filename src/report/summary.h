// Prints on stderr, at the end of a launch, what did not go as requested.
#pragma once

#include <cstdio>
#include <string>

#include "report/reporter.h"

namespace openimb {

/// Prints one line each for an early end, for rows beyond a limit and for failed rows (with the first cause),
/// and for wrong bytes; prints nothing if there is none of these.
class SummaryReporter final : public Reporter {
 public:
  /// Does not close `err`.
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
  std::string first_, first_beyond_limit_;  ///< the first failure of each kind
};

}  // namespace openimb
