// The loops of a benchmark on buffers. A batch hides the pattern's type behind virtual functions that are
// called once per batch, never per repetition. Only timed code is a template; BufferBatch has the rest.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>

#include "engine/benchmark.h"
#include "engine/check.h"
#include "engine/entry.h"
#include "engine/overlap.h"
#include "engine/pattern.h"
#include "engine/rank_context.h"
#include "engine/send_loops.h"
#include "engine/setup.h"
#include "engine/sync_loops.h"
#include "engine/timed_loop.h"
#include "engine/wall_clock.h"
#include "model/attributes.h"
#include "model/random.h"
#include "session/batch.h"

namespace openimb {

/// The barrier between the repetitions of a synchronized batch (-sync on). Only collectives whose repetitions
/// complete one by one have such batches.
struct ControlBarrier {
  void (*barrier)(MPI_Comm);
  MPI_Comm comm;
  void operator()() const { barrier(comm); }
};

/// The arguments of Batch::run and the setup.
struct RunRequest {
  std::int64_t repetitions;
  Timing timing;
  std::span<double> repetition_seconds;
  const Setup& setup;
  ControlBarrier control_barrier() const { return {setup.group.barrier, setup.group.control}; }
};

/// Which loops are compiled for a step, and what changes in them from one repetition to the next.
struct LoopTraits {
  bool aggregate = false;     ///< compile a loop that completes all repetitions together
  bool synchronized = false;  ///< compile a loop with barriers between repetitions
  bool gated = false;         ///< compile a loop whose repetitions begin at agreed times
  bool root = false;          ///< the root changes
  bool offset = false;        ///< the offset in the file changes
};

/// Whether the counts of a context are larger than int.
template <class Context>
inline constexpr bool counts_are_large = sizeof(Context::count) > sizeof(int);
template <class Context>
inline constexpr bool counts_are_large<LoadContext<Context>> = counts_are_large<Context>;

/// Runs the instantiation of drive() that fits timing, aggregate mode and moving buffers. All benchmarks with
/// this step and context share it. Returns the seconds of all repetitions.
///
/// The loop with moving buffers also serves repetitions whose buffers stay, if this does not change the
/// measured time. With barriers between repetitions, the buffers move outside the timed part. A message that
/// needs large counts takes so long that a few additions do not matter.
template <class Step, LoopTraits loops, class StepContext, class... View>
OPENIMB_NOINLINE double run_loop(const StepContext& context, const IterationPlan& plan,
                                 const RunRequest& request, const View&... view) {
  using Clock = ClockOf<Step>;
  double* const repetition_seconds = request.repetition_seconds.data();
  const Iterations<true, loops.root, loops.offset> moving(plan);
  if constexpr (loops.synchronized) {
    if (request.timing == Timing::synchronized) {
      return drive<Step, Clock>(
          context, moving, request.repetitions,
          SyncTimer<Clock, ControlBarrier>{repetition_seconds, request.control_barrier()}, view...);
    }
  }
  if constexpr (loops.gated) {
    if (request.timing == Timing::at_agreed_times) {
      Gate* const gate = request.setup.group.gate;
      gate->open();
      return drive<Step, Clock>(context, moving, request.repetitions,
                                GateTimer<Clock, Gate>{repetition_seconds, gate}, view...);
    }
  }
  const auto timed = [&]<bool aggregate>(const auto& iterations, std::bool_constant<aggregate>) {
    if (request.timing == Timing::total) {
      return drive<Step, Clock, aggregate>(context, iterations, request.repetitions, TotalTimer{}, view...);
    }
    return drive<Step, Clock, aggregate>(context, iterations, request.repetitions,
                                         RepetitionTimer<Clock>{repetition_seconds}, view...);
  };
  const auto completed = [&](const auto& iterations) {
    if constexpr (loops.aggregate) {
      if (request.setup.aggregate) return timed(iterations, std::true_type{});
    }
    return timed(iterations, std::false_type{});
  };
  if constexpr (!counts_are_large<StepContext>) {
    if (plan.slots == 1) return completed(Iterations<false, loops.root, loops.offset>(plan));
  }
  return completed(moving);
}

/// Runs steps without a clock and completes them together.
template <class Step, class StepContext, class Movement, class... View>
void repeat_steps(const StepContext& context, Movement iterations, std::int64_t repetitions,
                  const View&... view) {
  Step::open(context);
  for (std::int64_t i = 0; i < repetitions; ++i, iterations.advance())
    Step::step(context, iterations.current(), view...);
  Step::close(context, view...);
}

/// An argument whose type names a step and its loops.
template <class Step, LoopTraits loops>
struct StepTag {};

/// The part of a batch on buffers that is not timed.
class BufferBatch : public Batch {
 public:
  std::int64_t check(std::int64_t repetitions) override;
  bool takes_part() const override { return takes_part_; }

 protected:
  using MovingIterations = Iterations<true, true>;

  BufferBatch(const Spec& spec, const PatternHooks& hooks, std::unique_ptr<const Setup> setup);
  const Setup& setup() const { return *setup_; }
  IterationPlan plan() const {
    IterationPlan plan =
        iteration_plan(*setup_, spec_.one_sided.exposed == ExposedBuffer::send, spec_.rooted);
    if (spec_.random_partners) {
      plan.ranks = partner_rounds;
      plan.root_step = 1;
    }
    return plan;
  }

 private:
  /// Runs and completes `repetitions` repetitions, from the current one of `iterations` on.
  virtual void repeat(MovingIterations iterations, std::int64_t repetitions) = 0;

  bool exposes() const { return spec_.one_sided.exposed != ExposedBuffer::nothing; }
  void access_own_memory(const std::function<void()>& function) const;
  void synchronize() const;
  std::int64_t check_round(BufferCheck& check, const MovingIterations& first, std::int64_t done,
                           std::int64_t round);

  const Spec& spec_;
  const PatternHooks& hooks_;
  std::unique_ptr<const Setup> setup_;
  bool takes_part_;
};

/// Owns the context of the pattern's steps.
template <class Context, class Count>
class ContextBatch : public BufferBatch {
 protected:
  OPENIMB_NOINLINE ContextBatch(const Spec& spec, const PatternHooks& hooks,
                                std::unique_ptr<const Setup>&& given)
      : BufferBatch(spec, hooks, std::move(given)), rank_(spec, setup(), hooks.peer_of(setup().group.me)) {}
  OPENIMB_NOINLINE ~ContextBatch() override {}
  const Context& context() const { return rank_.context(); }

 private:
  RankContext<Context, Count> rank_;
};

/// The batch of one pattern: its timed loops.
template <class Pattern, class Count>
class BatchOf final : public ContextBatch<typename ContextForPattern<Pattern, Count>::Type, Count> {
  static constexpr Spec spec = Pattern::spec;
  using Context = typename ContextForPattern<Pattern, Count>::Type;
  using Base = ContextBatch<Context, Count>;
  using Loop = LoopOf<Pattern>;
  static constexpr PatternHooks hooks{Pattern::expects, Pattern::updates, Pattern::takes_part,
                                      Pattern::peer_of};

 public:
  explicit BatchOf(std::unique_ptr<const Setup> given)
      : Base(Pattern::spec, hooks, std::move(given)), prepared_(Pattern::prepare(context(), plan())) {
    if constexpr (spec.one_sided.any_sync) {
      if (uses_sync_loop()) synchronizer_.emplace(context(), Pattern::traffic(setup().group.me));
    }
  }

  double run(std::int64_t repetitions, Timing timing, std::span<double> repetition_seconds) override {
    if (!this->takes_part()) return 0;
    const RunRequest request{repetitions, timing, repetition_seconds, setup()};
    return apply_step([&]<class Step, LoopTraits loops>(StepTag<Step, loops>, const auto& step_context,
                                                        const auto&... view) {
      return run_loop<Step, loops>(step_context, plan(), request, view...);
    });
  }

  double run_with_load(std::int64_t repetitions, Timing timing, std::span<double> repetition_seconds,
                       LoadUse& load) override {
    if constexpr (spec.overlaps()) {
      const RunRequest request{repetitions, timing, repetition_seconds, setup()};
      const Context& step_context = context();
      const IterationPlan iterations = plan();
      return use_views([&](const auto&... view) {
        if (request.setup.device_load != nullptr) {
          return drive_with_device_load<Loop, WallClock>(
              step_context, MovingIterations(iterations), repetitions, timing, repetition_seconds,
              request.control_barrier(), {*request.setup.device_load, load}, view...);
        }
        const LoadContext<Context> loaded{step_context, plan_load(*request.setup.load, load)};
        return run_loop<LoadLoop<Loop, WallClock>, one_by_one>(loaded, iterations, request, view...);
      });
    }
    return 0;
  }

 private:
  using Base::context;
  using Base::plan;
  using Base::setup;
  using MovingIterations = typename Base::MovingIterations;
  static constexpr bool active = spec.access == Access::active_target;
  bool uses_sync_loop() const { return has_sync_loop(spec, setup().window.sync); }

  static constexpr LoopTraits one_by_one{.synchronized = spec.kind == Kind::collective,
                                         .root = spec.rooted || spec.random_partners};
  static constexpr LoopTraits all_loops{.aggregate = spec.aggregation != Aggregation::none,
                                        .synchronized = one_by_one.synchronized,
                                        .gated = spec.can_start_by_clock(),
                                        .root = one_by_one.root};
  // The loops that are compiled for -sync_mode and -send_mode.
  static constexpr LoopTraits sync_loops{.aggregate = all_loops.aggregate,
                                         .synchronized = one_by_one.synchronized};
  static constexpr LoopTraits send_loops{.synchronized = one_by_one.synchronized};

  /// Calls `function` with the step and the loops that the options select, the context, and the view of what
  /// `prepare` made. The access epoch that the step needs is open during the call.
  template <class Function>
  auto apply_step(const Function& function) {
    const Setup& point_setup = setup();
    const Context& step_context = context();
    if constexpr (spec.one_sided.any_sync) {
      if (uses_sync_loop()) {
        return apply_sync_loop<typename Pattern::Move, active>(
            point_setup.window.sync, step_context.win, [&]<class Step>(Step) {
              return function(StepTag<Step, sync_loops>{}, synchronizer_->context());
            });
      }
    }
    if constexpr (spec.send_modes.any) {
      if (point_setup.send_mode != SendMode::standard) {
        return apply_send_loop<Pattern>(point_setup.send_mode, [&]<class Step>(Step) {
          return function(StepTag<Step, send_loops>{}, step_context);
        });
      }
    }
    return use_views([&](const auto&... prepared) {
      [[maybe_unused]] const auto epoch = Pattern::epoch(context());
      if constexpr (spec.one_sided.any_sync && !active) {
        if (point_setup.window.sync == SyncMode::flush_local) {
          return function(StepTag<typename Pattern::LocalLoop, all_loops>{}, step_context, prepared...);
        }
      }
      return function(StepTag<Loop, all_loops>{}, step_context, prepared...);
    });
  }

  /// Calls `function` with the view of what `prepare` made, or without arguments if the pattern prepares
  /// nothing.
  template <class Function>
  auto use_views(const Function& function) {
    if constexpr (Prepares<Pattern>) {
      static_assert(std::is_trivially_copyable_v<decltype(prepared_.view())>);
      return function(prepared_.view());
    } else {
      return function();
    }
  }

  void repeat(MovingIterations iterations, std::int64_t repetitions) override {
    apply_step([&]<class Step, LoopTraits loops>(StepTag<Step, loops>, const auto& step_context,
                                                 const auto&... view) {
      repeat_steps<Step>(step_context, iterations, repetitions, view...);
    });
  }

  decltype(Pattern::prepare(std::declval<const Context&>(), std::declval<const IterationPlan&>())) prepared_;
  struct NoSync {};
  std::conditional_t<spec.one_sided.any_sync, std::optional<Synchronizer<Context>>, NoSync> synchronizer_;
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
  if constexpr (!Pattern::spec.unavailable.empty()) {
    return {&Pattern::spec, nullptr, nullptr};
  } else if constexpr (requires { typename Pattern::Implementation; }) {
    constexpr Entry same = entry<typename Pattern::Implementation, BatchType>();
    return {&Pattern::spec, same.make, same.make_large};
  } else {
    static_assert(Benchmark<Pattern>, "not a benchmark: the notes below name the member (engine/pattern.h)");
#ifdef OPENIMB_LARGE_COUNT
    return {&Pattern::spec, make_batch<BatchType<Pattern, int>>,
            make_batch<BatchType<Pattern, call::LargeCount>>};
#else
    return {&Pattern::spec, make_batch<BatchType<Pattern, int>>, nullptr};
#endif
  }
}

}  // namespace openimb
