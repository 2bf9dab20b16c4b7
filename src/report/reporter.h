// The interface to which the session passes results, in order, on rank 0 only.
#pragma once

#include <span>

#include "model/options.h"
#include "result/measurement.h"

namespace openimb {

/// Order of calls: begin; for each table open_table, any number of row and failure, close_table; end. A
/// failure may also come outside a table. Samples and pairs come before the tables. Each call flushes its
/// text before it returns. A reporter that cannot write prints one message on stderr, continues, and returns
/// false from ok().
class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual void begin(const RunFacts& facts, const Options& options) = 0;
  virtual void open_table(const Table& table) = 0;
  virtual void row(const Table& table, const Measurement& measurement) = 0;
  /// In passes: a sample of a row, as soon as it is measured.
  virtual void sample(const Table& /*table*/, const PassSample& /*sample*/) {}
  /// IMB-FABRIC: the pairs of a round, as soon as they are measured. Their tables have no rows.
  virtual void pairs(const Table& /*table*/, std::span<const PairSample> /*samples*/) {}
  virtual void failure(const Table& table, const Failure& failure) = 0;
  /// The table has no further rows. An interrupted run may leave a table open.
  virtual void close_table(const Table& table) = 0;
  virtual void end(const Ending& ending) = 0;
  virtual bool ok() const { return true; }
};

}  // namespace openimb
