// How many repetitions come next: the guide's policies, and segments that alternate with other launches.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <numeric>
#include <random>

#include "plan/sampling.h"

using namespace openimb;

namespace {

// What was done until the sampling had enough.
struct Course {
  std::vector<CompletedBatch> samples;
  Decision last;
  std::vector<std::int64_t> totals;  // announced with each step that measures

  std::vector<BatchPlan> steps(Purpose purpose) const {
    std::vector<BatchPlan> steps;
    for (const CompletedBatch& sample : samples) {
      if (sample.step.purpose == purpose) steps.push_back(sample.step);
    }
    return steps;
  }
  std::int64_t repetitions(Purpose purpose) const {
    std::int64_t sum = 0;
    for (const BatchPlan& step : steps(purpose)) sum += step.repetitions;
    return sum;
  }
};

using Seconds = std::function<double(const BatchPlan&, std::size_t nth)>;

Course follow(const Sampling& sampling, const Seconds& seconds) {
  constexpr std::size_t far_too_many = 1000;
  Course course;
  while (course.samples.size() < far_too_many) {
    course.last = sampling.next(course.samples);
    if (course.last.answer != Decision::Answer::step) return course;
    const BatchPlan step = course.last.step;
    if (step.purpose == Purpose::measure) course.totals.push_back(course.last.total);
    const double took = step.purpose == Purpose::warm_up ? 0 : seconds(step, course.samples.size());
    course.samples.push_back({step, took});
  }
  FAIL("the sampling does not end");
  return course;
}

Seconds each(double seconds) {
  return [=](const BatchPlan& step, std::size_t) { return seconds * static_cast<double>(step.repetitions); };
}

SamplingLimits limits(std::int64_t planned) {
  return {.settings = {}, .policy = IterationPolicy::dynamic, .planned = planned};
}

std::string described(const Course& course) {
  std::string text;
  for (const CompletedBatch& sample : course.samples) {
    text += "wtm"[static_cast<int>(sample.step.purpose)] + std::to_string(sample.step.repetitions) +
            (sample.step.further_segment ? "+ " : " ");
  }
  return text + (course.last.answer == Decision::Answer::done ? "done" : "time-out");
}

std::string segmented(std::int64_t planned, int segments, std::int64_t cycle, double seconds = 1e-6) {
  SamplingLimits all = limits(planned);
  all.warm_up = false;
  const SegmentedSampling sampling(std::make_unique<GuideSampling>(all), segments, cycle);
  return described(follow(sampling, each(seconds)));
}

}  // namespace

TEST_CASE("quick repetitions: warm-up, one trial, all that were planned") {
  CHECK(described(follow(GuideSampling(limits(1000)), each(1e-6))) == "w10 t1 m1000 done");
  CHECK(described(follow(GuideSampling(limits(1)), each(1e-6))) == "w1 t1 m1 done");
  CHECK(described(follow(GuideSampling(limits(50)), each(0))) == "w5 t1 m50 done");
}

TEST_CASE("no warm-up where none is asked for") {
  SamplingLimits cold = limits(1000);
  cold.warm_up = false;
  CHECK(described(follow(GuideSampling(cold), each(1e-6))) == "t1 m1000 done");
}

TEST_CASE("N_WARMUP 0 warms up by nothing, once") {
  SamplingLimits none = limits(1000);
  none.settings.warm_up_repetitions = 0;
  CHECK(described(follow(GuideSampling(none), each(1e-6))) == "w0 t1 m1000 done");
}

TEST_CASE("slow repetitions: a second estimate of about a second, then as many as fit") {
  CHECK(described(follow(GuideSampling(limits(1000)), each(0.25))) == "w10 t1 t4 m40 done");
  CHECK(described(follow(GuideSampling(limits(1000)), each(4))) == "w10 t1 t1 m2 done");
  CHECK(described(follow(GuideSampling(limits(1000)), each(10))) == "w10 t1 t1 m1 done");
}

TEST_CASE("too slow for one repetition: a time-out that says what it takes") {
  const Course course = follow(GuideSampling(limits(1000)), each(12));
  CHECK(described(course) == "w10 t1 t1 time-out");
  CHECK(course.last.seconds_each == 12);
}

TEST_CASE("the second estimate is the one that counts") {
  const auto first_one_slow = [](const BatchPlan& step, std::size_t nth) {
    return (nth == 1 ? 100.0 : 1e-6) * static_cast<double>(step.repetitions);
  };
  CHECK(described(follow(GuideSampling(limits(1000)), first_one_slow)) == "w10 t1 t1 m1000 done");
  const auto second_one_slow = [](const BatchPlan& step, std::size_t nth) {
    return (nth == 1 ? 0.5 : 20.0) * static_cast<double>(step.repetitions);
  };
  CHECK(described(follow(GuideSampling(limits(1000)), second_one_slow)) == "w10 t1 t2 time-out");
}

TEST_CASE("what a load takes counts for each repetition") {
  SamplingLimits loaded = limits(1000);
  loaded.load_seconds = 0.5;
  CHECK(described(follow(GuideSampling(loaded), each(0.5))) == "w10 t1 t1 m10 done");
  loaded.load_seconds = 20;
  CHECK(follow(GuideSampling(loaded), each(0.5)).last.seconds_each == 20.5);
}

TEST_CASE("policy off: no estimate and no time-out") {
  SamplingLimits off = limits(1000);
  off.policy = IterationPolicy::off;
  CHECK(described(follow(GuideSampling(off), each(1e6))) == "w10 m1000 done");
}

TEST_CASE("policy multiple_np: whole rounds, at least one") {
  SamplingLimits rounds = limits(999);
  rounds.policy = IterationPolicy::multiple_np;
  rounds.processes = 3;
  CHECK(described(follow(GuideSampling(rounds), each(1.25))) == "w10 t1 t1 m6 done");
  CHECK(described(follow(GuideSampling(rounds), each(9))) == "w10 t1 t1 m3 done");
  CHECK(described(follow(GuideSampling(rounds), each(11))) == "w10 t1 t1 time-out");
}

TEST_CASE("without a time limit all run") {
  SamplingLimits unlimited = limits(1000);
  unlimited.settings.seconds_per_sample = GENERATE(0.0, -1.0);
  CHECK(described(follow(GuideSampling(unlimited), each(1e9))) == "w10 t1 m1000 done");
}

TEST_CASE("a short time limit has a short estimate: it costs a tenth of the row") {
  SamplingLimits brief = limits(1000);
  brief.settings.seconds_per_sample = 0.1;
  CHECK(described(follow(GuideSampling(brief), each(0.001))) == "w10 t1 t10 m100 done");
}

TEST_CASE("the total is announced with every step that measures") {
  CHECK(follow(GuideSampling(limits(1000)), each(0.25)).totals == std::vector<std::int64_t>{40});
  const SegmentedSampling sampling(std::make_unique<GuideSampling>(limits(1000)), 4, 1);
  CHECK(follow(sampling, each(0.25)).totals == std::vector<std::int64_t>(4, 40));
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

TEST_CASE("a segment has whole cycles of buffers and roots, but for what is left over at the end") {
  CHECK(segmented(24, 3, 4) == "t1 m8 m8+ m8+ done");
  CHECK(segmented(30, 3, 4) == "t1 m8 m8+ m14+ done");
  CHECK(segmented(30, 2, 4) == "t1 m12 m18+ done");
  CHECK(segmented(40, 4, 4) == "t1 m8 m12+ m8+ m12+ done");
  CHECK(segmented(11, 10, 4) == "t1 m4 m7+ done");
  CHECK(segmented(3, 10, 4) == "t1 m3 done");
}

TEST_CASE("segments follow from the count that fits into the time") {
  CHECK(segmented(1000, 4, 1, 0.25) == "t1 t4 m10 m10+ m10+ m10+ done");
  CHECK(segmented(1000, 4, 1, 11) == "t1 t1 time-out");
}

TEST_CASE("what measured segments took changes nothing") {
  const SegmentedSampling sampling(std::make_unique<GuideSampling>(limits(40)), 4, 1);
  const auto slower_and_slower = [](const BatchPlan& step, std::size_t nth) {
    return step.purpose == Purpose::trial ? 1e-6 : 1e3 * static_cast<double>(nth);
  };
  CHECK(described(follow(sampling, slower_and_slower)) == "w4 t1 m10 m10+ m10+ m10+ done");
}

namespace {

// Any limits and any machine, from a seed.
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

void check_course(const SamplingLimits& limits, const Course& course) {
  const std::int64_t measured = course.repetitions(Purpose::measure);
  CHECK(measured <= limits.planned);
  CHECK((course.last.answer == Decision::Answer::time_out) == (measured == 0));
  CHECK(course.steps(Purpose::warm_up).size() == (limits.warm_up ? 1 : 0));
  CHECK(course.steps(Purpose::trial).size() <= 2);
  CHECK(course.repetitions(Purpose::trial) <= limits.planned + 1);
  if (limits.policy == IterationPolicy::off) CHECK(measured == limits.planned);
  if (limits.policy == IterationPolicy::multiple_np) CHECK(measured % limits.processes == 0);
  // Warm-up, then trials, then what counts.
  CHECK(std::ranges::is_sorted(course.samples, {},
                               [](const CompletedBatch& sample) { return sample.step.purpose; }));
}

}  // namespace

TEST_CASE("whatever the limits and the machine, a sampling ends within its plan") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const SamplingLimits limits = random.limits();
    const double usual = random.seconds();
    const auto seconds = [&](const BatchPlan& step, std::size_t) {
      return usual * random.number(1, 5) * static_cast<double>(step.repetitions);
    };
    INFO("seed " << seed);
    const Course course = follow(GuideSampling(limits), seconds);
    check_course(limits, course);
    CHECK(course.steps(Purpose::measure).size() <= 1);
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
    const Course whole = follow(GuideSampling(limits), each(usual));
    const SegmentedSampling sampling(std::make_unique<GuideSampling>(limits), parts, cycle);
    const Course course = follow(sampling, each(usual));
    check_course(limits, course);
    const std::int64_t total = whole.repetitions(Purpose::measure);
    CHECK(course.repetitions(Purpose::measure) == total);
    CHECK(course.last.answer == whole.last.answer);
    const std::vector<BatchPlan> segments = course.steps(Purpose::measure);
    CHECK(static_cast<int>(segments.size()) <= parts);
    for (std::size_t i = 0; i < segments.size(); ++i) {
      CHECK(segments[i].further_segment == (i > 0));
      CHECK(segments[i].repetitions >= std::min(cycle, total));
      if (i + 1 < segments.size()) CHECK(segments[i].repetitions % cycle == 0);
    }
    for (const std::int64_t announced : course.totals) CHECK(announced == total);
  }
}

TEST_CASE("answers depend on the samples alone") {
  for (unsigned seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const SamplingLimits limits = random.limits();
    const double usual = random.seconds();
    const SegmentedSampling one(std::make_unique<GuideSampling>(limits), 7, 3);
    const SegmentedSampling other(std::make_unique<GuideSampling>(limits), 7, 3);
    const Course course = follow(one, each(usual));
    // Asked backwards, and of another object: the same answers.
    for (std::size_t count = course.samples.size(); count-- > 0;) {
      const Decision next = other.next(std::span(course.samples).first(count));
      REQUIRE(next.answer == Decision::Answer::step);
      CHECK(next.step.purpose == course.samples[count].step.purpose);
      CHECK(next.step.repetitions == course.samples[count].step.repetitions);
      CHECK(next.step.further_segment == course.samples[count].step.further_segment);
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
  const Course course = follow(PassSampling(guide, pass), each(took));
  REQUIRE(course.last.answer == Decision::Answer::done);
  REQUIRE(course.steps(Purpose::measure).size() == 1);
  REQUIRE(course.totals.back() == course.repetitions(Purpose::measure));
  return course.repetitions(Purpose::measure);
}

}  // namespace

TEST_CASE("the first sample of a pass tries what a repetition takes, later ones know it") {
  const Course first = follow(PassSampling(limits(1000), sample_of(1e-3)), each(1e-5));
  CHECK(first.steps(Purpose::warm_up).size() == 1);
  CHECK(first.steps(Purpose::trial).size() == 2);
  CHECK(first.repetitions(Purpose::measure) == 100);
  PassLimits known = sample_of(1e-3);
  known.seconds_each = 1e-5;
  const Course later = follow(PassSampling(limits(1000), known), each(1e-5));
  CHECK(later.steps(Purpose::trial).empty());
  CHECK(later.repetitions(Purpose::warm_up) == 10);
  CHECK(later.repetitions(Purpose::measure) == 100);
}

TEST_CASE("a sample of a pass lasts as long as it should, with at least one repetition") {
  CHECK(measured_in_pass(limits(1000), sample_of(1e-3), 1.0) == 1);
  CHECK(measured_in_pass(limits(1000), sample_of(1e-3), 1e-5) == 100);
  CHECK(measured_in_pass(limits(1000), sample_of(1e-3), 1e-7) == 10000);
}

TEST_CASE("a sample of a pass has no more repetitions than there is room for") {
  PassLimits limited = sample_of(1e-3);
  limited.limited = true;
  CHECK(measured_in_pass(limits(1000), limited, 1e-7) == 1000);
  CHECK(measured_in_pass(limits(40), limited, 1e-6) == 40);
}

TEST_CASE("repetitions that take no time by this clock are as many as planned") {
  CHECK(measured_in_pass(limits(1000), sample_of(1e-3), 0) == 1000);
}

TEST_CASE("a sample of a pass is long enough for the clock, where there is room for that") {
  PassLimits coarse = sample_of(1e-3);
  coarse.shortest = 1e-2;
  CHECK(measured_in_pass(limits(100), coarse, 1e-6) == 10000);
  coarse.limited = true;
  CHECK(measured_in_pass(limits(100), coarse, 1e-6) == 100);
}

TEST_CASE("roots go round whole in a sample of a pass, as far as the plan allows") {
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

TEST_CASE("a repetition longer than the time for all of them is a time-out in passes, too") {
  SamplingLimits guide = limits(10);
  guide.settings.seconds_per_sample = 0.5;
  const Course course = follow(PassSampling(guide, sample_of(1e-3)), each(1.0));
  CHECK(course.last.answer == Decision::Answer::time_out);
  CHECK(course.last.seconds_each == 1.0);
}

TEST_CASE("with policy off a sample of a pass is whole") {
  SamplingLimits guide = limits(77);
  guide.policy = IterationPolicy::off;
  CHECK(measured_in_pass(guide, sample_of(1e-3), 1.0) == 77);
}

TEST_CASE("samples are short against the budget, but not too short") {
  Passes passes;
  CHECK(seconds_of_samples(passes, 100) == 2e-3);
  passes.budget = 30;
  CHECK(seconds_of_samples(passes, 100) == Approx(2e-3));
  CHECK(seconds_of_samples(passes, 100000) == 0.5e-3);
  CHECK(seconds_of_samples(passes, 1) == 20e-3);
}

TEST_CASE("what a repetition needs is not believed of one lucky sample") {
  CHECK(seconds_each_after(0, 8e-6) == 8e-6);
  CHECK(seconds_each_after(8e-6, 7e-6) == 7e-6);
  CHECK(seconds_each_after(8e-6, 1e-9) == 2e-6);
  CHECK(seconds_each_after(8e-6, 20e-6) == 8e-6);
  CHECK(seconds_each_after(8e-6, 80e-6) == 40e-6);
}
