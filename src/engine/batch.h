// A benchmark on one rank for one point: the pattern's type is erased here, once per batch, never per
// repetition.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/buffers.h"
#include "engine/content.h"
#include "engine/overlap.h"
#include "engine/pattern.h"
#include "engine/timed_loop.h"
#include "mpi/datatype.h"
#include "mpi/file.h"
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
  bool aggregate = false;
  Element element;
  MPI_Datatype type = MPI_BYTE;  ///< covers type_covers base elements
  std::int64_t type_covers = 1;
  MPI_Datatype single_type = MPI_BYTE;  ///< one base element
  MPI_Op op = MPI_SUM;
  std::byte* send = nullptr;
  std::byte* receive = nullptr;
  std::span<std::byte> expected;  ///< -check only: room for an image of the receive buffer
  const Window* win = nullptr;    ///< one-sided only
  WindowKind window_kind = WindowKind::create;
  MPI_Info info = MPI_INFO_NULL;
  std::int64_t bytes = 0;  ///< the length under test; files only, as the following
  std::string file_name;
  Tile tile;
  std::int64_t repetitions = 0;  ///< that a file which is read has contents for
  FileSync file_sync = FileSync::standard;
  int window = 1;
  bool root_shift = true;
  void (*barrier)(MPI_Comm) = nullptr;  ///< between repetitions of a synchronised batch
};

/// How a batch is timed.
enum class Timing { total, every_repetition, synchronised };

/// Of collectives only, and not of what completes together. Session asks for nothing else.
constexpr bool can_synchronise(Kind kind, bool aggregate) { return kind == Kind::collective && !aggregate; }

/// One repetition after the other, timed as asked for. `barrier` over `comm`: between those of a synchronised
/// batch.
template <class Step, Kind kind, bool aggregate, class Seen, class Movement>
double timed_as(const Seen& context, const Movement& laps, std::int64_t repetitions, Timing timing,
                std::span<double> samples, void (*barrier)(MPI_Comm), MPI_Comm comm) {
  switch (timing) {
    case Timing::total:
      return drive<Step, WallClock, aggregate>(context, laps, repetitions, Total{});
    case Timing::every_repetition:
      return drive<Step, WallClock, aggregate>(context, laps, repetitions,
                                               EveryRepetition<WallClock>{samples.data()});
    case Timing::synchronised:
      if constexpr (can_synchronise(kind, aggregate)) {
        const auto meet = [barrier, comm] { barrier(comm); };
        return drive<Step, WallClock>(context, laps, repetitions,
                                      Synchronised<WallClock, decltype(meet)>{samples.data(), meet});
      }
  }
  return 0;
}

class Batch {
 public:
  virtual ~Batch() = default;
  /// Untimed, before every run: what a batch must find anew. Collective over the group.
  virtual void prepare() {}
  /// Untimed, after a run that counts: whether it did what it should. Collective over the group.
  virtual void conclude(std::int64_t repetitions) { static_cast<void>(repetitions); }
  /// Seconds that `repetitions` took. `samples`: room for each repetition's time unless Timing::total.
  virtual double run(std::int64_t repetitions, Timing timing, std::span<double> samples) = 0;
  /// Untimed: arms the buffers before and compares them after each repetition; returns the bytes that were
  /// wrong. Afterwards the buffers are as before.
  virtual std::int64_t check(std::int64_t repetitions) = 0;
  /// Seconds that `repetitions` took with this load in each; 0 for patterns that do not overlap.
  virtual double run_with_load(std::int64_t repetitions, Timing timing, std::span<double> samples,
                               const Load& load) = 0;
  /// Whether this rank has a time to report.
  virtual bool takes_part() const = 0;
  /// In MPI's words, what went wrong on this rank since it was asked last, where that does not end the job;
  /// else empty.
  virtual std::string take_trouble() { return {}; }
  /// In force for the file.
  virtual Hints hints() const { return {}; }
};

template <class Pattern, class Count>
class BatchOf final : public Batch {
  static constexpr bool rooted = Pattern::spec.rooted;
  static constexpr bool one_sided = Pattern::spec.access != Access::two_sided;
  static constexpr bool aggregates = Pattern::spec.aggregation != Aggregation::none;
  static constexpr bool exposes = Pattern::spec.exposed != Exposed::nothing;

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
    context_.element = stage.single_type;
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
    if constexpr (one_sided) {
      for (int step = 1; step < place.ranks; ++step) others_.push_back((place.rank + step) % place.ranks);
      context_.others = others_.data();
      context_.window_kind = stage.window_kind;
      context_.info = stage.info;
      context_.window_bytes = stage.geometry.receive.footprint;
      if (stage.win != nullptr) {
        context_.win = stage.win->handle();
        context_.bases = stage.win->bases().data();
        if constexpr (exposes) context_.peer_base = context_.bases[context_.peer];
      }
    }
    context_.counts = counts_.data();
    context_.displacements = displacements_.data();
    context_.shares = shares_.data();
    context_.requests = requests_.data();
  }

  double run(std::int64_t repetitions, Timing timing, std::span<double> samples) override {
    if (!takes_part()) return 0;
    [[maybe_unused]] const auto held = hold();
    if constexpr (aggregates) {
      if (stage_.aggregate) return time<Pattern, true>(context_, repetitions, timing, samples);
    }
    return time<Pattern, false>(context_, repetitions, timing, samples);
  }

  double run_with_load(std::int64_t repetitions, Timing timing, std::span<double> samples,
                       const Load& load) override {
    if constexpr (Pattern::spec.overlap) {
      const Loaded<Context<Count>> loaded{context_, load};
      return time<WithLoad<Pattern, WallClock>, false>(loaded, repetitions, timing, samples);
    }
    return 0;
  }

  // In rounds of as many repetitions as are completed together: one, or a sample's disjoint sections.
  std::int64_t check(std::int64_t repetitions) override {
    if (!takes_part() && !exposes) return 0;
    Content content(stage_.element, Pattern::spec.reduction, stage_.place.ranks);
    std::int64_t defects = 0;
    Moving laps(lap_plan());
    synchronise();  // what was in flight before has arrived
    for (std::int64_t done = 0; done < repetitions;) {
      const std::int64_t round =
          stage_.aggregate ? std::min(stage_.geometry.sections, repetitions - done) : 1;
      const Moving first = stage_.aggregate ? Moving(lap_plan()) : laps;
      defects += check_round(content, first, done, round);
      for (std::int64_t i = 0; i < round; ++i) laps.advance();
      done += round;
    }
    with_own_memory([&] { fill_again(); });
    synchronise();
    return defects;
  }

  bool takes_part() const override {
    if constexpr (requires { Pattern::takes_part(stage_.place); }) return Pattern::takes_part(stage_.place);
    return true;
  }

 private:
  using Moving = Laps<true, rooted>;
  struct Nothing {};

  auto hold() const {
    if constexpr (requires { Pattern::hold(context_); }) {
      return Pattern::hold(context_);
    } else {
      return Nothing{};
    }
  }

  LapPlan lap_plan() const {
    const Geometry& geometry = stage_.geometry;
    const bool reads = Pattern::spec.exposed == Exposed::send;
    return {.first = {.send = reinterpret_cast<char*>(stage_.send),
                      .receive = reinterpret_cast<char*>(stage_.receive)},
            .send_stride = geometry.send.stride,
            .receive_stride = geometry.receive.stride,
            .remote_stride = reads ? geometry.send.stride : geometry.receive.stride,
            .slots = geometry.slots,
            .ranks = stage_.place.ranks,
            .root_step = stage_.root_shift ? 1 : 0};
  }

  template <class Step, bool aggregate, class Seen>
  double time(const Seen& context, std::int64_t repetitions, Timing timing, std::span<double> samples) {
    return stage_.geometry.slots > 1
               ? time_moving<Step, aggregate, true>(context, repetitions, timing, samples)
               : time_moving<Step, aggregate, false>(context, repetitions, timing, samples);
  }

  template <class Step, bool aggregate, bool moving, class Seen>
  double time_moving(const Seen& context, std::int64_t repetitions, Timing timing,
                     std::span<double> samples) {
    const Laps<moving, rooted> laps(lap_plan());
    return timed_as<Step, Pattern::spec.kind, aggregate>(context, laps, repetitions, timing, samples,
                                                         stage_.barrier, stage_.comm);
  }

  // What a rank's own loads and stores see of memory in a window, and what they leave there for others:
  // fences see to that themselves.
  template <class Use>
  void with_own_memory(Use use) const {
    if constexpr (exposes && Pattern::spec.access == Access::passive_target) {
      const LockOne own(stage_.place.rank, context_.win, MPI_LOCK_EXCLUSIVE);
      use();
    } else {
      use();
    }
  }
  void synchronise() const {
    if constexpr (exposes) MPI_Barrier(stage_.comm);
  }

  void fill_again() const {
    const auto fill = [&](std::byte* memory, std::int64_t bytes) {
      const std::span all(memory, static_cast<std::size_t>(bytes));
      fill_for_timing(all, stage_.element, Pattern::spec, stage_.place.rank);
    };
    fill(stage_.send, stage_.geometry.send.total);
    fill(stage_.receive, stage_.geometry.receive.total);
  }

  std::int64_t check_round(Content& content, const Moving& first, std::int64_t done, std::int64_t round) {
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
        prepare(content, laps.lap(), expected.data() + (laps.lap().receive - first.lap().receive));
      }
    });
    synchronise();
    if (takes_part()) {
      [[maybe_unused]] const auto held = hold();
      Moving laps = first;
      for (std::int64_t i = 0; i < round; ++i, laps.advance()) Pattern::step(context_, laps.lap());
      close<Pattern>(context_);
    }
    synchronise();
    std::int64_t defects = 0;
    with_own_memory([&] { defects = count_differences(actual, expected); });
    return defects;
  }

  static bool updates_receive(const Place& place) {
    if constexpr (requires { Pattern::updates(place); }) return Pattern::updates(place);
    return Pattern::spec.updates_receive;
  }

  // Contents of one repetition: of the send buffer, of the receive buffer before, and of its image after it.
  void prepare(const Content& content, const Lap& lap, std::byte* image) const {
    constexpr Spec spec = Pattern::spec;
    Place place = stage_.place;
    place.root = lap.root;
    std::byte* const send = reinterpret_cast<std::byte*>(lap.send);
    std::byte* const receive = reinterpret_cast<std::byte*>(lap.receive);
    for (std::byte* const memory : {receive, image}) {
      if (updates_receive(place)) content.write(memory, nobody(place), 0, place.elements);
      if (spec.shares_buffer && place.rank == place.root)
        content.write(memory, place.rank, 0, place.elements);
    }
    const std::int64_t held = stage_.geometry.send.footprint / stage_.element.extent();
    content.write(send, place.rank, 0, held);
    if (spec.compares) content.write(send + context_.span, nobody(place), 0, place.elements);
    for (const Piece& piece : Pattern::expects(place)) content.write(image, piece, nobody(place));
  }

  Stage stage_;
  Context<Count> context_;
  std::vector<Count> counts_;
  std::vector<Count> shares_;
  std::vector<call::Displacement<Count>> displacements_;
  std::vector<MPI_Request> requests_;
  std::vector<int> others_;
};

/// A row of a catalogue.
struct Entry {
  const Spec* spec;
  std::unique_ptr<Batch> (*make)(const Stage&);
  std::unique_ptr<Batch> (*make_large)(const Stage&);  ///< null where this MPI has no large counts
};

template <class BatchType>
std::unique_ptr<Batch> make_batch(const Stage& stage) {
  return std::make_unique<BatchType>(stage);
}

template <class Pattern, template <class, class> class BatchType = BatchOf>
constexpr Entry entry() {
#ifdef OPENIMB_LARGE_COUNT
  return {&Pattern::spec, make_batch<BatchType<Pattern, int>>,
          make_batch<BatchType<Pattern, call::LargeCount>>};
#else
  return {&Pattern::spec, make_batch<BatchType<Pattern, int>>, nullptr};
#endif
}

}  // namespace openimb
