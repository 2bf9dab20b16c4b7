// The timed region. Everything between the two clock reads is here; each line either is the methodology or
// costs nothing. tests/test_codegen.py holds the machine code to that: no call but MPI's, no division, no
// allocation. Source: guide, "Actual Benchmarking".
#pragma once

#include <cstdint>

#include "plan/attributes.h"

namespace openimb {

/// What one repetition works on: the addresses of its buffers, for MPI calls alone, and its root.
struct Lap {
  char* send = nullptr;
  char* receive = nullptr;
  int root = 0;             ///< with random partners: the row of their table
  std::int64_t remote = 0;  ///< one-sided: bytes from where the target's window begins
  std::int64_t offset = 0;  ///< in bytes, in a file
  std::int64_t slot = 0;    ///< which of the places in the buffers these are: 0 to LapPlan::slots - 1
};

/// From one repetition's buffers and root to the next. Strides are bytes; `root_step` is 0 or 1.
struct LapPlan {
  Lap first;
  std::int64_t send_stride = 0;
  std::int64_t receive_stride = 0;
  std::int64_t remote_stride = 0;
  std::int64_t slots = 1;
  int ranks = 1;  ///< roots that follow one another
  int root_step = 0;
  std::int64_t offset_stride = 0;  ///< never wraps: each repetition has a part of the file for itself

  std::int64_t gone = 0;  ///< repetitions that went before the first lap

  Lap beginning() const {
    Lap lap = at(gone % slots);
    if (root_step != 0) lap.root = static_cast<int>((first.root + gone) % ranks);
    return lap;
  }
  /// The buffers of one slot.
  Lap at(std::int64_t slot) const {
    Lap lap = first;
    lap.send += slot * send_stride;
    lap.receive += slot * receive_stride;
    lap.remote += slot * remote_stride;
    lap.slot = slot;
    return lap;
  }
};

/// Steps by addition and compare-and-wrap; what does not move costs nothing.
template <bool moving_buffers, bool moving_root, bool moving_offset = false>
class Laps {
 public:
  explicit Laps(const LapPlan& plan) : plan_(plan), lap_(plan.beginning()) {}
  const Lap& lap() const { return lap_; }
  void advance() {
    if constexpr (moving_buffers) {
      if (++lap_.slot == plan_.slots) {
        lap_.slot = 0;
        lap_.send = plan_.first.send;
        lap_.receive = plan_.first.receive;
        lap_.remote = plan_.first.remote;
      } else {
        lap_.send += plan_.send_stride;
        lap_.receive += plan_.receive_stride;
        lap_.remote += plan_.remote_stride;
      }
    }
    if constexpr (moving_offset) lap_.offset += plan_.offset_stride;
    if constexpr (moving_root) {
      lap_.root += plan_.root_step;
      if (lap_.root == plan_.ranks) lap_.root = 0;
    }
  }

 private:
  LapPlan plan_;
  Lap lap_;
};

/// The default: one clock pair around all repetitions, nothing else.
struct Total {
  void start(double) {}
  void before() {}
  void after() {}
  void completed() {}
  double total(double elapsed) const { return elapsed; }
};

/// One clock read per repetition, stored into memory that was sized and touched before.
template <class Clock>
struct EveryRepetition {
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

/// -sync on: an untimed barrier before each repetition, the clock around the repetition alone.
template <class Clock, class Barrier>
struct Synchronized {
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
    const double took = Clock::now() - begin;
    *next++ = took;
    sum += took;
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
/// Whose calls a benchmark repeats: its own, or those that it has in common with others.
template <class Pattern>
using LoopOf = typename LoopOfPattern<Pattern>::Type;

/// What is around the steps of a loop: nothing, where it has no `open` and `close` of its own. Not timed
/// alone: they are inlined into drive().
struct LoopBase {
  static constexpr auto open = [](const auto& /*c*/) {};
  static constexpr auto close = [](const auto& /*c*/, const auto&... /*view*/) {};
};

/// Runs `repetitions` repetitions; returns the seconds they took together. Each is completed, or, aggregate,
/// all of them at the end; of repetitions timed one by one the last one's time then has the completion.
/// `view`: of what the pattern's `prepare` made, if it has one.
/// By value, so that the compiler sees that no MPI call can change context and view and keeps them in
/// registers; flatten, so that no step is too long for that: a call of it would give the context's address
/// away.
template <class Pattern, class Clock, bool aggregate = false, class Context, class Laps, class Record,
          class... View>
OPENIMB_NOINLINE OPENIMB_FLATTEN double drive(const Context context, Laps laps,
                                              const std::int64_t repetitions, Record record,
                                              const View... view) {
  const double start = Clock::now();
  record.start(start);
  if constexpr (aggregate) Pattern::open(context);
  for (std::int64_t i = 0; i < repetitions; ++i) {
    record.before();
    if constexpr (!aggregate) Pattern::open(context);
    Pattern::step(context, laps.lap(), view...);
    if constexpr (!aggregate) Pattern::close(context, view...);
    record.after();
    laps.advance();
  }
  if constexpr (aggregate) {
    Pattern::close(context, view...);
    record.completed();
  }
  return record.total(Clock::now() - start);
}

}  // namespace openimb
