// What tables and points need open: communicators, buffers, windows, files. Owned here, freed by agreement.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "plan/schedule.h"
#include "session/agreement.h"
#include "session/batch.h"

namespace openimb {

/// What is open for one table on this rank. Collective over all ranks of the launch to make, to use and to
/// destroy, unless noted otherwise.
class OpenTable {
 public:
  virtual ~OpenTable() = default;
  /// Why the table cannot run after all; equal on all ranks. Local.
  virtual std::optional<Failure> failure() const = 0;
  /// Whether all ranks found memory for a point. Local, and equal on all ranks.
  virtual bool has_memory_for(const Point& point) const = 0;
  /// The ranks of this rank's group; an idle rank is alone.
  virtual Agreement& group() = 0;

  /// A batch on every rank, or a failure on every rank.
  struct Opened {
    std::unique_ptr<Batch> batch;
    std::optional<Failure> failure;
  };
  /// `gone`: repetitions of the point that went before; the batch goes on with the next buffers and root.
  virtual Opened open(const Point& point, std::int64_t gone = 0) = 0;
  /// Before the points of a table that stays open while others run: buffers hold what they held. False, on
  /// all ranks, where memory was lost to another table.
  virtual bool resume() = 0;
  /// What this rank needs for one of `exchanges` short exchanges with its neighbors in the group, in seconds;
  /// NaN on idle ranks. Collective over the group.
  virtual double probe(int exchanges) = 0;
  /// Writes the files that the point will read; returns this rank's error in one line, or nothing.
  virtual std::string fill_files(const Point& point) = 0;
};

class Resources {
 public:
  virtual ~Resources() = default;
  virtual std::unique_ptr<OpenTable> open(const TablePlan& plan) = 0;
};

}  // namespace openimb
