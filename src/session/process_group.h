// The collective calls by which ranks agree and send each other data. The session uses ranks only through
// this interface. engine/mpi_process_group.h implements it with MPI, and the unit tests with threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace openimb {

/// Thrown by all responding ranks at the same time. `ranks` (of the world) do not respond, and take no
/// further part.
struct UnresponsiveRanks {
  std::vector<int> ranks;
};

/// Returns where the text of each rank begins in the buffer that rank 0 gathers into. Throws
/// std::length_error if the total exceeds an int.
std::vector<int> offsets_of(std::span<const int> lengths);

/// The ranks of the launch, or of one group. All calls are collective over it. If ranks may stop responding,
/// calls throw UnresponsiveRanks when they do. In later calls the value of such a rank is NaN or empty.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  virtual int rank() const = 0;
  /// Includes ranks that no longer respond.
  virtual int ranks() const = 0;
  virtual void barrier() = 0;
  /// Returns the largest value of any rank, on every rank.
  virtual double allreduce_max(double mine) = 0;
  bool any(bool mine) { return allreduce_max(mine ? 1.0 : 0.0) > 0; }
  /// Returns one value per rank at rank 0; empty elsewhere.
  virtual std::vector<double> gather(double mine);
  virtual std::vector<std::string> gather(const std::string& mine) = 0;
  std::vector<std::vector<double>> gather(std::span<const double> mine);
  /// Bytes that rank 0 can gather in one call, from all ranks together.
  virtual std::int64_t max_gathered_bytes() const { return std::numeric_limits<int>::max(); }
  /// Returns the largest value of any rank for each element, at rank 0; empty elsewhere. All ranks pass the
  /// same number of values.
  virtual std::vector<double> reduce_max(std::span<const double> mine) = 0;
  /// Copies rank 0's values to every rank. All ranks pass the same number of values.
  virtual void broadcast(std::span<std::byte> bytes) = 0;
  void broadcast(std::span<double> values) { broadcast(std::as_writable_bytes(values)); }
  /// Returns rank 0's text on every rank.
  std::string broadcast(std::string text);
};

}  // namespace openimb
