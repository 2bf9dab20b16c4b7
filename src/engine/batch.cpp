#include "engine/batch.h"

#include <algorithm>

namespace openimb {

LapPlan BufferBatch::lap_plan() const {
  const Geometry& geometry = stage_.geometry;
  const bool reads = spec_.exposed == Exposed::send;
  return {.first = {.send = reinterpret_cast<char*>(stage_.send),
                    .receive = reinterpret_cast<char*>(stage_.receive)},
          .send_stride = geometry.send.stride,
          .receive_stride = geometry.receive.stride,
          .remote_stride = reads ? geometry.send.stride : geometry.receive.stride,
          .slots = geometry.slots,
          .ranks = stage_.place.ranks,
          .root_step = spec_.rooted && stage_.root_shift ? 1 : 0};
}

// In rounds of as many repetitions as are completed together: one, or a sample's disjoint sections.
std::int64_t BufferBatch::check(std::int64_t repetitions) {
  if (!takes_part() && !exposes()) return 0;
  Content content(stage_.element, spec_.reduction, stage_.place.ranks);
  std::int64_t defects = 0;
  Moving laps(lap_plan());
  synchronise();  // what was in flight before has arrived
  for (std::int64_t done = 0; done < repetitions;) {
    const std::int64_t round = stage_.aggregate ? std::min(stage_.geometry.sections, repetitions - done) : 1;
    const Moving first = stage_.aggregate ? Moving(lap_plan()) : laps;
    defects += check_round(content, first, done, round);
    for (std::int64_t i = 0; i < round; ++i) laps.advance();
    done += round;
  }
  with_own_memory([&] { fill_again(); });
  synchronise();
  return defects;
}

// What a rank's own loads and stores see of memory in a window, and what they leave there for others: fences
// see to that themselves.
void BufferBatch::with_own_memory(const std::function<void()>& use) const {
  if (exposes() && spec_.access == Access::passive_target) {
    const LockOne own(stage_.place.rank, stage_.win->handle(), MPI_LOCK_EXCLUSIVE);
    use();
  } else {
    use();
  }
}

void BufferBatch::synchronise() const {
  if (exposes()) MPI_Barrier(stage_.comm);
}

void BufferBatch::fill_again() const {
  const auto fill = [&](std::byte* memory, std::int64_t bytes) {
    const std::span all(memory, static_cast<std::size_t>(bytes));
    fill_for_timing(all, stage_.element, spec_, stage_.place.rank);
  };
  fill(stage_.send, stage_.geometry.send.total);
  fill(stage_.receive, stage_.geometry.receive.total);
}

std::int64_t BufferBatch::check_round(Content& content, const Moving& first, std::int64_t done,
                                      std::int64_t round) {
  const std::int64_t watched = stage_.geometry.receive_span(round) + Content::guard;
  const std::span actual(reinterpret_cast<std::byte*>(first.lap().receive),
                         static_cast<std::size_t>(watched));
  const std::span expected = stage_.expected.first(actual.size());

  with_own_memory([&] {
    std::ranges::fill(actual, Content::armed);
    std::ranges::fill(expected, Content::armed);
    Moving laps = first;
    for (std::int64_t i = 0; i < round; ++i, laps.advance()) {
      content.begin_repetition(done + i);
      prepare_contents(content, laps.lap(), expected.data() + (laps.lap().receive - first.lap().receive));
    }
  });
  synchronise();
  if (takes_part()) repeat(first, round);
  synchronise();
  std::int64_t defects = 0;
  with_own_memory([&] { defects = count_differences(actual, expected); });
  return defects;
}

// Contents of one repetition: of the send buffer, of the receive buffer before, and of its image after it.
void BufferBatch::prepare_contents(const Content& content, const Lap& lap, std::byte* image) const {
  Place place = stage_.place;
  place.root = lap.root;
  std::byte* const send = reinterpret_cast<std::byte*>(lap.send);
  std::byte* const receive = reinterpret_cast<std::byte*>(lap.receive);
  for (std::byte* const memory : {receive, image}) {
    if (updates_receive(place)) content.write(memory, nobody(place), 0, place.elements);
    if (spec_.shares_buffer && place.rank == place.root) {
      content.write(memory, place.rank, 0, place.elements);
    }
  }
  const std::int64_t held = stage_.geometry.send.footprint / stage_.element.extent();
  content.write(send, place.rank, 0, held);
  if (spec_.compares) {
    content.write(send + stage_.geometry.message_extent, nobody(place), 0, place.elements);
  }
  for (const Piece& piece : expects(place)) content.write(image, piece, nobody(place));
}

}  // namespace openimb
