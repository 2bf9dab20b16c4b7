#include "engine/check.h"

#include <algorithm>

#include "plan/schedule.h"

namespace openimb {

BufferCheck::BufferCheck(const Spec& spec, const Setup& setup, const PatternHooks& hooks)
    : spec_(spec),
      setup_(setup),
      hooks_(hooks),
      content_(setup.buffers.element, spec.reduction, setup.group.me.ranks, setup.buffers.geometry.elements,
               setup.buffers.geometry.message_extent) {
  const std::int64_t widest =
      std::max(setup.buffers.geometry.receive_span(setup.buffers.geometry.sections) + Content::guard,
               setup.buffers.geometry.send.footprint);
  image_.resize(static_cast<std::size_t>(std::min(image_chunk, widest)));
  actual_.resize(image_.size());
}

GroupRank BufferCheck::rank_at(const CheckedRepetition& checked) const {
  GroupRank me = setup_.group.me;
  me.root = checked.root;
  return me;
}

void BufferCheck::arm(std::span<const CheckedRepetition> round) {
  const std::int64_t first = receive_at(round.front());
  const std::int64_t checked_bytes =
      setup_.buffers.geometry.receive_span(static_cast<std::int64_t>(round.size())) + Content::guard;
  for_each_chunk(image_, checked_bytes, [&](std::int64_t begin, std::span<std::byte> image) {
    compose(image, begin, round, false);
    setup_.buffers.receive->write(first + begin, image);
  });
  for (const CheckedRepetition& repetition : round) write_send(repetition);
}

std::int64_t BufferCheck::elements_in(std::int64_t footprint) const {
  const Geometry& geometry = setup_.buffers.geometry;
  if (!setup_.buffers.element.layout.has_gaps()) return footprint / setup_.buffers.element.extent();
  return geometry.elements == 0 ? 0 : footprint / geometry.message_extent * geometry.elements;
}

void BufferCheck::write_send(const CheckedRepetition& checked) {
  const Geometry& geometry = setup_.buffers.geometry;
  const GroupRank me = rank_at(checked);
  content_.begin_repetition(checked.repetition, setup_.team.thread);
  for_each_chunk(image_, geometry.send.footprint, [&](std::int64_t begin, std::span<std::byte> image) {
    std::ranges::fill(image, Content::armed);
    content_.write(image, begin, {.rank = me.rank, .count = elements_in(geometry.send.footprint)}, 0);
    if (spec_.one_sided.compares) {
      const Piece compared{.rank = initial_content(me),
                           .receive_at = elements_in(geometry.message_extent),
                           .count = me.elements};
      content_.write(image, begin, compared, 0);
    }
    setup_.buffers.send->write(checked.slot * geometry.send.stride + begin, image);
  });
}

std::int64_t BufferCheck::count_defects(std::span<const CheckedRepetition> round) {
  const std::int64_t first = receive_at(round.front());
  const std::int64_t checked_bytes =
      setup_.buffers.geometry.receive_span(static_cast<std::int64_t>(round.size())) + Content::guard;
  std::int64_t defects = 0;
  for_each_chunk(image_, checked_bytes, [&](std::int64_t begin, std::span<std::byte> image) {
    compose(image, begin, round, true);
    const std::span actual = std::span(actual_).first(image.size());
    setup_.buffers.receive->read(first + begin, actual);
    defects += count_differences(actual, image);
  });
  return defects;
}

// Writes to `image` the expected contents of a round's receive buffers: `after` its repetitions, or before
// them. The image begins `begin` bytes after the buffer of the first repetition.
void BufferCheck::compose(std::span<std::byte> image, std::int64_t begin,
                          std::span<const CheckedRepetition> round, bool after) {
  std::ranges::fill(image, Content::armed);
  const std::int64_t end = begin + static_cast<std::int64_t>(image.size());
  for (const CheckedRepetition& repetition : round) {
    const std::int64_t at = receive_at(repetition) - receive_at(round.front());
    if (at >= end || at + setup_.buffers.geometry.receive.footprint <= begin) continue;
    // The image may hold only a part of this repetition's buffer.
    const std::int64_t skipped = std::max<std::int64_t>(0, at - begin);
    compose_one(image.subspan(static_cast<std::size_t>(skipped)), std::max<std::int64_t>(0, begin - at),
                repetition, after);
  }
}

void BufferCheck::compose_one(std::span<std::byte> image, std::int64_t begin,
                              const CheckedRepetition& checked, bool after) {
  const GroupRank me = rank_at(checked);
  const int initial = initial_content(me);
  content_.begin_repetition(checked.repetition, setup_.team.thread);
  const std::int64_t all = elements_in(setup_.buffers.geometry.receive.footprint);
  if (sends_in_place(setup_) || (spec_.updates_receive && hooks_.updates(me))) {
    content_.write(image, begin, {.rank = initial, .count = all}, initial);
  }
  if (spec_.replaces || (spec_.shares_buffer && me.rank == me.root)) {
    content_.write(image, begin, {.rank = me.rank, .count = all}, initial);
  }
  if (!after) return;
  if (receives_in_place(setup_)) return;
  for (const Piece& piece : hooks_.expects(me)) content_.write(image, begin, piece, initial);
}

}  // namespace openimb
