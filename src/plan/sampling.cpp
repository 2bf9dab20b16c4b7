#include "plan/sampling.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace openimb {

namespace {

std::int64_t count_batches(std::span<const CompletedBatch> completed, Purpose purpose) {
  return std::ranges::count(completed, purpose,
                            [](const CompletedBatch& batch) { return batch.plan.purpose; });
}

Decision measure(std::int64_t repetitions) {
  return {.answer = Decision::Answer::run,
          .plan = {.purpose = Purpose::measure, .repetitions = repetitions},
          .total = repetitions};
}

Decision prepare(Purpose purpose, std::int64_t repetitions) {
  return {.answer = Decision::Answer::run, .plan = {.purpose = purpose, .repetitions = repetitions}};
}

}  // namespace

Decision GuideSampling::next(std::span<const CompletedBatch> so_far) const {
  const Settings& settings = limits_.settings;
  if (count_batches(so_far, Purpose::measure) > 0) return {.answer = Decision::Answer::done};
  if (limits_.warm_up && so_far.empty()) {
    return prepare(Purpose::warm_up, warm_up_repetitions(settings, limits_.planned));
  }
  if (limits_.policy == IterationPolicy::off) return measure(limits_.planned);
  const std::int64_t trials = count_batches(so_far, Purpose::trial);
  if (trials == 0) return prepare(Purpose::trial, 1);
  const CompletedBatch& last = so_far.back();
  const double seconds_each =
      last.seconds / static_cast<double>(last.plan.repetitions) + limits_.load_seconds;
  const std::int64_t fitting =
      repetitions_in_time(settings, limits_.policy, limits_.planned, seconds_each, limits_.processes);
  if (fitting < limits_.planned && trials == 1) {
    return prepare(Purpose::trial, estimate_repetitions(settings, limits_.planned, seconds_each));
  }
  if (fitting == 0) return {.answer = Decision::Answer::time_out, .seconds_each = seconds_each};
  return measure(fitting);
}

Decision AtLeastOneSampling::next(std::span<const CompletedBatch> so_far) const {
  const Decision next = inner_->next(so_far);
  return next.answer == Decision::Answer::time_out ? measure(1) : next;
}

Decision SegmentedSampling::next(std::span<const CompletedBatch> so_far) const {
  const std::int64_t measured = count_batches(so_far, Purpose::measure);
  const auto before_measuring = so_far.first(so_far.size() - static_cast<std::size_t>(measured));
  Decision next = inner_->next(before_measuring);
  if (next.answer != Decision::Answer::run || next.plan.purpose != Purpose::measure) return next;
  const std::int64_t total = next.plan.repetitions;
  const std::int64_t cycles = total / cycle_;
  const std::int64_t segments = std::clamp(cycles, std::int64_t{1}, std::int64_t{segments_});
  if (measured == segments) return {.answer = Decision::Answer::done};
  // The last segment also gets the remaining repetitions, which are less than a cycle.
  const auto end_of = [&](std::int64_t segment) {
    return segment == segments ? total : cycles * segment / segments * cycle_;
  };
  next.plan.repetitions = end_of(measured + 1) - end_of(measured);
  next.plan.further_segment = measured > 0;
  return next;
}

// The inner rule must see the divided batch as one. A measured batch after the first one is the second part
// of it unless it is a further segment.
Decision EarlyExitSampling::next(std::span<const CompletedBatch> so_far) const {
  std::vector<CompletedBatch> completed;
  std::int64_t measured = 0, valid = 0;
  for (const CompletedBatch& batch : so_far) {
    const bool measures = batch.plan.purpose == Purpose::measure;
    if (measures && measured > 0 && !batch.plan.further_segment) {
      completed.back().plan.repetitions += batch.plan.repetitions;
    } else {
      completed.push_back(batch);
    }
    if (!measures) continue;
    measured += batch.plan.repetitions;
    valid += batch.valid;
  }
  const std::int64_t enough = (repetitions_to_give_up + cycle_ - 1) / cycle_ * cycle_;
  if (measured == enough) {
    if (too_few_valid(valid, measured)) return {.answer = Decision::Answer::done};
    const std::span<const CompletedBatch> before(completed.begin(), completed.end() - 1);
    Decision divided = inner_->next(before);
    divided.plan.repetitions -= completed.back().plan.repetitions;
    divided.plan.further_segment = false;
    if (divided.plan.repetitions > 0) return divided;
  }
  Decision next = inner_->next(completed);
  if (next.plan.purpose == Purpose::measure && measured < enough) {
    next.plan.repetitions = std::min(next.plan.repetitions, enough - measured);
  }
  return next;
}

Decision PassSampling::next(std::span<const CompletedBatch> so_far) const {
  const Settings& settings = guide_.settings;
  if (count_batches(so_far, Purpose::measure) > 0) return {.answer = Decision::Answer::done};
  const bool warmed = count_batches(so_far, Purpose::warm_up) > 0 || !guide_.warm_up;
  if (guide_.policy == IterationPolicy::off) {
    return warmed ? measure(guide_.planned)
                  : prepare(Purpose::warm_up, warm_up_repetitions(settings, guide_.planned));
  }
  double seconds_each = pass_.seconds_each;
  if (seconds_each <= 0) {
    const std::int64_t trials = count_batches(so_far, Purpose::trial);
    if (trials == 0) return prepare(Purpose::trial, 1);
    const CompletedBatch& last = so_far[static_cast<std::size_t>(trials - 1)];
    seconds_each = last.seconds / static_cast<double>(last.plan.repetitions);
    // The first repetition is often slow, so there is a second trial.
    constexpr std::int64_t more = 4;
    const std::int64_t fitting = repetitions(seconds_each);
    if (trials == 1 && fitting > more) return prepare(Purpose::trial, std::max(more, fitting / more));
    const double with_load = seconds_each + guide_.load_seconds;
    if (repetitions_in_time(settings, guide_.policy, guide_.planned, with_load, guide_.processes) == 0) {
      return {.answer = Decision::Answer::time_out, .seconds_each = with_load};
    }
  }
  const std::int64_t count = repetitions(seconds_each);
  return warmed ? measure(count) : prepare(Purpose::warm_up, warm_up_repetitions(settings, count));
}

std::int64_t PassSampling::repetitions(double seconds_each) const {
  if (guide_.policy == IterationPolicy::off) return guide_.planned;
  const auto fitting = [&](double seconds, double cost) {
    constexpr double most = 1e9;
    return static_cast<std::int64_t>(cost > 0 ? std::min(most, std::ceil(seconds / cost)) : most);
  };
  const double cost = seconds_each * pass_.runs + guide_.load_seconds;
  const bool limited = pass_.limited || seconds_each <= 0;
  std::int64_t count = fitting(pass_.seconds, cost);
  count = limited ? std::min(guide_.planned, count) : std::max(count, fitting(pass_.shortest, seconds_each));
  const std::int64_t rounds = (count + pass_.cycle - 1) / pass_.cycle * pass_.cycle;
  return rounds <= std::max(count, guide_.planned) ? rounds : count;
}

double update_seconds_each(double before, double now) {
  constexpr double much = 4;
  if (before <= 0) return now;
  if (now < before) return std::max(now, before / much);
  return now > much * before ? now / 2 : before;
}

double desired_sample_seconds(const Passes& passes, std::size_t points) {
  constexpr double without_budget = 2e-3, shortest = 0.5e-3;
  constexpr double wanted_passes = 150;
  if (!passes.budget || points == 0) return without_budget;
  return std::clamp(*passes.budget / static_cast<double>(points) / wanted_passes, shortest,
                    max_sample_seconds);
}

}  // namespace openimb
