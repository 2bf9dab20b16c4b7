// The loops of a benchmark on buffers: the pattern's type is erased here, once per batch, never per
// repetition. What is not timed is no template: BufferBatch.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>

#include "engine/check.h"
#include "engine/endpoint_context.h"
#include "engine/entry.h"
#include "engine/members.h"
#include "engine/overlap.h"
#include "engine/packing.h"
#include "engine/pattern.h"
#include "engine/send_loops.h"
#include "engine/setup.h"
#include "engine/sync_loops.h"
#include "engine/timed_loop.h"
#include "engine/wall_clock.h"
#include "plan/attributes.h"
#include "plan/random.h"
#include "session/batch.h"

namespace openimb {

/// One repetition after the other, timed as asked for. `barrier` over `control`: between those of a
/// synchronized batch, which only collectives have that are completed one by one.
template <class Step, Kind kind, bool aggregate, class Seen, class Movement, class... View>
double timed_as(const Seen& context, const Movement& laps, std::int64_t repetitions, Timing timing,
                std::span<double> samples, const Setup& setup, const View&... view) {
  switch (timing) {
    case Timing::total:
      return drive<Step, WallClock, aggregate>(context, laps, repetitions, Total{}, view...);
    case Timing::every_repetition:
      return drive<Step, WallClock, aggregate>(context, laps, repetitions,
                                               EveryRepetition<WallClock>{samples.data()}, view...);
    case Timing::synchronized:
      if constexpr (kind == Kind::collective && !aggregate) {
        const auto meet = [barrier = setup.barrier, comm = setup.control] { barrier(comm); };
        return drive<Step, WallClock>(context, laps, repetitions,
                                      Synchronized<WallClock, decltype(meet)>{samples.data(), meet}, view...);
      }
  }
  return 0;
}

/// `active`, `aggregates`: which modes and tables the benchmark has. Of all benchmarks with these moves.
template <class Move, bool active, bool aggregates, Kind kind, class Seen>
OPENIMB_NOINLINE double timed_in_sync(const Seen& seen, const LapPlan& plan, std::int64_t repetitions,
                                      Timing timing, std::span<double> samples, const Setup& setup) {
  return with_sync<Move, active>(setup.sync, seen.win, [&]<class Step>(Step) {
    const auto run = [&](const auto& laps) {
      if constexpr (aggregates) {
        if (setup.aggregate) {
          return timed_as<Step, kind, true>(seen, laps, repetitions, timing, samples, setup);
        }
      }
      return timed_as<Step, kind, false>(seen, laps, repetitions, timing, samples, setup);
    };
    return plan.slots > 1 ? run(Laps<true, false>(plan)) : run(Laps<false, false>(plan));
  });
}

/// What a pattern's `prepare` made, or nothing. Its view goes into the timed loop.
template <class Pattern, class Context>
class Prepared {
 public:
  Prepared(const Context& c, const LapPlan& plan) : state_(Pattern::prepare(c, plan)) {}
  auto view() {
    static_assert(std::is_trivially_copyable_v<decltype(state_.view())>);
    return state_.view();
  }

 private:
  decltype(Pattern::prepare(std::declval<const Context&>(), std::declval<const LapPlan&>())) state_;
};
template <class Pattern, class Context>
  requires(!requires(const Context& c, const LapPlan& plan) { Pattern::prepare(c, plan); })
class Prepared<Pattern, Context> {
 public:
  Prepared(const Context&, const LapPlan&) {}
};

/// A batch on buffers. Nothing here is timed.
class BufferBatch : public Batch {
 public:
  std::int64_t check(std::int64_t repetitions) override;

 protected:
  using Moving = Laps<true, true>;

  BufferBatch(const Spec& spec, std::unique_ptr<const Setup> setup) : spec_(spec), setup_(std::move(setup)) {}
  const Setup& setup() const { return *setup_; }
  LapPlan plan() const {
    LapPlan plan = lap_plan(*setup_, spec_.one_sided.exposed == Exposed::send, spec_.rooted);
    if (spec_.random_partners) {
      plan.ranks = partner_rounds;
      plan.root_step = 1;
    }
    return plan;
  }

 private:
  /// The calls under test, from this lap on, completed.
  virtual void repeat(Moving laps, std::int64_t repetitions) = 0;
  virtual Expectation expectation() const = 0;

  bool exposes() const { return spec_.one_sided.exposed != Exposed::nothing; }
  void with_own_memory(const std::function<void()>& use) const;
  void synchronize() const;
  std::int64_t check_round(BufferCheck& check, const Moving& first, std::int64_t done, std::int64_t round);

  const Spec& spec_;
  std::unique_ptr<const Setup> setup_;
};

/// With what its steps see.
template <class Context, class Count>
class ContextBatch : public BufferBatch {
 protected:
  OPENIMB_NOINLINE ContextBatch(const Spec& spec, int peer, std::unique_ptr<const Setup>&& given)
      : BufferBatch(spec, std::move(given)), endpoint_(spec, setup(), peer) {}
  OPENIMB_NOINLINE ~ContextBatch() override {}
  const Context& context() const { return endpoint_.context(); }

 private:
  EndpointContext<Context, Count> endpoint_;
};

/// What differs from pattern to pattern: the timed loops, and how each describes itself.
template <class Pattern, class Count>
class BatchOf final : public ContextBatch<typename ContextForPattern<Pattern, Count>::Type, Count> {
  static constexpr Spec spec = Pattern::spec;
  using Context = typename ContextForPattern<Pattern, Count>::Type;
  using Base = ContextBatch<Context, Count>;
  using Loop = LoopOf<Pattern>;
  static constexpr bool prepares = requires(Prepared<Pattern, Context> made) { made.view(); };

 public:
  explicit BatchOf(std::unique_ptr<const Setup> given)
      : Base(Pattern::spec, peer_of(given->endpoint), std::move(given)), prepared_(context(), plan()) {
    if constexpr (spec.one_sided.any_sync) {
      if (in_sync()) synced_.emplace(context(), Pattern::traffic(setup().endpoint));
    }
  }

  double run(std::int64_t repetitions, Timing timing, std::span<double> samples) override {
    if (!takes_part()) return 0;
    if constexpr (spec.one_sided.any_sync) {
      if (in_sync()) {
        constexpr Kind kind = spec.kind == Kind::collective ? spec.kind : Kind::single_transfer;
        return timed_in_sync<typename Pattern::Move, active, spec.aggregation != Aggregation::none, kind>(
            synced_->context(), plan(), repetitions, timing, samples, setup());
      }
      if constexpr (!active) {
        if (setup().sync == SyncMode::flush_local) {
          return run_as<typename Pattern::LocalLoop>(repetitions, timing, samples);
        }
      }
    }
    if constexpr (spec.send_modes.any) {
      if (setup().send_mode != SendMode::standard) return run_in_send_mode(repetitions, timing, samples);
    }
    if constexpr (spec.packs) {
      if (setup().packing != Packing::none) return run_packed(repetitions, timing, samples);
    }
    return run_as<Loop>(repetitions, timing, samples);
  }

  double run_with_load(std::int64_t repetitions, Timing timing, std::span<double> samples,
                       LoadUse& load) override {
    if constexpr (spec.overlaps()) {
      if (setup().device_load != nullptr) return run_beside_device(repetitions, timing, samples, load);
      const Loaded<Context> loaded{context(), plan_load(*setup().load, load)};
      return time<WithLoad<Loop, WallClock>, false>(loaded, repetitions, timing, samples);
    }
    return 0;
  }

  bool takes_part() const override {
    if (spec.one_sided.any_sync && needs_targets(setup().sync)) return true;
    if constexpr (requires { Pattern::takes_part(setup().endpoint); }) {
      return Pattern::takes_part(setup().endpoint);
    }
    return true;
  }

 private:
  using Base::context;
  using Base::plan;
  using Base::setup;
  using Moving = typename Base::Moving;
  struct NoEpoch {};
  static constexpr bool active = spec.access == Access::active_target;
  bool in_sync() const { return has_sync_loop(spec, setup().sync); }

  template <class Step>
  double run_as(std::int64_t repetitions, Timing timing, std::span<double> samples) {
    [[maybe_unused]] const auto around = epoch();
    if constexpr (spec.aggregation != Aggregation::none) {
      if (setup().aggregate) return time<Step, true>(context(), repetitions, timing, samples);
    }
    return time<Step, false>(context(), repetitions, timing, samples);
  }

  OPENIMB_NOINLINE double run_beside_device(std::int64_t repetitions, Timing timing,
                                            std::span<double> samples, LoadUse& use) {
    const auto meet = [this] { setup().barrier(setup().control); };
    const auto run = [&](const auto&... view) {
      return drive_beside_device<Loop, WallClock>(context(), Moving(plan()), repetitions, timing, samples,
                                                  meet, {*setup().device_load, use}, view...);
    };
    if constexpr (prepares) {
      return run(prepared_.view());
    } else {
      return run();
    }
  }

  OPENIMB_NOINLINE double run_in_send_mode(std::int64_t repetitions, Timing timing,
                                           std::span<double> samples) {
    return with_send_mode<Pattern>(setup().send_mode, context(), setup().control, plan(), plan().beginning(),
                                   [&]<class Step>(Step, auto... view) {
                                     const auto run = [&](const auto& laps) {
                                       return timed_as<Step, spec.kind, false>(
                                           context(), laps, repetitions, timing, samples, setup(), view...);
                                     };
                                     return plan().slots > 1 ? run(Laps<true, false>(plan()))
                                                             : run(Laps<false, false>(plan()));
                                   });
  }

  OPENIMB_NOINLINE double run_packed(std::int64_t repetitions, Timing timing, std::span<double> samples) {
    return in_packed_form([&]<class Step>(Step, const Context& seen, const auto&... view) {
      const auto run = [&](const auto& laps) {
        return timed_as<Step, spec.kind, false>(seen, laps, repetitions, timing, samples, setup(), view...);
      };
      return plan().slots > 1 ? run(Laps<true, spec.rooted>(plan())) : run(Laps<false, spec.rooted>(plan()));
    });
  }

  template <class Use>
  auto in_packed_form(const Use& use) {
    const PackedMessages& packed = *setup().packed;
    return with_packing<Loop>(setup().packing, packed, context(), [&](auto step, const Context& seen) {
      if constexpr (prepares) {
        return use(step, seen, packed.view(), prepared_.view());
      } else {
        return use(step, seen, packed.view());
      }
    });
  }

  static int peer_of(const Endpoint& endpoint) {
    if constexpr (requires { Pattern::peer_of(endpoint); }) return Pattern::peer_of(endpoint);
    return endpoint.right();  // of two processes, the other one
  }

  auto epoch() const {
    if constexpr (requires { Pattern::epoch(context()); }) {
      return Pattern::epoch(context());
    } else {
      return NoEpoch{};
    }
  }

  template <class Step, bool aggregate, class Seen>
  double time(const Seen& seen, std::int64_t repetitions, Timing timing, std::span<double> samples) {
    return setup().geometry.slots > 1
               ? time_moving<Step, aggregate, true>(seen, repetitions, timing, samples)
               : time_moving<Step, aggregate, false>(seen, repetitions, timing, samples);
  }

  template <class Step, bool aggregate, bool moving, class Seen>
  double time_moving(const Seen& seen, std::int64_t repetitions, Timing timing, std::span<double> samples) {
    const Laps<moving, spec.rooted || spec.random_partners> laps(plan());
    if constexpr (prepares) {
      return timed_as<Step, spec.kind, aggregate>(seen, laps, repetitions, timing, samples, setup(),
                                                  prepared_.view());
    } else {
      return timed_as<Step, spec.kind, aggregate>(seen, laps, repetitions, timing, samples, setup());
    }
  }

  void repeat(Moving laps, std::int64_t repetitions) override {
    if constexpr (spec.one_sided.any_sync) {
      if (in_sync()) {
        with_sync<typename Pattern::Move, active>(setup().sync, context().win, [&]<class Step>(Step) {
          repeat_as<Step>(synced_->context(), laps, repetitions);
        });
        return;
      }
      if constexpr (!active) {
        if (setup().sync == SyncMode::flush_local) {
          [[maybe_unused]] const auto around = epoch();
          repeat_as<typename Pattern::LocalLoop>(context(), laps, repetitions);
          return;
        }
      }
    }
    if constexpr (spec.send_modes.any) {
      if (setup().send_mode != SendMode::standard) {
        with_send_mode<Pattern>(
            setup().send_mode, context(), setup().control, plan(), laps.lap(),
            [&]<class Step>(Step, auto... view) { repeat_as<Step>(context(), laps, repetitions, view...); });
        return;
      }
    }
    if constexpr (spec.packs) {
      if (setup().packing != Packing::none) {
        return in_packed_form([&]<class Step>(Step, const Context& seen, const auto&... view) {
          repeat_as<Step>(seen, laps, repetitions, view...);
        });
      }
    }
    [[maybe_unused]] const auto around = epoch();
    if constexpr (prepares) {
      repeat_as<Loop>(context(), laps, repetitions, prepared_.view());
    } else {
      repeat_as<Loop>(context(), laps, repetitions);
    }
  }

  template <class Step, class Seen, class... View>
  static void repeat_as(const Seen& seen, Moving laps, std::int64_t repetitions, const View&... view) {
    open<Step>(seen);
    for (std::int64_t i = 0; i < repetitions; ++i, laps.advance()) Step::step(seen, laps.lap(), view...);
    close<Step>(seen, view...);
  }

  Expectation expectation() const override {
    return {.expects = Pattern::expects, .updates = [](const Endpoint& endpoint) {
              if constexpr (requires { Pattern::updates(endpoint); }) return Pattern::updates(endpoint);
              return Pattern::spec.updates_receive;
            }};
  }

  Prepared<Pattern, Context> prepared_;
  struct NotSynced {};
  std::conditional_t<spec.one_sided.any_sync, std::optional<SyncEndpoint<Context>>, NotSynced> synced_;
};

template <class BatchType>
std::unique_ptr<Batch> make_batch(std::unique_ptr<const Setup> setup) {
  if constexpr (requires { BatchType::make(std::move(setup)); })
    return BatchType::make(std::move(setup));
  else
    return std::make_unique<BatchType>(std::move(setup));
}

template <class Pattern, template <class, class> class BatchType = BatchOf>
constexpr Entry entry() {
  if constexpr (requires { typename Pattern::Namesake; }) {  // another name: the same loops
    constexpr Entry same = entry<typename Pattern::Namesake, BatchType>();
    return {&Pattern::spec, same.make, same.make_large};
  } else if constexpr (!Pattern::spec.unavailable.empty()) {
    return {&Pattern::spec, nullptr, nullptr};
  } else {
    static_assert(ListsItsMembers<Pattern>,
                  "members: not the optional members that this benchmark and its Loop have");
    static_assert(MembersAreCallable<Pattern, SeenBy<Pattern>>,
                  "a member of this benchmark cannot be called: engine/pattern.h");
    static_assert(Benchmark<Pattern>);
#ifdef OPENIMB_LARGE_COUNT
    return {&Pattern::spec, make_batch<BatchType<Pattern, int>>,
            make_batch<BatchType<Pattern, call::LargeCount>>};
#else
    return {&Pattern::spec, make_batch<BatchType<Pattern, int>>, nullptr};
#endif
  }
}

}  // namespace openimb
