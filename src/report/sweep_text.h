// The text of IMB-FABRIC: a line per pair with -matrix, and for each benchmark a table by length, followed by
// the slowest pairs. Its memory does not grow with the number of pairs.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "result/measurement.h"

namespace openimb {

/// Statistics of the times of pairs. They come from a histogram, so the error of the median is at most 0.1 %.
class PairTimes {
 public:
  void add(double seconds);
  std::int64_t count() const { return count_; }
  double least() const { return least_; }
  double most() const { return most_; }
  double median() const;

 private:
  std::vector<std::int64_t> bins_;  ///< on a logarithmic scale
  std::int64_t count_ = 0;
  double least_ = 0, most_ = 0;
};

class SweepText {
 public:
  void begin(const RunFacts& facts, const Options& options);
  /// Returns the lines of -matrix, or nothing.
  std::string pairs(const Table& table, std::span<const PairSample> samples);
  void failure(const Table& table, const Failure& failure);
  std::string table(const Table& table) const;
  std::string slowest(const Table& table) const;

 private:
  struct FailedPair {
    PairPlace place;
    std::string detail;
  };
  struct LengthSummary {
    PairTimes times;
    std::int64_t repetitions = 0;  ///< the smallest number of any pair
    std::int64_t defects = 0;
    std::int64_t failed = 0;
    std::vector<PairSample> worst;         ///< slowest first, each pair once
    std::vector<FailedPair> failed_pairs;  ///< the first few
  };
  using ByLength = std::map<std::int64_t, LengthSummary>;

  LengthSummary& length_summary(const Table& table, std::int64_t bytes);
  void keep_if_slow(LengthSummary& summary, const PairSample& sample) const;
  std::string name(const PairPlace& place) const;

  std::map<std::string, ByLength, std::less<>> benchmarks_;
  std::vector<std::string> hosts_;  ///< by endpoint
  FabricOptions fabric_;
  double bytes_per_megabyte_ = mebibyte;
  int in_flight_ = 1;
  int passes_ = 0;
  bool matrix_begun_ = false;
};

/// "3 rounds of disjoint pairs, all pairs, ...": for the banner.
std::string rounds_text(const FabricOptions& fabric);

}  // namespace openimb
