// The classic text tables, for people and for existing parsers. Between the first row of a table and the
// blank line that ends it, there are only lines that IMB also has. Notes follow the blank line. Source:
// reference output of IMB 2021 (13-wide columns, rules, group lists, failure rows, footer).
#pragma once

#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/output.h"
#include "report/reporter.h"
#include "report/sweep_text.h"

namespace openimb {

/// Notes on a table that was measured in passes.
class PassNotes {
 public:
  /// `where`: label of the row, such as "8 B". `group`: Row::group.
  void add(const std::string& where, int group, const SampleStatistics& statistics);
  /// Returns comment lines. `precision`: the value of -precision.
  std::string notes(std::optional<double> precision) const;

 private:
  struct Machine {
    std::vector<SampleStatistics::State> states;
    int samples = 0, between = 0;
  };
  static std::string between_states_text(const Machine& machine);

  int rows_ = 0;
  int imprecise_ = 0;
  SampleStatistics::Shortfall shortfall_ = SampleStatistics::Shortfall::none;
  double widest_ = 0;
  std::string widest_row_;
  int rows_with_levels_ = 0;
  std::string levels_;               ///< of the first such row
  std::map<int, Machine> machines_;  ///< by group, because each group has its own probes
  int rows_without_reference_ = 0;
};

class TextReporter final : public Reporter {
 public:
  /// `out` stays the caller's.
  TextReporter(std::FILE* out, StatedOptions stated);
  void begin(const RunFacts& facts, const Options& options) override;
  void open_table(const Table& table) override;
  void row(const Table& table, const Measurement& measurement) override;
  void pairs(const Table& table, std::span<const PairSample> samples) override;
  void failure(const Table& table, const Failure& failure) override;
  void close_table(const Table& table) override;
  void end(const Ending& ending) override;
  bool ok() const override { return ok_; }

 private:
  void write(const std::string& text);
  std::string take_notes();
  std::FILE* out_;
  OutputName name_{.program = "IMB", .name = "standard output"};
  StatedOptions stated_;
  std::string notes_;  ///< on the rows of the open table
  PassNotes passes_;   ///< on the rows of the open table
  SweepText sweep_;
  std::optional<double> precision_;
  double bytes_per_megabyte_ = mebibyte;
  int in_flight_ = default_in_flight;
  std::int64_t max_memory_ = gibibyte;
  OutputStyle style_ = OutputStyle::classic;
  bool ok_ = true;
};

}  // namespace openimb
