// Offsets between clocks, the tree in which they are compared, the slack before a start, and what repetitions
// that begin at agreed times show. Clocks are functions of a true time, so that every error is known.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "clocks/offset.h"
#include "clocks/slack.h"
#include "clocks/tree.h"
#include "model/arrival.h"
#include "plan/sampling.h"
#include "result/arrivals.h"
#include "result/passes.h"

using namespace openimb;

namespace {

/// A clock with an offset and a drift.
struct FakeClock {
  double offset = 0, drift = 0;
  double operator()(double truth) const { return truth + offset + drift * truth; }
};

/// Exchanges at a true time, with a latency in each direction and noise on it.
OffsetBounds exchanged(const FakeClock& own, const FakeClock& other, double truth, double there, double back,
                       std::mt19937& noise, double jitter = 0.3e-6) {
  std::exponential_distribution<double> more(1 / jitter);
  OffsetBounds bounds;
  for (int i = 0; i < 8; ++i) {
    const double sent = truth, arrived = sent + there + more(noise),
                 back_again = arrived + back + more(noise);
    bounds.include(own(sent), other(arrived), other(arrived), own(back_again));
    truth = back_again;
  }
  return bounds;
}

double error_of(const ClockMap& map, const FakeClock& own, const FakeClock& other, double truth) {
  return std::abs(map(own(truth)) - other(truth));
}

}  // namespace

TEST_CASE("the error of an estimate is within its bound, between exchanges and long after them") {
  std::mt19937 noise(1);
  for (const double drift : {50e-6, -50e-6, 0.0}) {
    for (const double back : {1e-6, 5e-6}) {
      const FakeClock own{1, drift}, other{-1, -drift};
      OffsetHistory history;
      for (int i = 0; i <= 8; ++i) REQUIRE(history.add(exchanged(own, other, 0.025 * i, 1e-6, back, noise)));
      const ClockMap between = history.past_map(), onwards = history.later_map();
      for (const double truth : {0.18, 0.19, 0.2}) {
        CHECK(error_of(between, own, other, truth) <= between.bound_at(own(truth)));
      }
      for (const double after : {0.0, 1.0, 10.0}) {
        CHECK(error_of(onwards, own, other, 0.201 + after) <= onwards.bound_at(own(0.201 + after)));
      }
      CHECK(onwards.bound < 4e-6);
      CHECK(onwards.bound_at(own(10)) < 400e-6);
      CHECK(own(onwards.inverse(onwards(0.5))) == Approx(own(0.5)));
    }
  }
}

TEST_CASE("a longer span of exchanges narrows the bound") {
  std::mt19937 noise(2);
  const FakeClock own{1, 50e-6}, other{};
  OffsetHistory history;
  for (int i = 0; i <= 8; ++i) history.add(exchanged(own, other, 0.025 * i, 1e-6, 1e-6, noise));
  const double before = history.later_map().growth;
  REQUIRE(history.add(exchanged(own, other, 10, 1e-6, 1e-6, noise)));
  CHECK(history.later_map().growth < before / 20);
  CHECK(error_of(history.later_map(), own, other, 20) <= history.later_map().bound_at(own(20)));
}

TEST_CASE("a clock that was set contradicts the history, which then starts again") {
  std::mt19937 noise(3);
  const FakeClock other{};
  FakeClock own{1, 50e-6};
  OffsetHistory history;
  for (int i = 0; i <= 8; ++i) history.add(exchanged(own, other, 0.025 * i, 1e-6, 1e-6, noise));
  own.offset += 50e-6;
  CHECK_FALSE(history.add(exchanged(own, other, 0.3, 1e-6, 1e-6, noise)));
  CHECK(error_of(history.later_map(), own, other, 0.3) <= history.later_map().bound);
  CHECK(history.add(exchanged(own, other, 0.32, 1e-6, 1e-6, noise)));
}

TEST_CASE("bounds hold although a rank loses its CPU between exchanges") {
  const FakeClock own{1, 50e-6}, other{-1, -50e-6};
  for (const double pause : {0.01, 1.0, 30.0}) {
    OffsetBounds bounds;
    for (const double sent : {0.0, 2e-6, 2e-6 + pause, 4e-6 + pause}) {
      bounds.include(own(sent), other(sent + 1e-6), other(sent + 1e-6), own(sent + 2e-6));
    }
    const double end = 6e-6 + pause, offset = own(end) - other(end);
    CHECK(bounds.lower <= offset);
    CHECK(bounds.upper >= offset);
    CHECK(bounds.width() < 2.1e-6);
    OffsetHistory history;
    CHECK(history.add(bounds));
  }
}

TEST_CASE("a clock that is set between exchanges is noticed, in the first ones as well") {
  OffsetBounds bounds;
  bounds.include(0, 1e-6, 1e-6, 2e-6);
  bounds.include(4e-6 + 1, 5e-6, 5e-6, 6e-6 + 1);
  bounds.include(8e-6, 9e-6, 9e-6, 10e-6);
  REQUIRE(bounds.lower > bounds.upper);
  OffsetHistory history;
  CHECK_FALSE(history.add(bounds));
  CHECK(history.later_map().bound > 0.1);
  CHECK(history.past_map().bound > 0.1);
}

TEST_CASE("a drift that changes slowly does not look like a clock that was set") {
  std::mt19937 noise(4);
  const FakeClock other{};
  FakeClock own{1, 10e-6};
  OffsetHistory history;
  double truth = 0;
  for (int i = 0; i < 400; ++i, truth += 0.1) {
    own.drift += 1e-9;  // without a jump of the time
    own.offset -= 1e-9 * truth;
    REQUIRE(history.add(exchanged(own, other, truth, 1e-6, 1e-6, noise)));
    CHECK(error_of(history.later_map(), own, other, truth) <= history.later_map().bound);
  }
}

TEST_CASE("bounds are widened by ticks, and hold for readings that are rounded") {
  std::mt19937 noise(5);
  for (const double tick : {1e-6, 10e-6}) {
    const FakeClock own{1, 50e-6}, other{-1, -50e-6};
    const auto read = [tick](double time) { return std::floor(time / tick) * tick; };
    OffsetHistory history;
    for (int i = 0; i <= 8; ++i) {
      OffsetBounds bounds;
      double truth = 0.025 * i;
      for (int k = 0; k < 8; ++k, truth += 2e-6) {
        bounds.include(read(own(truth)), read(other(truth + 1e-6)), read(other(truth + 1e-6)),
                       read(own(truth + 2e-6)));
      }
      REQUIRE(history.add(bounds.widened(tick)));
    }
    for (const double truth : {0.2001, 1.2, 10.2}) {
      const ClockMap map = history.later_map();
      const double reading = read(own(truth));
      CHECK(std::abs(map(reading) - other(truth)) <= map.bound_at(reading) + tick);
    }
  }
}

TEST_CASE("maps follow each other: bounds add up") {
  const ClockMap first{.from = 1, .offset = 0.5, .drift = 1e-5, .until = 2, .bound = 1e-6, .growth = 1e-7};
  const ClockMap second{.from = 1, .offset = -2, .drift = -3e-5, .until = 2, .bound = 2e-6, .growth = 2e-7};
  const ClockMap both = first.then(second);
  for (const double time : {0.0, 1.5, 7.0}) CHECK(both(time) == Approx(second(first(time))).epsilon(1e-12));
  CHECK(both.bound == Approx(3e-6));
  CHECK(both.growth == Approx(3e-7));
}

TEST_CASE(
    "the tree has every rank once, its parent has been served before, and partners off the tree share no "
    "edge") {
  for (const int count : {1, 2, 3, 7, 64, 256, 1000}) {
    std::vector<int> round(static_cast<std::size_t>(count), 0);
    int served = 1, rounds = 0;
    for (int stride = first_stride(count); stride > 0; stride /= 2) {
      ++rounds;
      for (int i = stride; i < count; i += 2 * stride) {
        CHECK(parent_in_tree(i) == i - stride);
        const int of_parent = round[static_cast<std::size_t>(i - stride)];
        CHECK((i == stride || of_parent > 0 || i - stride == 0));
        CHECK(of_parent < rounds);
        round[static_cast<std::size_t>(i)] = rounds;
        ++served;
      }
    }
    CHECK(served == count);
    CHECK(rounds == static_cast<int>(count > 1 ? std::bit_width(static_cast<unsigned>(count - 1)) : 0));
    for (int i = 0; i < count; ++i) {
      const auto partner = partner_off_tree(i, count);
      if (!partner) continue;
      CHECK(partner_off_tree(*partner, count) == i);
      CHECK(parent_in_tree(i) != *partner);
      CHECK(parent_in_tree(*partner) != i);
    }
  }
}

TEST_CASE("the slack is a multiple of the time of an agreement, despite occasional disturbances") {
  Slack slack;
  for (int i = 0; i < 1000; ++i) slack.observe(i % 50 == 49 ? 4e-3 : 2e-6, false);
  CHECK(slack.seconds() >= 4e-6);
  CHECK(slack.seconds() < 8e-6);
  for (int i = 0; i < 10; ++i) slack.observe(2e-6, true);
  CHECK(slack.seconds() == Approx(16e-6).epsilon(0.3));
  for (int i = 0; i < 100; ++i) slack.observe(2e-6, false);
  CHECK(slack.seconds() == Approx(4e-6).epsilon(0.1));
}

TEST_CASE("patterns of arrival span their width; ranks count from the root") {
  const auto delays = [](ArrivalPattern pattern) {
    std::vector<double> all;
    for (int rank = 0; rank < 5; ++rank) all.push_back(delay_of({pattern, 8}, rank, 5, 3));
    return all;
  };
  CHECK(delays(ArrivalPattern::even) == std::vector<double>{0, 0, 0, 0, 0});
  CHECK(delays(ArrivalPattern::first) == std::vector<double>{8, 0, 0, 0, 0});
  CHECK(delays(ArrivalPattern::last) == std::vector<double>{0, 0, 0, 0, 8});
  CHECK(delays(ArrivalPattern::ascending) == std::vector<double>{0, 2, 4, 6, 8});
  const std::vector<double> random = delays(ArrivalPattern::random);
  CHECK(random == delays(ArrivalPattern::random));
  CHECK(std::ranges::all_of(random, [](double delay) { return delay >= 0 && delay <= 8; }));
  CHECK(random[0] != random[1]);
  CHECK(random[0] != delay_of({ArrivalPattern::random, 8}, 0, 5, 4));
}

TEST_CASE("figures of repetitions leave out the invalid ones") {
  const ArrivalSeries series{.first_arrival = {0, 10, 20},
                             .last_arrival = {1, 12, 90},
                             .first_exit = {3, 13, 91},
                             .last_exit = {5, 16, 99},
                             .late = {0, 0, 1}};
  const GroupArrivals figures = summarize_arrivals(series);
  CHECK(figures.from_last == 4);
  CHECK(figures.from_first == 5.5);
  CHECK(figures.start_skew == 1.5);
  CHECK(figures.exit_skew == 2.5);
  CHECK(figures.valid_percent == Approx(200.0 / 3));
  CHECK(series.times_from_last() == std::vector<double>{4, 4});
  ArrivalSeries none = series;
  none.late = {1, 1, 1};
  CHECK(std::isnan(summarize_arrivals(none).from_last));
  CHECK(summarize_arrivals(none).valid_percent == 0);
}

TEST_CASE("a row is given up after 100 repetitions of which fewer than half are valid") {
  const SamplingLimits limits{
      .settings = {}, .policy = IterationPolicy::off, .planned = 1000, .warm_up = false};
  const EarlyExitSampling sampling(std::make_unique<GuideSampling>(limits), 8);
  std::vector<CompletedBatch> completed;
  Decision next = sampling.next(completed);
  CHECK(next.plan.repetitions == 104);  // whole cycles
  CHECK(next.total == 1000);
  completed.push_back({next.plan, 1, 51});
  CHECK(sampling.next(completed).answer == Decision::Answer::done);
  completed.back().valid = 52;
  next = sampling.next(completed);
  CHECK(next.plan.repetitions == 896);
  completed.push_back({next.plan, 1, 0});
  CHECK(sampling.next(completed).answer == Decision::Answer::done);
}

TEST_CASE("a row in segments is given up after 100 repetitions as well") {
  const SamplingLimits limits{
      .settings = {}, .policy = IterationPolicy::off, .planned = 1000, .warm_up = false};
  // Returns the repetitions of successive batches, of which the share `valid` is valid. A `+` marks a further
  // segment.
  const auto course = [&](int segments, std::int64_t cycle, double valid) {
    const EarlyExitSampling sampling(
        std::make_unique<SegmentedSampling>(std::make_unique<GuideSampling>(limits), segments, cycle), cycle);
    std::vector<CompletedBatch> completed;
    std::string text;
    for (;;) {
      const Decision next = sampling.next(completed);
      if (next.answer == Decision::Answer::done) return text;
      CHECK(next.total == 1000);
      const std::int64_t repetitions = next.plan.repetitions;
      text += (next.plan.further_segment ? "+" : " ") + std::to_string(repetitions);
      completed.push_back({next.plan, 1, std::llround(valid * static_cast<double>(repetitions))});
    }
  };
  CHECK(course(4, 1, 1) == " 100 150+250+250+250");
  CHECK(course(4, 1, 0.4) == " 100");
  CHECK(course(3, 8, 0.5) == " 104 224+336+336");
  CHECK(course(3, 8, 0) == " 104");
  CHECK(course(20, 1, 0) == " 50+50");
  CHECK(course(20, 1, 0.5) == " 50+50+50+50+50+50+50+50+50+50+50+50+50+50+50+50+50+50+50+50");
  CHECK(course(16, 1, 0) == " 62+38");
  CHECK(course(16, 1, 1).starts_with(" 62+38 25+62"));
}
