// The classic text tables: what people read and other people's parsers rely on.
// Source: reference layout of IMB 2021 (13-wide columns, rules, group lists, failure rows, footer).
#pragma once

#include <cstdio>

#include "report/reporter.h"

namespace openimb {

class TextReporter final : public Reporter {
 public:
  /// `out` stays the caller's. `differences`: settings_that_differ(), stated in the banner.
  TextReporter(std::FILE* out, std::vector<std::string> differences);
  void begin(const RunFacts& facts, const Options& options) override;
  void open_table(const Table& table) override;
  void row(const Table& table, const Measurement& measurement) override;
  void failure(const Table& table, const Failure& failure) override;
  void end(const Ending& ending) override;
  bool ok() const override { return ok_; }

 private:
  void write(const std::string& text);
  std::FILE* out_;
  std::vector<std::string> differences_;
  double bytes_per_megabyte_ = 1048576;
  bool ok_ = true;
};

}  // namespace openimb
