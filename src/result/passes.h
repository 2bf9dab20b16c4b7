// Summarizes the samples of a row, taken in passes, as medians over the samples in which the machine was in
// its reference state: the fastest state that occurs often enough. Pure; runs at rank 0.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/table.h"
#include "result/measurement.h"
#include "result/states.h"

namespace openimb {

/// One sample of a row, and the state of the machine.
struct RowSample {
  double at = 0;  ///< seconds since the start of the session
  std::int64_t repetitions = 0;
  Figures figures = {};
  SlowestRank slowest = {};
  Arrivals arrivals = {};
  PassSample::Probes probes = {};
  int state = 0;  ///< index into the states; -1: the two probes are in different states
};

/// The samples of one row, in the order of time.
struct RowSeries {
  Row first;  ///< the first sample's row, for what is equal in all passes
  std::vector<RowSample> samples;
  Evidence evidence;  ///< sum over all samples
};

/// Finds the states of the machine from the probes of all rows that were measured on the same ranks, and
/// assigns a state to each sample. `fitted`: see find_states(). States with equal probes cannot be
/// distinguished.
MachineStates assign_states(std::span<RowSeries* const> rows, std::size_t fitted);

/// A row over all passes. summarize() requires at least one sample.
struct Summary {
  Row row;
  std::int64_t repetitions = 0;  ///< median over the samples used
};
Summary summarize(const Table& table, std::int64_t bytes, int in_flight, const RowSeries& series,
                  const MachineStates& states);

/// Returns the levels of the samples used if these lie at two or three levels; else nothing.
std::vector<SampleStatistics::State> modes_of(const Table& table, const RowSeries& series,
                                              const SampleStatistics& statistics);

/// Whether the half width of the row's interval is at most `precision`.
bool is_within(const SampleStatistics& statistics, double precision);

}  // namespace openimb
