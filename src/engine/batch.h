// A benchmark on one rank for one point: the pattern's type is erased here, once per batch, never per
// repetition.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "engine/buffers.h"
#include "engine/content.h"
#include "engine/pattern.h"
#include "engine/timed_loop.h"
#include "mpi/datatype.h"
#include "mpi/world.h"
#include "plan/geometry.h"

namespace openimb {

struct WallClock {
  static double now() { return MPI_Wtime(); }
};

/// Everything one point needs on one rank; handles and memory belong to the session.
struct Stage {
  MPI_Comm comm = MPI_COMM_NULL;
  Place place;  ///< root: where it starts
  Geometry geometry;
  Element element;
  MPI_Datatype type = MPI_BYTE;  ///< covers type_covers base elements
  std::int64_t type_covers = 1;
  MPI_Datatype single_type = MPI_BYTE;  ///< one base element, for messages divided over the group
  MPI_Op op = MPI_SUM;
  const Buffers* buffers = nullptr;
  int window = 1;
  bool root_shift = true;
  void (*barrier)(MPI_Comm) = nullptr;  ///< between repetitions of a synchronised batch
};

/// How a batch is timed.
enum class Timing { total, every_repetition, synchronised };

class Batch {
 public:
  virtual ~Batch() = default;
  /// Seconds that `repetitions` took. `samples`: room for each repetition's time unless Timing::total.
  virtual double run(std::int64_t repetitions, Timing timing, std::span<double> samples) = 0;
  /// Untimed: arms the buffers before and compares them after each repetition; returns the bytes that were
  /// wrong.
  virtual std::int64_t check(std::int64_t repetitions) = 0;
};

template <class Pattern, class Count>
class BatchOf final : public Batch {
  static constexpr bool rooted = Pattern::spec.rooted;

 public:
  explicit BatchOf(const Stage& stage) : stage_(stage) {
    const Place& place = stage.place;
    const std::int64_t elements = place.elements;
    const bool divided =
        Pattern::spec.receive == Extent::even_share || Pattern::spec.receive == Extent::block_share;
    context_.comm = stage.comm;
    context_.rank = place.rank;
    context_.ranks = place.ranks;
    context_.left = (place.rank + place.ranks - 1) % place.ranks;
    context_.right = (place.rank + 1) % place.ranks;
    context_.count = static_cast<Count>(elements / stage.type_covers);
    context_.span = stage.geometry.message_extent;
    context_.type = divided ? stage.single_type : stage.type;
    context_.op = stage.op;
    if constexpr (requires { Pattern::peer_of(place); }) {
      context_.peer = Pattern::peer_of(place);
    } else {
      context_.peer = context_.right;  // of two processes, the other one
    }
    if constexpr (Pattern::spec.by_displacement) {
      counts_.assign(place.ranks, context_.count);
      for (int rank = 0; rank < place.ranks; ++rank) {
        displacements_.push_back(static_cast<call::Displacement<Count>>(rank * std::int64_t{context_.count}));
      }
    }
    if (divided) {
      for (int rank = 0; rank < place.ranks; ++rank) {
        shares_.push_back(static_cast<Count>(share(Pattern::spec.receive, elements, place.ranks, rank)));
      }
      context_.share = shares_.front();
    }
    if constexpr (Pattern::spec.message_rate) {
      requests_.assign(2 * static_cast<std::size_t>(stage.window), MPI_REQUEST_NULL);
      context_.window = stage.window;
    }
    context_.counts = counts_.data();
    context_.displacements = displacements_.data();
    context_.shares = shares_.data();
    context_.requests = requests_.data();
  }

  double run(std::int64_t repetitions, Timing timing, std::span<double> samples) override {
    if (!takes_part()) return 0;
    return stage_.geometry.slots > 1 ? run_with<true>(repetitions, timing, samples)
                                     : run_with<false>(repetitions, timing, samples);
  }

  std::int64_t check(std::int64_t repetitions) override {
    if (!takes_part()) return 0;
    Content content(stage_.element, Pattern::spec.reduction, stage_.place.ranks);
    std::int64_t defects = 0;
    Laps<true, rooted> laps(lap_plan());
    for (std::int64_t i = 0; i < repetitions; ++i, laps.advance()) {
      content.begin_repetition(i);
      defects += check_one(content, laps.lap());
    }
    return defects;
  }

 private:
  bool takes_part() const {
    if constexpr (requires { Pattern::takes_part(stage_.place); }) return Pattern::takes_part(stage_.place);
    return true;
  }

  LapPlan lap_plan() const {
    const Geometry& geometry = stage_.geometry;
    return {.first = {reinterpret_cast<char*>(stage_.buffers->send.data()),
                      reinterpret_cast<char*>(stage_.buffers->receive.data()), 0},
            .send_stride = geometry.send.stride,
            .receive_stride = geometry.receive.stride,
            .slots = geometry.slots,
            .ranks = stage_.place.ranks,
            .root_step = stage_.root_shift ? 1 : 0};
  }

  template <bool moving>
  double run_with(std::int64_t repetitions, Timing timing, std::span<double> samples) {
    using Movement = Laps<moving, rooted>;
    const Movement laps(lap_plan());
    switch (timing) {
      case Timing::total:
        return drive<Pattern, WallClock>(context_, laps, repetitions, Total{});
      case Timing::every_repetition:
        return drive<Pattern, WallClock>(context_, laps, repetitions,
                                         EveryRepetition<WallClock>{samples.data()});
      case Timing::synchronised: {
        const auto barrier = [call = stage_.barrier, comm = stage_.comm] { call(comm); };
        return drive<Pattern, WallClock>(context_, laps, repetitions,
                                         Synchronised<WallClock, decltype(barrier)>{samples.data(), barrier});
      }
    }
    return 0;
  }

  std::int64_t check_one(const Content& content, const Lap& lap) {
    const std::int64_t footprint = stage_.geometry.receive.footprint;
    const std::int64_t watched = footprint + Content::guard;
    Place place = stage_.place;
    place.root = lap.root;
    // Contents of a rank that does not exist: what an updated receive buffer holds before the repetition.
    const int nobody = place.ranks;
    std::byte* const receive = reinterpret_cast<std::byte*>(lap.receive);
    const std::span actual(receive, static_cast<std::size_t>(watched));
    const std::span expected = stage_.buffers->expected.first(watched);
    for (const auto image : {actual, expected}) {
      std::ranges::fill(image, Content::armed);
      if (Pattern::spec.updates_receive) content.write(image.data(), nobody, 0, place.elements);
      if (Pattern::spec.shares_buffer && place.rank == place.root) {
        content.write(image.data(), place.rank, 0, place.elements);
      }
    }
    const std::int64_t held = stage_.geometry.send.footprint / stage_.element.extent();
    content.write(reinterpret_cast<std::byte*>(lap.send), place.rank, 0, held);
    for (const Piece& piece : Pattern::expects(place))
      content.write(expected.data(), piece, place.rank, nobody);
    Pattern::step(context_, lap);
    return count_differences(actual, expected);
  }

  Stage stage_;
  Context<Count> context_;
  std::vector<Count> counts_;
  std::vector<Count> shares_;
  std::vector<call::Displacement<Count>> displacements_;
  std::vector<MPI_Request> requests_;
};

/// A row of a catalogue.
struct Entry {
  const Spec* spec;
  std::unique_ptr<Batch> (*make)(const Stage&);
  std::unique_ptr<Batch> (*make_large)(const Stage&);  ///< null where this MPI has no large counts
};

template <class Pattern, class Count>
std::unique_ptr<Batch> make_batch(const Stage& stage) {
  return std::make_unique<BatchOf<Pattern, Count>>(stage);
}

template <class Pattern>
constexpr Entry entry() {
#ifdef OPENIMB_LARGE_COUNT
  return {&Pattern::spec, make_batch<Pattern, int>, make_batch<Pattern, call::LargeCount>};
#else
  return {&Pattern::spec, make_batch<Pattern, int>, nullptr};
#endif
}

}  // namespace openimb
