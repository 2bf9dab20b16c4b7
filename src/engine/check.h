// -check of benchmarks on buffers: arms the buffers before repetitions and compares them afterwards, byte for
// byte, in chunks. Nothing here is timed.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/content.h"
#include "engine/setup.h"

namespace openimb {

/// The functions by which a benchmark describes a rank (engine/pattern.h).
struct Answers {
  Expected (*expects)(const GroupRank&);
  bool (*updates)(const GroupRank&);
  bool (*takes_part)(const GroupRank&);
  int (*peer_of)(const GroupRank&);
};

/// One of the repetitions that are compared together: its number, its root and its slot in the buffers.
struct Checked {
  std::int64_t repetition = 0;
  std::int64_t slot = 0;
  int root = 0;
};

class BufferCheck {
 public:
  BufferCheck(const Spec& spec, const Setup& setup, const Answers& answers);

  /// Arms the receive buffer and writes the send buffer for these repetitions. Their slots are adjacent.
  void arm(std::span<const Checked> round);
  /// Number of bytes that differ from what a correct MPI delivers, including the guard after the last slot.
  std::int64_t count_defects(std::span<const Checked> round);

 private:
  GroupRank rank_at(const Checked& checked) const;
  std::int64_t receive_at(const Checked& checked) const {
    return checked.slot * setup_.buffers.geometry.receive.stride;
  }
  std::int64_t elements_in(std::int64_t footprint) const;
  void write_send(const Checked& checked);
  void compose(std::span<std::byte> image, std::int64_t begin, std::span<const Checked> round, bool after);
  void compose_one(std::span<std::byte> image, std::int64_t begin, const Checked& checked, bool after);

  const Spec& spec_;
  const Setup& setup_;
  const Answers& answers_;
  Content content_;
  std::vector<std::byte> image_;
  std::vector<std::byte> actual_;
};

}  // namespace openimb
