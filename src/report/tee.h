// Calls several reporters as one, and writes -dumpfile.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "report/output.h"
#include "report/reporter.h"

namespace openimb {

class Tee final : public Reporter {
 public:
  void add(std::unique_ptr<Reporter> reporter) { reporters_.push_back(std::move(reporter)); }
  /// Makes all later writes go through `wrapper`, which gets a function that writes and must call it. Null:
  /// no wrapper.
  void set_wrapper(std::function<void(const std::function<void()>&)> wrapper) {
    wrapper_ = std::move(wrapper);
  }
  void begin(const RunFacts& facts, const Options& options) override;
  void open_table(const Table& table) override;
  void row(const Table& table, const Measurement& measurement) override;
  void sample(const Table& table, const PassSample& sample) override;
  void pairs(const Table& table, std::span<const PairSample> samples) override;
  void failure(const Table& table, const Failure& failure) override;
  void close_table(const Table& table) override;
  void end(const Ending& ending) override;
  bool ok() const override;

 private:
  void for_each(const std::function<void(Reporter&)>& write);

  std::vector<std::unique_ptr<Reporter>> reporters_;
  std::function<void(const std::function<void()>&)> wrapper_;
};

/// -dumpfile: one line "bytes microseconds" per repetition.
class DumpReporter final : public Reporter {
 public:
  DumpReporter(std::FILE* out, const std::string& path, const LineFile& file = {});
  void begin(const RunFacts& facts, const Options& options) override;
  void open_table(const Table&) override {}
  void row(const Table& table, const Measurement& measurement) override;
  void failure(const Table&, const Failure&) override {}
  void close_table(const Table&) override {}
  void end(const Ending&) override {}
  bool ok() const override { return out_.ok(); }

 private:
  LineOutput out_;
};

}  // namespace openimb
