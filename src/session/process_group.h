// What ranks agree on, and what they send each other. The session uses ranks through this interface only:
// engine/mpi_process_group.h implements it on MPI, the unit tests between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace openimb {

/// Thrown at the same time by all ranks that respond: `ranks` (of the launch) do not, and take no further
/// part.
struct UnresponsiveRanks {
  std::vector<int> ranks;
};

/// Where the text of each rank begins among those gathered at rank 0. Throws std::length_error where they are
/// too long, as offsets are ints.
std::vector<int> offsets_of(std::span<const int> lengths);

/// The ranks of the launch, or of one group. All calls are collective over it. Where ranks may stop
/// responding, calls throw UnresponsiveRanks; afterwards the value of such a rank is NaN or empty.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  virtual int rank() const = 0;
  /// Includes ranks that no longer respond.
  virtual int ranks() const = 0;
  virtual void barrier() = 0;
  /// The largest value of any rank, on every rank.
  virtual double largest(double mine) = 0;
  bool any(bool mine) { return largest(mine ? 1.0 : 0.0) > 0; }
  /// One value per rank at rank 0; empty elsewhere.
  virtual std::vector<double> gather(double mine);
  virtual std::vector<std::string> gather(const std::string& mine) = 0;
  std::vector<std::vector<double>> gather(std::span<const double> mine);
  /// Bytes that rank 0 can gather in one call, from all ranks together.
  virtual std::int64_t most_gathered_bytes() const { return std::numeric_limits<int>::max(); }
  /// Element by element the largest of any rank, at rank 0; empty elsewhere. All ranks give equally many.
  virtual std::vector<double> slowest(std::span<const double> mine) = 0;
  /// Rank 0's values on every rank. All ranks give equally many.
  virtual void broadcast(std::span<std::byte> bytes) = 0;
  void broadcast(std::span<double> values) { broadcast(std::as_writable_bytes(values)); }
  /// Rank 0's text on every rank.
  std::string broadcast(std::string text);
};

}  // namespace openimb
