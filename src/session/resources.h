// Objects of these classes own the resources of tables and points: communicators, buffers, windows and files.
// All ranks free them together.
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

/// The resources of one table on this rank. Construction, calls and destruction are collective over all ranks
/// of the launch, unless noted otherwise.
class OpenTable {
 public:
  virtual ~OpenTable() = default;
  /// Why the table cannot run, or nothing. Equal on all ranks. Local.
  virtual std::optional<Failure> failure() const = 0;
  /// Whether all ranks found memory for a point. Equal on all ranks. Local.
  virtual bool has_memory_for(const Point& point) const = 0;
  /// This rank's group; an idle rank is alone in a group.
  virtual ProcessGroup& group() = 0;

  /// A batch on every rank, or a failure on every rank.
  struct OpenResult {
    std::unique_ptr<Batch> batch;
    std::optional<Failure> failure;
  };
  /// `completed`: repetitions of the point in earlier passes; the batch continues with the next buffers and
  /// root.
  virtual OpenResult open(const Point& point, std::int64_t completed = 0) = 0;
  /// Restores the contents of buffers. Call it before the points of a table that stayed open while others
  /// ran. Returns false on all ranks if another table took the memory.
  virtual bool resume() = 0;
  /// Sets the variables of the table's variant (`on`), or restores the library's own values. Local.
  virtual void use_variant(bool /*on*/) {}
  /// Sets how late each rank arrives at repetitions that begin at agreed times. Local.
  virtual void set_arrival(const Arrival& /*arrival*/) {}
  /// Makes `exchanges` short exchanges with the neighbors in the group. Returns this rank's seconds per
  /// exchange; NaN on idle ranks. Collective over the group.
  virtual double probe(int exchanges) = 0;
  /// Writes the files that the point will read; returns this rank's error in one line, or nothing.
  virtual std::string fill_files(const Point& point) = 0;
};

/// Sets the variables of the table's variant during its lifetime. Calls that are not under test use the
/// library's own values, because a variant may not work.
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
