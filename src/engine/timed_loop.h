// The timed region. This file has everything between the two clock reads; each line is part of the method or
// costs nothing. tests/test_codegen.py checks that the machine code has no calls except MPI's, no division
// and no allocation. Source: guide, "Actual Benchmarking".
#pragma once

#include <cstdint>

#include "model/attributes.h"

namespace openimb {

/// One repetition: the addresses of its buffers, which only MPI calls use, and its root.
struct Iteration {
  char* send = nullptr;
  char* receive = nullptr;
  int root = 0;             ///< with random partners: index of the round in the table of partners
  std::int64_t remote = 0;  ///< one-sided: displacement from the beginning of the target's window, in bytes
  std::int64_t offset = 0;  ///< offset in a file, in bytes
  std::int64_t slot = 0;    ///< index of its slot in the buffers: 0 to IterationPlan::slots - 1
};

/// The first iteration, and the steps from one iteration to the next. Strides are in bytes. `root_step` is 0
/// or 1.
struct IterationPlan {
  Iteration first;
  std::int64_t send_stride = 0;
  std::int64_t receive_stride = 0;
  std::int64_t remote_stride = 0;
  std::int64_t slots = 1;
  int ranks = 1;  ///< number of roots, or of rounds of random partners
  int root_step = 0;
  std::int64_t offset_stride = 0;  ///< file offsets never wrap: each repetition has its own part of the file

  std::int64_t completed = 0;  ///< repetitions that completed before the first iteration

  Iteration initial_iteration() const {
    Iteration it = at(completed % slots);
    if (root_step != 0) it.root = static_cast<int>((first.root + completed) % ranks);
    return it;
  }
  /// The buffers of one slot.
  Iteration at(std::int64_t slot) const {
    Iteration it = first;
    it.send += slot * send_stride;
    it.receive += slot * receive_stride;
    it.remote += slot * remote_stride;
    it.slot = slot;
    return it;
  }
};

/// The sequence of iterations of a loop. It advances by addition and compare-and-wrap. Fields that do not
/// change cost nothing.
template <bool moving_buffers, bool moving_root, bool moving_offset = false>
class Iterations {
 public:
  explicit Iterations(const IterationPlan& plan) : plan_(plan), it_(plan.initial_iteration()) {}
  const Iteration& current() const { return it_; }
  void advance() {
    if constexpr (moving_buffers) {
      if (++it_.slot == plan_.slots) {
        it_.slot = 0;
        it_.send = plan_.first.send;
        it_.receive = plan_.first.receive;
        it_.remote = plan_.first.remote;
      } else {
        it_.send += plan_.send_stride;
        it_.receive += plan_.receive_stride;
        it_.remote += plan_.remote_stride;
      }
    }
    if constexpr (moving_offset) it_.offset += plan_.offset_stride;
    if constexpr (moving_root) {
      it_.root += plan_.root_step;
      if (it_.root == plan_.ranks) it_.root = 0;
    }
  }

 private:
  IterationPlan plan_;
  Iteration it_;
};

/// The default: one clock pair around all repetitions.
struct TotalTimer {
  void start(double) {}
  void before() {}
  void after() {}
  void completed() {}
  double total(double elapsed) const { return elapsed; }
};

/// Reads the clock once per repetition. The memory for the times was allocated and touched before.
template <class Clock>
struct RepetitionTimer {
  double* next;
  double previous = 0;
  void start(double now) { previous = now; }
  void before() {}
  void after() {
    const double now = Clock::now();
    *next++ = now - previous;
    previous = now;
  }
  void completed() { *(next - 1) += Clock::now() - previous; }
  double total(double elapsed) const { return elapsed; }
};

/// -sync on: runs an untimed barrier before each repetition, and reads the clock before and after the
/// repetition.
template <class Clock, class Barrier>
struct SyncTimer {
  double* next;
  Barrier barrier;
  double begin = 0;
  double sum = 0;
  void start(double) {}
  void before() {
    barrier();
    begin = Clock::now();
  }
  void after() {
    const double seconds = Clock::now() - begin;
    *next++ = seconds;
    sum += seconds;
  }
  void completed() {}
  double total(double) const { return sum; }
};

/// -sync_start clock: a gate before each repetition lets the ranks begin at an agreed time. The clock is read
/// before and after the repetition. `next`: three stamps of the repetition; the gate sets the first.
template <class Clock, class Gate>
struct GateTimer {
  double* next;
  Gate* gate;
  double sum = 0;
  void start(double) {}
  void before() {
    gate->wait(next);
    next[1] = Clock::now();
  }
  void after() {
    const double now = Clock::now();
    next[2] = now;
    sum += now - next[1];
    next += 3;
  }
  void completed() {}
  double total(double) const { return sum; }
};

template <class Pattern>
struct LoopOfPattern {
  using Type = Pattern;
};
template <class Pattern>
  requires requires { typename Pattern::Loop; }
struct LoopOfPattern<Pattern> {
  using Type = typename Pattern::Loop;
};
/// The type whose `step` a benchmark repeats: its Loop, which it may share with others, or the benchmark
/// itself.
template <class Pattern>
using LoopOf = typename LoopOfPattern<Pattern>::Type;

/// The default `open` and `close` around the steps of a loop, which do nothing. drive() inlines them and
/// times them with the steps.
struct LoopBase {
  static constexpr auto open = [](const auto& /*c*/) {};
  static constexpr auto close = [](const auto& /*c*/, const auto&... /*view*/) {};
};

/// Runs `repetitions` repetitions and returns their time in seconds. Each repetition completes by itself or,
/// if `aggregate`, all complete together at the end; the time of the last repetition then includes the
/// completion. `view`: the view of the object that the pattern's `prepare` made, if any.
///
/// Context and view are passed by value, so that the compiler sees that no MPI call can change them and keeps
/// them in registers. OPENIMB_FLATTEN inlines even long steps, because a call of a step would pass the
/// address of the context.
template <class Pattern, class Clock, bool aggregate = false, class Context, class Iterations, class Timer,
          class... View>
OPENIMB_NOINLINE OPENIMB_FLATTEN double drive(const Context context, Iterations iterations,
                                              const std::int64_t repetitions, Timer timer,
                                              const View... view) {
  const double start = Clock::now();
  timer.start(start);
  if constexpr (aggregate) Pattern::open(context);
  for (std::int64_t i = 0; i < repetitions; ++i) {
    timer.before();
    if constexpr (!aggregate) Pattern::open(context);
    Pattern::step(context, iterations.current(), view...);
    if constexpr (!aggregate) Pattern::close(context, view...);
    timer.after();
    iterations.advance();
  }
  if constexpr (aggregate) {
    Pattern::close(context, view...);
    timer.completed();
  }
  return timer.total(Clock::now() - start);
}

}  // namespace openimb
