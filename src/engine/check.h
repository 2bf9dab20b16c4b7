// -check for benchmarks on buffers. Before repetitions it arms the receive buffer: it sets every byte to
// Content::armed, except for expected input. After the repetitions it compares the buffer byte for byte. This
// code is never timed.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/content.h"
#include "engine/setup.h"

namespace openimb {

/// Functions of a benchmark that describe what a rank does (engine/pattern.h).
struct PatternHooks {
  ExpectedContents (*expects)(const GroupRank&);
  bool (*updates)(const GroupRank&);
  bool (*takes_part)(const GroupRank&);
  int (*peer_of)(const GroupRank&);
};

/// A repetition that is checked: its number, its slot in the buffers and its root.
struct CheckedRepetition {
  std::int64_t repetition = 0;
  std::int64_t slot = 0;
  int root = 0;
};

/// Checks the repetitions of a point.
class BufferCheck {
 public:
  BufferCheck(const Spec& spec, const Setup& setup, const PatternHooks& hooks);

  /// Arms the receive buffer and writes the send buffer for the repetitions of a round. Their slots are
  /// adjacent.
  void arm(std::span<const CheckedRepetition> round);
  /// Number of bytes of the receive buffer, including the guard after the last slot, that differ from what a
  /// correct MPI delivers.
  std::int64_t count_defects(std::span<const CheckedRepetition> round);

 private:
  GroupRank rank_at(const CheckedRepetition& checked) const;
  std::int64_t receive_at(const CheckedRepetition& checked) const {
    return checked.slot * setup_.buffers.geometry.receive.stride;
  }
  std::int64_t elements_in(std::int64_t footprint) const;
  void write_send(const CheckedRepetition& checked);
  void compose(std::span<std::byte> image, std::int64_t begin, std::span<const CheckedRepetition> round,
               bool after);
  void compose_one(std::span<std::byte> image, std::int64_t begin, const CheckedRepetition& checked,
                   bool after);

  const Spec& spec_;
  const Setup& setup_;
  const PatternHooks& hooks_;
  Content content_;
  std::vector<std::byte> image_;
  std::vector<std::byte> actual_;
};

}  // namespace openimb
