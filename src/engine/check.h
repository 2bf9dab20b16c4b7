// -check of benchmarks on buffers: arms the buffers before repetitions and compares them afterwards, byte for
// byte, in chunks. This code is never timed.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/content.h"
#include "engine/setup.h"

namespace openimb {

/// The functions by which a benchmark describes a rank (engine/pattern.h).
struct PatternHooks {
  Expected (*expects)(const GroupRank&);
  bool (*updates)(const GroupRank&);
  bool (*takes_part)(const GroupRank&);
  int (*peer_of)(const GroupRank&);
};

/// One of the repetitions that are compared together: its number, its root and its slot in the buffers.
struct CheckedRepetition {
  std::int64_t repetition = 0;
  std::int64_t slot = 0;
  int root = 0;
};

class BufferCheck {
 public:
  BufferCheck(const Spec& spec, const Setup& setup, const PatternHooks& hooks);

  /// Arms the receive buffer and writes the send buffer for these repetitions. Their slots are adjacent.
  void arm(std::span<const CheckedRepetition> round);
  /// Number of bytes that differ from what a correct MPI delivers, including the guard after the last slot.
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
