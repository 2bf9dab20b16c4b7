// The timed loop under a clock that moves only when a repetition says so: expected times are exact.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "engine/timed_loop.h"

using namespace openimb;

namespace {

double clock_now = 0;
struct FakeClock {
  static double now() { return clock_now; }
};

struct Seen {
  std::vector<Iteration> iterations;
  std::vector<double> costs;  // seconds of repetition i, used in turn
};

struct Pattern : LoopBase {
  static void step(Seen* const& seen, const Iteration& it) {
    clock_now += seen->costs[seen->iterations.size() % seen->costs.size()];
    seen->iterations.push_back(it);
  }
};

}  // namespace

TEST_CASE("the average mode reports the total time of the repetitions") {
  clock_now = 100;
  Seen seen{{}, {1.0, 3.0}};
  const double total = drive<Pattern, FakeClock>(&seen, Iterations<false, false>({}), 4, TotalTimer{});
  CHECK(total == 8.0);
  CHECK(seen.iterations.size() == 4);
}

TEST_CASE("zero repetitions take no time") {
  Seen seen{{}, {1.0}};
  CHECK(drive<Pattern, FakeClock>(&seen, Iterations<false, false>({}), 0, TotalTimer{}) == 0.0);
  CHECK(seen.iterations.empty());
}

TEST_CASE("every repetition's own time is kept, and they add up to the total") {
  clock_now = 7;
  Seen seen{{}, {1.0, 2.0, 4.0}};
  std::vector<double> samples(3);
  const double total = drive<Pattern, FakeClock>(&seen, Iterations<false, false>({}), 3,
                                                 RepetitionTimer<FakeClock>{samples.data()});
  CHECK(samples == std::vector<double>{1.0, 2.0, 4.0});
  CHECK(total == 7.0);
}

TEST_CASE("a synchronized batch leaves the barrier out of the time") {
  clock_now = 0;
  Seen seen{{}, {1.0, 2.0}};
  std::vector<double> samples(2);
  const auto barrier = [] { clock_now += 50; };
  const double total =
      drive<Pattern, FakeClock>(&seen, Iterations<false, false>({}), 2,
                                SyncTimer<FakeClock, decltype(barrier)>{samples.data(), barrier});
  CHECK(samples == std::vector<double>{1.0, 2.0});
  CHECK(total == 3.0);
}

TEST_CASE("repetitions go through the slots of the buffers and the roots in cycles") {
  char send[64], receive[64];
  Seen seen{{}, {0.0}};
  const IterationPlan plan{.first = {send, receive, 0},
                           .send_stride = 16,
                           .receive_stride = 8,
                           .slots = 3,
                           .ranks = 2,
                           .root_step = 1};
  drive<Pattern, FakeClock>(&seen, Iterations<true, true>(plan), 5, TotalTimer{});
  const std::vector<int> slots{0, 1, 2, 0, 1}, roots{0, 1, 0, 1, 0};
  for (int i = 0; i < 5; ++i) {
    CHECK(seen.iterations[i].send == send + 16 * slots[i]);
    CHECK(seen.iterations[i].receive == receive + 8 * slots[i]);
    CHECK(seen.iterations[i].root == roots[i]);
  }
}

TEST_CASE("a root that does not shift stays") {
  Seen seen{{}, {0.0}};
  drive<Pattern, FakeClock>(&seen, Iterations<false, true>({.first = {}, .ranks = 3, .root_step = 0}), 4,
                            TotalTimer{});
  for (const Iteration& it : seen.iterations) CHECK(it.root == 0);
}

namespace {

struct Completing : Pattern {
  static void close(Seen* const& seen) {
    clock_now += 10;
    seen->iterations.push_back({.root = -1});
  }
};

}  // namespace

TEST_CASE("each repetition is completed, or in aggregate mode all of them at the end") {
  clock_now = 0;
  Seen each{{}, {1.0}};
  CHECK(drive<Completing, FakeClock>(&each, Iterations<false, false>({}), 3, TotalTimer{}) == 33.0);
  CHECK(each.iterations.size() == 6);
  CHECK(each.iterations[1].root == -1);
  Seen all{{}, {1.0}};
  CHECK(drive<Completing, FakeClock, true>(&all, Iterations<false, false>({}), 3, TotalTimer{}) == 13.0);
  CHECK(all.iterations.size() == 4);
  CHECK(all.iterations[3].root == -1);
}

TEST_CASE("if aggregate repetitions are timed one by one, the last one includes the completion") {
  clock_now = 0;
  Seen seen{{}, {1.0, 2.0}};
  std::vector<double> samples(2);
  const double total = drive<Completing, FakeClock, true>(&seen, Iterations<false, false>({}), 2,
                                                          RepetitionTimer<FakeClock>{samples.data()});
  CHECK(samples == std::vector<double>{1.0, 12.0});
  CHECK(total == 13.0);
}

TEST_CASE("the target's side steps through its window in step") {
  Seen seen{{}, {1.0}};
  char memory[64];
  const IterationPlan plan{.first = {.send = memory, .receive = memory, .remote = 100},
                           .send_stride = 8,
                           .receive_stride = 4,
                           .remote_stride = 4,
                           .slots = 2};
  drive<Pattern, FakeClock>(&seen, Iterations<true, false>(plan), 3, TotalTimer{});
  CHECK(seen.iterations[0].remote == 100);
  CHECK(seen.iterations[1].remote == 104);
  CHECK(seen.iterations[2].remote == 100);
}

TEST_CASE("offsets in a file only increase, even if buffers repeat") {
  Seen seen{{}, {0.0}};
  char memory[4];
  const IterationPlan plan{
      .first = {.send = memory, .offset = 5}, .send_stride = 2, .slots = 2, .offset_stride = 100};
  drive<Pattern, FakeClock>(&seen, Iterations<true, false, true>(plan), 4, TotalTimer{});
  for (std::int64_t i = 0; i < 4; ++i) {
    const Iteration& it = seen.iterations[static_cast<std::size_t>(i)];
    CHECK(it.offset == 5 + 100 * i);
    CHECK(it.send == memory + 2 * (i % 2));
  }
}

TEST_CASE("each repetition gets the number of its slot") {
  Seen seen{{}, {0.0}};
  char memory[4];
  const IterationPlan plan{.first = {.send = memory}, .send_stride = 1, .slots = 3};
  drive<Pattern, FakeClock>(&seen, Iterations<true, false>(plan), 7, TotalTimer{});
  for (std::size_t i = 0; i < 7; ++i) CHECK(seen.iterations[i].slot == static_cast<std::int64_t>(i % 3));
  Seen still{{}, {0.0}};
  drive<Pattern, FakeClock>(&still, Iterations<false, false>(plan), 3, TotalTimer{});
  for (const Iteration& it : still.iterations) CHECK(it.slot == 0);
}

TEST_CASE("a plan knows in advance what the loop will use") {
  char send[64], receive[64];
  const IterationPlan plan{.first = {.send = send, .receive = receive, .remote = 50},
                           .send_stride = 16,
                           .receive_stride = 8,
                           .remote_stride = 4,
                           .slots = 4};
  Seen seen{{}, {0.0}};
  drive<Pattern, FakeClock>(&seen, Iterations<true, false>(plan), 9, TotalTimer{});
  for (const Iteration& it : seen.iterations) {
    const Iteration planned = plan.at(it.slot);
    CHECK(planned.send == it.send);
    CHECK(planned.receive == it.receive);
    CHECK(planned.remote == it.remote);
    CHECK(planned.slot == it.slot);
  }
}

namespace {

struct Requests {
  int started = 0;
  int completed = 0;
};

// Owns an object for a point. Each step and each completion gets a view of it.
struct Persistent : LoopBase {
  static void step(Seen* const& seen, const Iteration& it, Requests* requests) {
    Pattern::step(seen, it);
    ++requests->started;
  }
  static void close(Seen* const&, Requests* requests) {
    clock_now += 10;
    requests->completed = requests->started;
  }
};

// Has calls before and after the repetitions.
struct Locked : LoopBase {
  static void open(Seen* const&) { clock_now += 1000; }
  static void step(Seen* const& seen, const Iteration& it) { Pattern::step(seen, it); }
  static void close(Seen* const&) { clock_now += 10; }
};

// Owns an object, and has nothing to complete.
struct Started : LoopBase {
  static void step(Seen* const& seen, const Iteration& it, Requests* requests) {
    Pattern::step(seen, it);
    ++requests->started;
  }
};

}  // namespace

TEST_CASE("every step and completion gets the object that the pattern prepared") {
  clock_now = 0;
  Seen seen{{}, {1.0}};
  Requests requests;
  CHECK(drive<Persistent, FakeClock>(&seen, Iterations<false, false>({}), 3, TotalTimer{}, &requests) ==
        33.0);
  CHECK((requests.started == 3 && requests.completed == 3));
  CHECK(drive<Persistent, FakeClock, true>(&seen, Iterations<false, false>({}), 3, TotalTimer{}, &requests) ==
        13.0);
  CHECK((requests.started == 6 && requests.completed == 6));
}

TEST_CASE("calls that begin a repetition are timed, with each repetition or once for all") {
  clock_now = 0;
  Seen seen{{}, {1.0}};
  std::vector<double> samples(3);
  const auto each = [&] { return RepetitionTimer<FakeClock>{samples.data()}; };
  CHECK(drive<Locked, FakeClock>(&seen, Iterations<false, false>({}), 3, TotalTimer{}) == 3033.0);
  CHECK(drive<Locked, FakeClock, true>(&seen, Iterations<false, false>({}), 3, TotalTimer{}) == 1013.0);
  drive<Locked, FakeClock, true>(&seen, Iterations<false, false>({}), 3, each());
  CHECK(samples == std::vector<double>{1001.0, 1.0, 11.0});
}

TEST_CASE("a pattern that prepared something need not have a completion") {
  clock_now = 0;
  Seen seen{{}, {1.0}};
  Requests requests;
  CHECK(drive<Started, FakeClock>(&seen, Iterations<false, false>({}), 2, TotalTimer{}, &requests) == 2.0);
  CHECK((requests.started == 2 && requests.completed == 0));
}

TEST_CASE("a synchronized batch of repetitions that complete separately also times the completion") {
  clock_now = 0;
  Seen seen{{}, {1.0, 2.0}};
  Requests requests;
  std::vector<double> samples(2);
  const auto barrier = [] { clock_now += 50; };
  const double total = drive<Persistent, FakeClock>(
      &seen, Iterations<false, false>({}), 2,
      SyncTimer<FakeClock, decltype(barrier)>{samples.data(), barrier}, &requests);
  CHECK(samples == std::vector<double>{11.0, 12.0});
  CHECK(total == 23.0);
}

TEST_CASE("a batch continues with the next buffers and the next root") {
  char send[64] = {}, receive[64] = {};
  IterationPlan plan{.first = {.send = send, .receive = receive, .root = 1},
                     .send_stride = 8,
                     .receive_stride = 4,
                     .slots = 3,
                     .ranks = 4,
                     .root_step = 1,
                     .completed = 7};
  Iterations<true, true> iterations(plan);
  CHECK(iterations.current().slot == 1);
  CHECK(iterations.current().send == send + 8);
  CHECK(iterations.current().root == 0);
  iterations.advance();
  iterations.advance();
  CHECK(iterations.current().slot == 0);
  CHECK(iterations.current().send == send);
  CHECK(iterations.current().receive == receive);
  CHECK(iterations.current().root == 2);
  plan.root_step = 0;
  CHECK(Iterations<true, true>(plan).current().root == 1);
}
