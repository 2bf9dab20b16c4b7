// The resources of tables and points: communicators, buffers, windows, files. Objects of these classes own
// them; all ranks free them together.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "model/arrival.h"
#include "plan/schedule.h"
#include "session/batch.h"
#include "session/process_group.h"

namespace openimb {

/// The resources of one table on this rank. Collective over all ranks of the launch to make, to use and to
/// destroy, unless noted otherwise.
class OpenTable {
 public:
  virtual ~OpenTable() = default;
  /// Why the table cannot run, if it cannot; equal on all ranks. Local.
  virtual std::optional<Failure> failure() const = 0;
  /// Whether all ranks found memory for a point. Local, and equal on all ranks.
  virtual bool has_memory_for(const Point& point) const = 0;
  /// The ranks of this rank's group; an idle rank is alone.
  virtual ProcessGroup& group() = 0;

  /// A batch on every rank, or a failure on every rank.
  struct OpenResult {
    std::unique_ptr<Batch> batch;
    std::optional<Failure> failure;
  };
  /// `completed`: repetitions of the point in earlier passes; the batch continues with the next buffers and
  /// root.
  virtual OpenResult open(const Point& point, std::int64_t completed = 0) = 0;
  /// Called before the points of a table that was open while others ran: restores the contents of buffers.
  /// False, on all ranks, where another table took the memory.
  virtual bool resume() = 0;
  /// Puts the variables of the table's variant in force (`on`), or the library's own values again. Local.
  virtual void use_variant(bool /*on*/) {}
  /// When ranks arrive at repetitions that begin at agreed times. Local.
  virtual void set_arrival(const Arrival& /*arrival*/) {}
  /// Seconds of this rank for one of `exchanges` short exchanges with its neighbors in the group; NaN on idle
  /// ranks. Collective over the group.
  virtual double probe(int exchanges) = 0;
  /// Writes the files that the point will read; returns this rank's error in one line, or nothing.
  virtual std::string fill_files(const Point& point) = 0;
};

/// As long as it lives, the variables of the table's variant are in force. Calls that are not under test are
/// made with the library's own values: a variant may be one that does not work.
class VariantScope {
 public:
  explicit VariantScope(OpenTable& table) : table_(table) { table_.use_variant(true); }
  ~VariantScope() { table_.use_variant(false); }
  VariantScope(const VariantScope&) = delete;
  VariantScope& operator=(const VariantScope&) = delete;

 private:
  OpenTable& table_;
};

class Resources {
 public:
  virtual ~Resources() = default;
  virtual std::unique_ptr<OpenTable> open(const TablePlan& plan) = 0;
};

}  // namespace openimb
