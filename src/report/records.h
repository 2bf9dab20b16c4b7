// Writes records as JSON lines: one object per line, flushed at once. schema/record.schema.json defines them.
#pragma once

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "model/option_value.h"
#include "report/output.h"
#include "report/reporter.h"

namespace openimb {

class RecordReporter final : public Reporter {
 public:
  /// Does not close `out`. `path` is for messages.
  RecordReporter(std::FILE* out, const std::string& path, OptionsInForce options, const LineFile& file = {});
  void begin(const RunFacts& facts, const Options& options) override;
  void open_table(const Table&) override {}
  void close_table(const Table&) override {}
  void row(const Table& table, const Measurement& measurement) override;
  void sample(const Table& table, const PassSample& sample) override;
  void pairs(const Table& table, std::span<const PairSample> samples) override;
  void failure(const Table& table, const Failure& failure) override;
  void end(const Ending& ending) override;
  bool ok() const override { return out_.ok(); }

 private:
  LineOutput out_;
  OptionsInForce options_;
  std::vector<RankPlace> ranks_;
  std::vector<std::vector<std::string>> interfaces_;
  std::set<int> announced_;  ///< rows whose `row` record was written
};

/// The `end` record as a line with its newline. Signal handlers also write it.
std::string end_record(const Ending& ending);

}  // namespace openimb
