// How many repetitions come next: the guide's policies, and segments that alternate with other launches.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <numeric>
#include <random>

#include "plan/sampling.h"

using namespace openimb;

namespace {

// What a sampling decided until it was done.
struct SamplingRun {
  std::vector<CompletedBatch> samples;
  Decision last;
  std::vector<std::int64_t> totals;  // given with each batch that measures

  std::vector<BatchPlan> plans(Purpose purpose) const {
    std::vector<BatchPlan> plans;
    for (const CompletedBatch& sample : samples) {
      if (sample.plan.purpose == purpose) plans.push_back(sample.plan);
    }
    return plans;
  }
  std::int64_t repetitions(Purpose purpose) const {
    std::int64_t sum = 0;
    for (const BatchPlan& plan : plans(purpose)) sum += plan.repetitions;
    return sum;
  }
};

using Seconds = std::function<double(const BatchPlan&, std::size_t nth)>;

SamplingRun run_sampling(const Sampling& sampling, const Seconds& seconds) {
  constexpr std::size_t far_too_many = 1000;
  SamplingRun sampling_run;
  while (sampling_run.samples.size() < far_too_many) {
    sampling_run.last = sampling.next(sampling_run.samples);
    if (sampling_run.last.answer != Decision::Answer::run) return sampling_run;
    const BatchPlan plan = sampling_run.last.plan;
    if (plan.purpose == Purpose::measure) sampling_run.totals.push_back(sampling_run.last.total);
    const double took = plan.purpose == Purpose::warm_up ? 0 : seconds(plan, sampling_run.samples.size());
    sampling_run.samples.push_back({plan, took});
  }
  FAIL("the sampling does not end");
  return sampling_run;
}

Seconds each(double seconds) {
  return [=](const BatchPlan& plan, std::size_t) { return seconds * static_cast<double>(plan.repetitions); };
}

SamplingLimits limits(std::int64_t planned) {
  return {.settings = {}, .policy = IterationPolicy::dynamic, .planned = planned};
}

std::string described(const SamplingRun& sampling_run) {
  std::string text;
  for (const CompletedBatch& sample : sampling_run.samples) {
    text += "wtm"[static_cast<int>(sample.plan.purpose)] + std::to_string(sample.plan.repetitions) +
            (sample.plan.further_segment ? "+ " : " ");
  }
  return text + (sampling_run.last.answer == Decision::Answer::done ? "done" : "time-out");
}

std::string segmented(std::int64_t planned, int segments, std::int64_t cycle, double seconds = 1e-6) {
  SamplingLimits all = limits(planned);
  all.warm_up = false;
  const SegmentedSampling sampling(std::make_unique<GuideSampling>(all), segments, cycle);
  return described(run_sampling(sampling, each(seconds)));
}

}  // namespace

TEST_CASE("quick repetitions: warm-up, one trial, all that were planned") {
  CHECK(described(run_sampling(GuideSampling(limits(1000)), each(1e-6))) == "w10 t1 m1000 done");
  CHECK(described(run_sampling(GuideSampling(limits(1)), each(1e-6))) == "w1 t1 m1 done");
  CHECK(described(run_sampling(GuideSampling(limits(50)), each(0))) == "w5 t1 m50 done");
}

TEST_CASE("no warm-up with -warm_up off") {
  SamplingLimits cold = limits(1000);
  cold.warm_up = false;
  CHECK(described(run_sampling(GuideSampling(cold), each(1e-6))) == "t1 m1000 done");
}

TEST_CASE("N_WARMUP 0 has one warm-up of zero repetitions") {
  SamplingLimits none = limits(1000);
  none.settings.warm_up_repetitions = 0;
  CHECK(described(run_sampling(GuideSampling(none), each(1e-6))) == "w0 t1 m1000 done");
}

TEST_CASE("slow repetitions: a second estimate of about a second, then as many as fit") {
  CHECK(described(run_sampling(GuideSampling(limits(1000)), each(0.25))) == "w10 t1 t4 m40 done");
  CHECK(described(run_sampling(GuideSampling(limits(1000)), each(4))) == "w10 t1 t1 m2 done");
  CHECK(described(run_sampling(GuideSampling(limits(1000)), each(10))) == "w10 t1 t1 m1 done");
}

TEST_CASE("if one repetition takes too long, the time-out has its time") {
  const SamplingRun sampling_run = run_sampling(GuideSampling(limits(1000)), each(12));
  CHECK(described(sampling_run) == "w10 t1 t1 time-out");
  CHECK(sampling_run.last.seconds_each == 12);
}

TEST_CASE("the second estimate is the one that counts") {
  const auto first_one_slow = [](const BatchPlan& plan, std::size_t nth) {
    return (nth == 1 ? 100.0 : 1e-6) * static_cast<double>(plan.repetitions);
  };
  CHECK(described(run_sampling(GuideSampling(limits(1000)), first_one_slow)) == "w10 t1 t1 m1000 done");
  const auto second_one_slow = [](const BatchPlan& plan, std::size_t nth) {
    return (nth == 1 ? 0.5 : 20.0) * static_cast<double>(plan.repetitions);
  };
  CHECK(described(run_sampling(GuideSampling(limits(1000)), second_one_slow)) == "w10 t1 t2 time-out");
}

TEST_CASE("the time of the load counts for each repetition") {
  SamplingLimits loaded = limits(1000);
  loaded.load_seconds = 0.5;
  CHECK(described(run_sampling(GuideSampling(loaded), each(0.5))) == "w10 t1 t1 m10 done");
  loaded.load_seconds = 20;
  CHECK(run_sampling(GuideSampling(loaded), each(0.5)).last.seconds_each == 20.5);
}

TEST_CASE("policy off: no estimate and no time-out") {
  SamplingLimits off = limits(1000);
  off.policy = IterationPolicy::off;
  CHECK(described(run_sampling(GuideSampling(off), each(1e6))) == "w10 m1000 done");
}

TEST_CASE("policy multiple_np: whole rounds, at least one") {
  SamplingLimits rounds = limits(999);
  rounds.policy = IterationPolicy::multiple_np;
  rounds.processes = 3;
  CHECK(described(run_sampling(GuideSampling(rounds), each(1.25))) == "w10 t1 t1 m6 done");
  CHECK(described(run_sampling(GuideSampling(rounds), each(9))) == "w10 t1 t1 m3 done");
  CHECK(described(run_sampling(GuideSampling(rounds), each(11))) == "w10 t1 t1 time-out");
}

TEST_CASE("without a time limit all run") {
  SamplingLimits unlimited = limits(1000);
  unlimited.settings.seconds_per_sample = GENERATE(0.0, -1.0);
  CHECK(described(run_sampling(GuideSampling(unlimited), each(1e9))) == "w10 t1 m1000 done");
}

TEST_CASE("a short time limit has a short estimate: it costs a tenth of the row") {
  SamplingLimits brief = limits(1000);
  brief.settings.seconds_per_sample = 0.1;
  CHECK(described(run_sampling(GuideSampling(brief), each(0.001))) == "w10 t1 t10 m100 done");
}

TEST_CASE("every batch that measures comes with the total") {
  CHECK(run_sampling(GuideSampling(limits(1000)), each(0.25)).totals == std::vector<std::int64_t>{40});
  const SegmentedSampling sampling(std::make_unique<GuideSampling>(limits(1000)), 4, 1);
  CHECK(run_sampling(sampling, each(0.25)).totals == std::vector<std::int64_t>(4, 40));
}

TEST_CASE("segments share the repetitions evenly") {
  CHECK(segmented(40, 4, 1) == "t1 m10 m10+ m10+ m10+ done");
  CHECK(segmented(10, 4, 1) == "t1 m2 m3+ m2+ m3+ done");
  CHECK(segmented(40, 1, 1) == "t1 m40 done");
}

TEST_CASE("fewer repetitions than segments: one each") {
  CHECK(segmented(3, 10, 1) == "t1 m1 m1+ m1+ done");
  CHECK(segmented(1, 10, 1) == "t1 m1 done");
}

TEST_CASE("segments have whole cycles of buffers and roots, except for the rest at the end") {
  CHECK(segmented(24, 3, 4) == "t1 m8 m8+ m8+ done");
  CHECK(segmented(30, 3, 4) == "t1 m8 m8+ m14+ done");
  CHECK(segmented(30, 2, 4) == "t1 m12 m18+ done");
  CHECK(segmented(40, 4, 4) == "t1 m8 m12+ m8+ m12+ done");
  CHECK(segmented(11, 10, 4) == "t1 m4 m7+ done");
  CHECK(segmented(3, 10, 4) == "t1 m3 done");
}

TEST_CASE("segments run_sampling from the count that fits into the time") {
  CHECK(segmented(1000, 4, 1, 0.25) == "t1 t4 m10 m10+ m10+ m10+ done");
  CHECK(segmented(1000, 4, 1, 11) == "t1 t1 time-out");
}

TEST_CASE("the times of measured segments change nothing") {
  const SegmentedSampling sampling(std::make_unique<GuideSampling>(limits(40)), 4, 1);
  const auto slower_and_slower = [](const BatchPlan& plan, std::size_t nth) {
    return plan.purpose == Purpose::trial ? 1e-6 : 1e3 * static_cast<double>(nth);
  };
  CHECK(described(run_sampling(sampling, slower_and_slower)) == "w4 t1 m10 m10+ m10+ m10+ done");
}

namespace {

// Arbitrary limits and an arbitrary machine, from a seed.
struct Random {
  std::mt19937 engine;
  explicit Random(unsigned seed) : engine(seed) {}
  int number(int least, int most) { return std::uniform_int_distribution(least, most)(engine); }
  double seconds() { return std::pow(10.0, std::uniform_real_distribution(-9.0, 2.0)(engine)); }

  SamplingLimits limits() {
    SamplingLimits any;
    any.policy = std::vector{IterationPolicy::dynamic, IterationPolicy::multiple_np,
                             IterationPolicy::off}[static_cast<std::size_t>(number(0, 2))];
    any.processes = number(1, 64);
    any.settings.seconds_per_sample = number(0, 3) == 0 ? 0 : seconds();
    any.settings.warm_up_repetitions = number(0, 20);
    any.planned = number(1, 2000);
    if (any.policy == IterationPolicy::multiple_np) any.planned *= any.processes;
    any.load_seconds = number(0, 1) == 0 ? 0 : seconds();
    any.warm_up = number(0, 1) == 0;
    return any;
  }
};

void check_run(const SamplingLimits& limits, const SamplingRun& sampling_run) {
  const std::int64_t measured = sampling_run.repetitions(Purpose::measure);
  CHECK(measured <= limits.planned);
  CHECK((sampling_run.last.answer == Decision::Answer::time_out) == (measured == 0));
  CHECK(sampling_run.plans(Purpose::warm_up).size() == (limits.warm_up ? 1 : 0));
  CHECK(sampling_run.plans(Purpose::trial).size() <= 2);
  CHECK(sampling_run.repetitions(Purpose::trial) <= limits.planned + 1);
  if (limits.policy == IterationPolicy::off) CHECK(measured == limits.planned);
  if (limits.policy == IterationPolicy::multiple_np) CHECK(measured % limits.processes == 0);
  // Warm-up, then trials, then measurements.
  CHECK(std::ranges::is_sorted(sampling_run.samples, {},
                               [](const CompletedBatch& sample) { return sample.plan.purpose; }));
}

}  // namespace

TEST_CASE("whatever the limits and the machine, a sampling ends within its plan") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const SamplingLimits limits = random.limits();
    const double usual = random.seconds();
    const auto seconds = [&](const BatchPlan& plan, std::size_t) {
      return usual * random.number(1, 5) * static_cast<double>(plan.repetitions);
    };
    INFO("seed " << seed);
    const SamplingRun sampling_run = run_sampling(GuideSampling(limits), seconds);
    check_run(limits, sampling_run);
    CHECK(sampling_run.plans(Purpose::measure).size() <= 1);
  }
}

TEST_CASE("whatever the limits, segments are whole cycles that add up to the whole") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const SamplingLimits limits = random.limits();
    const double usual = random.seconds();
    const int parts = random.number(1, 40);
    const std::int64_t cycle = random.number(1, 50);
    INFO("seed " << seed << ", " << parts << " parts, cycle " << cycle);
    const SamplingRun whole = run_sampling(GuideSampling(limits), each(usual));
    const SegmentedSampling sampling(std::make_unique<GuideSampling>(limits), parts, cycle);
    const SamplingRun sampling_run = run_sampling(sampling, each(usual));
    check_run(limits, sampling_run);
    const std::int64_t total = whole.repetitions(Purpose::measure);
    CHECK(sampling_run.repetitions(Purpose::measure) == total);
    CHECK(sampling_run.last.answer == whole.last.answer);
    const std::vector<BatchPlan> segments = sampling_run.plans(Purpose::measure);
    CHECK(static_cast<int>(segments.size()) <= parts);
    for (std::size_t i = 0; i < segments.size(); ++i) {
      CHECK(segments[i].further_segment == (i > 0));
      CHECK(segments[i].repetitions >= std::min(cycle, total));
      if (i + 1 < segments.size()) CHECK(segments[i].repetitions % cycle == 0);
    }
    for (const std::int64_t announced : sampling_run.totals) CHECK(announced == total);
  }
}

TEST_CASE("decisions depend only on the samples") {
  for (unsigned seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const SamplingLimits limits = random.limits();
    const double usual = random.seconds();
    const SegmentedSampling one(std::make_unique<GuideSampling>(limits), 7, 3);
    const SegmentedSampling other(std::make_unique<GuideSampling>(limits), 7, 3);
    const SamplingRun sampling_run = run_sampling(one, each(usual));
    // Another object gives the same answers in reverse order.
    for (std::size_t count = sampling_run.samples.size(); count-- > 0;) {
      const Decision next = other.next(std::span(sampling_run.samples).first(count));
      REQUIRE(next.answer == Decision::Answer::run);
      CHECK(next.plan.purpose == sampling_run.samples[count].plan.purpose);
      CHECK(next.plan.repetitions == sampling_run.samples[count].plan.repetitions);
      CHECK(next.plan.further_segment == sampling_run.samples[count].plan.further_segment);
    }
  }
}

namespace {

PassLimits sample_of(double seconds) {
  PassLimits limits;
  limits.seconds = seconds;
  return limits;
}

std::int64_t measured_in_pass(const SamplingLimits& guide, PassLimits pass, double took) {
  const SamplingRun sampling_run = run_sampling(PassSampling(guide, pass), each(took));
  REQUIRE(sampling_run.last.answer == Decision::Answer::done);
  REQUIRE(sampling_run.plans(Purpose::measure).size() == 1);
  REQUIRE(sampling_run.totals.back() == sampling_run.repetitions(Purpose::measure));
  return sampling_run.repetitions(Purpose::measure);
}

}  // namespace

TEST_CASE("only the first sample of a point has trials to find the time of a repetition") {
  const SamplingRun first = run_sampling(PassSampling(limits(1000), sample_of(1e-3)), each(1e-5));
  CHECK(first.plans(Purpose::warm_up).size() == 1);
  CHECK(first.plans(Purpose::trial).size() == 2);
  CHECK(first.repetitions(Purpose::measure) == 100);
  PassLimits known = sample_of(1e-3);
  known.seconds_each = 1e-5;
  const SamplingRun later = run_sampling(PassSampling(limits(1000), known), each(1e-5));
  CHECK(later.plans(Purpose::trial).empty());
  CHECK(later.repetitions(Purpose::warm_up) == 10);
  CHECK(later.repetitions(Purpose::measure) == 100);
}

TEST_CASE("a sample of a pass lasts as long as requested, with at least one repetition") {
  CHECK(measured_in_pass(limits(1000), sample_of(1e-3), 1.0) == 1);
  CHECK(measured_in_pass(limits(1000), sample_of(1e-3), 1e-5) == 100);
  CHECK(measured_in_pass(limits(1000), sample_of(1e-3), 1e-7) == 10000);
}

TEST_CASE("a sample of a pass has no more repetitions than possible") {
  PassLimits limited = sample_of(1e-3);
  limited.limited = true;
  CHECK(measured_in_pass(limits(1000), limited, 1e-7) == 1000);
  CHECK(measured_in_pass(limits(40), limited, 1e-6) == 40);
}

TEST_CASE("if repetitions take no time by this clock, all planned ones run") {
  CHECK(measured_in_pass(limits(1000), sample_of(1e-3), 0) == 1000);
}

TEST_CASE("a sample of a pass is long enough for the clock, if that is possible") {
  PassLimits coarse = sample_of(1e-3);
  coarse.shortest = 1e-2;
  CHECK(measured_in_pass(limits(100), coarse, 1e-6) == 10000);
  coarse.limited = true;
  CHECK(measured_in_pass(limits(100), coarse, 1e-6) == 100);
}

TEST_CASE("a sample of a pass has whole cycles of roots, as far as the plan allows") {
  PassLimits rooted = sample_of(1e-3);
  rooted.cycle = 8;
  CHECK(measured_in_pass(limits(1000), rooted, 1e-4) == 16);
  CHECK(measured_in_pass(limits(4), rooted, 1.0) == 1);
}

TEST_CASE("time for computation counts in a sample of a pass") {
  PassLimits overlapped = sample_of(3e-3);
  overlapped.runs = 3;
  CHECK(measured_in_pass(limits(1000), overlapped, 1e-4) == 10);
}

TEST_CASE("a repetition that exceeds -time is also a time-out in passes") {
  SamplingLimits guide = limits(10);
  guide.settings.seconds_per_sample = 0.5;
  const SamplingRun sampling_run = run_sampling(PassSampling(guide, sample_of(1e-3)), each(1.0));
  CHECK(sampling_run.last.answer == Decision::Answer::time_out);
  CHECK(sampling_run.last.seconds_each == 1.0);
}

TEST_CASE("with policy off a sample of a pass has all repetitions") {
  SamplingLimits guide = limits(77);
  guide.policy = IterationPolicy::off;
  CHECK(measured_in_pass(guide, sample_of(1e-3), 1.0) == 77);
}

TEST_CASE("samples are short compared with the budget, but not too short") {
  Passes passes;
  CHECK(desired_sample_seconds(passes, 100) == 2e-3);
  passes.budget = 30;
  CHECK(desired_sample_seconds(passes, 100) == Approx(2e-3));
  CHECK(desired_sample_seconds(passes, 100000) == 0.5e-3);
  CHECK(desired_sample_seconds(passes, 1) == 20e-3);
}

TEST_CASE("one lucky sample does not decide the estimate") {
  CHECK(update_seconds_each(0, 8e-6) == 8e-6);
  CHECK(update_seconds_each(8e-6, 7e-6) == 7e-6);
  CHECK(update_seconds_each(8e-6, 1e-9) == 2e-6);
  CHECK(update_seconds_each(8e-6, 20e-6) == 8e-6);
  CHECK(update_seconds_each(8e-6, 80e-6) == 40e-6);
}
