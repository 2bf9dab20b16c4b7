// What ranks have to agree on, and what they send each other. A launch knows ranks by this interface alone:
// MPI's is engine/mpi_agreement.h, the unit tests have one between threads.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace openimb {

/// Thrown by all ranks that still answer at once: these ones (of the launch) do not, and are left out of all
/// that follows.
struct Silence {
  std::vector<int> ranks;
};

/// A set of ranks: those of the launch, or those of one group. All calls are collective over it. One between
/// ranks of which some may fall silent throws Silence; what such a rank gave is NaN or empty afterwards.
class Agreement {
 public:
  virtual ~Agreement() = default;
  virtual int rank() const = 0;
  /// Those that no longer answer included.
  virtual int ranks() const = 0;
  virtual void barrier() = 0;
  /// The largest value of any rank, on every rank.
  virtual double largest(double mine) = 0;
  bool any(bool mine) { return largest(mine ? 1.0 : 0.0) > 0; }
  /// One value per rank at rank 0; empty elsewhere.
  virtual std::vector<double> gather(double mine);
  virtual std::vector<std::string> gather(const std::string& mine) = 0;
  std::vector<std::vector<double>> gather(std::span<const double> mine);
  /// Element by element the largest of any rank, at rank 0; empty elsewhere. All ranks give as many.
  virtual std::vector<double> slowest(std::span<const double> mine) = 0;
  /// Rank 0's values on every rank. All ranks give as many.
  virtual void broadcast(std::span<std::byte> bytes) = 0;
  void broadcast(std::span<double> values) { broadcast(std::as_writable_bytes(values)); }
  /// Rank 0's text on every rank.
  std::string broadcast(std::string text);
};

}  // namespace openimb
