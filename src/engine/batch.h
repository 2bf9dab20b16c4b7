// A benchmark on one rank for one point: the pattern's type is erased here, once per batch, never per
// repetition.
#pragma once

#include <functional>
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

/// A batch on buffers. Nothing here is timed.
class BufferBatch : public Batch {
 public:
  std::int64_t check(std::int64_t repetitions) override;

 protected:
  using Moving = Laps<true, true>;

  BufferBatch(const Spec& spec, const Stage& stage) : spec_(spec), stage_(stage) {}
  const Stage& stage() const { return stage_; }
  LapPlan lap_plan() const;

 private:
  /// The calls under test, from this lap on, completed.
  virtual void repeat(Moving laps, std::int64_t repetitions) = 0;
  virtual Expected expects(const Place& place) const = 0;
  virtual bool updates_receive(const Place& place) const = 0;

  bool exposes() const { return spec_.exposed != Exposed::nothing; }
  void with_own_memory(const std::function<void()>& use) const;
  void synchronise() const;
  void fill_again() const;
  std::int64_t check_round(Content& content, const Moving& first, std::int64_t done, std::int64_t round);
  void prepare_contents(const Content& content, const Lap& lap, std::byte* image) const;

  const Spec& spec_;
  Stage stage_;
};

/// A context with the memory that it points to.
template <class Count>
class Group {
 public:
  Group(const Spec& spec, const Stage& stage, int peer) {
    const Place& place = stage.place;
    const std::int64_t elements = place.elements;
    const bool divided = spec.receive == Extent::even_share || spec.receive == Extent::block_share;
    context_.comm = stage.comm;
    context_.rank = place.rank;
    context_.ranks = place.ranks;
    context_.peer = peer;
    context_.left = (place.rank + place.ranks - 1) % place.ranks;
    context_.right = right_of(place);
    context_.count = static_cast<Count>(elements / stage.type_covers);
    context_.span = stage.geometry.message_extent;
    context_.type = divided ? stage.single_type : stage.type;
    context_.element = stage.single_type;
    context_.op = stage.op;
    if (spec.by_displacement) {
      counts_.assign(place.ranks, context_.count);
      for (int rank = 0; rank < place.ranks; ++rank) {
        displacements_.push_back(static_cast<call::Displacement<Count>>(rank * std::int64_t{context_.count}));
      }
    }
    if (divided) {
      for (int rank = 0; rank < place.ranks; ++rank) {
        shares_.push_back(static_cast<Count>(share(spec.receive, elements, place.ranks, rank)));
      }
      context_.share = shares_.front();
    }
    if (spec.message_rate) {
      requests_.assign(2 * static_cast<std::size_t>(stage.window), MPI_REQUEST_NULL);
      context_.window = stage.window;
    }
    if (spec.access != Access::two_sided) {
      for (int step = 1; step < place.ranks; ++step) others_.push_back((place.rank + step) % place.ranks);
      context_.others = others_.data();
      context_.window_kind = stage.window_kind;
      context_.info = stage.info;
      context_.window_bytes = stage.geometry.receive.footprint;
      if (stage.win != nullptr) {
        context_.win = stage.win->handle();
        context_.bases = stage.win->bases().data();
        if (spec.exposed != Exposed::nothing) context_.peer_base = context_.bases[peer];
      }
    }
    context_.counts = counts_.data();
    context_.displacements = displacements_.data();
    context_.shares = shares_.data();
    context_.requests = requests_.data();
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  const Context<Count>& context() const { return context_; }
  static int right_of(const Place& place) { return (place.rank + 1) % place.ranks; }

 private:
  Context<Count> context_;
  std::vector<Count> counts_;
  std::vector<Count> shares_;
  std::vector<call::Displacement<Count>> displacements_;
  std::vector<MPI_Request> requests_;
  std::vector<int> others_;
};

/// What differs from pattern to pattern: the timed loops, and what each has to say of itself.
template <class Pattern, class Count>
class BatchOf final : public BufferBatch {
 public:
  explicit BatchOf(const Stage& stage)
      : BufferBatch(Pattern::spec, stage), group_(Pattern::spec, stage, peer_of(stage.place)) {}

  double run(std::int64_t repetitions, Timing timing, std::span<double> samples) override {
    if (!takes_part()) return 0;
    [[maybe_unused]] const auto held = hold();
    if constexpr (Pattern::spec.aggregation != Aggregation::none) {
      if (stage().aggregate) return time<Pattern, true>(group_.context(), repetitions, timing, samples);
    }
    return time<Pattern, false>(group_.context(), repetitions, timing, samples);
  }

  double run_with_load(std::int64_t repetitions, Timing timing, std::span<double> samples,
                       const Load& load) override {
    if constexpr (Pattern::spec.overlap) {
      const Loaded<Context<Count>> loaded{group_.context(), load};
      return time<WithLoad<Pattern, WallClock>, false>(loaded, repetitions, timing, samples);
    }
    return 0;
  }

  bool takes_part() const override {
    if constexpr (requires { Pattern::takes_part(stage().place); }) {
      return Pattern::takes_part(stage().place);
    }
    return true;
  }

 private:
  struct Nothing {};

  static int peer_of(const Place& place) {
    if constexpr (requires { Pattern::peer_of(place); }) return Pattern::peer_of(place);
    return Group<Count>::right_of(place);  // of two processes, the other one
  }

  auto hold() const {
    if constexpr (requires { Pattern::hold(group_.context()); }) {
      return Pattern::hold(group_.context());
    } else {
      return Nothing{};
    }
  }

  template <class Step, bool aggregate, class Seen>
  double time(const Seen& context, std::int64_t repetitions, Timing timing, std::span<double> samples) {
    return stage().geometry.slots > 1
               ? time_moving<Step, aggregate, true>(context, repetitions, timing, samples)
               : time_moving<Step, aggregate, false>(context, repetitions, timing, samples);
  }

  template <class Step, bool aggregate, bool moving, class Seen>
  double time_moving(const Seen& context, std::int64_t repetitions, Timing timing,
                     std::span<double> samples) {
    const Laps<moving, Pattern::spec.rooted> laps(lap_plan());
    return timed_as<Step, Pattern::spec.kind, aggregate>(context, laps, repetitions, timing, samples,
                                                         stage().barrier, stage().comm);
  }

  void repeat(Moving laps, std::int64_t repetitions) override {
    [[maybe_unused]] const auto held = hold();
    for (std::int64_t i = 0; i < repetitions; ++i, laps.advance()) {
      Pattern::step(group_.context(), laps.lap());
    }
    close<Pattern>(group_.context());
  }

  Expected expects(const Place& place) const override { return Pattern::expects(place); }

  bool updates_receive(const Place& place) const override {
    if constexpr (requires { Pattern::updates(place); }) return Pattern::updates(place);
    return Pattern::spec.updates_receive;
  }

  Group<Count> group_;
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
