// Rules that decide the number of repetitions. A Sampling gets the completed batches of a point. It returns
// the next batch, or that the point is done or timed out. It is pure, and all ranks have agreed on the
// seconds of the batches, so all ranks get the same decision. Source: guide, "Actual Benchmarking",
// "-iter_policy", "-time".
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "model/arrival.h"
#include "model/options.h"
#include "plan/repetitions.h"

namespace openimb {

/// The purpose of a batch of repetitions.
enum class Purpose {
  warm_up,  ///< untimed
  trial,    ///< timed to estimate what one repetition takes
  measure   ///< timed for the row
};

/// A batch to run.
struct BatchPlan {
  Purpose purpose = Purpose::measure;
  std::int64_t repetitions = 0;
  /// The batch is the second or a later segment of a row that alternates with other launches. Before it, the
  /// launch waits for its turn and warms up with one repetition.
  bool further_segment = false;
};

/// A completed batch.
struct CompletedBatch {
  BatchPlan plan;
  double seconds = 0;      ///< time on the slowest rank, equal on all ranks; 0 for a warm-up
  std::int64_t valid = 0;  ///< -sync_start clock: repetitions in which no rank was late
};

/// What a Sampling decides: the next batch, or that the point is done, or that it timed out.
struct Decision {
  enum class Answer { run, done, time_out };
  Answer answer = Answer::done;
  BatchPlan plan = {};
  std::int64_t total = 0;  ///< Purpose::measure: repetitions of the point that all batches will have measured
  double seconds_each = 0;  ///< time_out: time of one repetition
};

/// A rule that decides the number of repetitions.
class Sampling {
 public:
  virtual ~Sampling() = default;
  /// `so_far`: the completed batches of the point, oldest first.
  virtual Decision next(std::span<const CompletedBatch> so_far) const = 0;
};

/// The limits of the guide's policies for one point.
struct SamplingLimits {
  Settings settings;
  IterationPolicy policy = IterationPolicy::dynamic;
  std::int64_t planned = 0;  ///< repetitions before their time is known
  int processes = 1;
  double load_seconds = 0;  ///< computation per repetition that does not depend on the transfer
  bool warm_up = true;
};

/// One sample by the guide's rules: a warm-up, a trial of one repetition, then as many measured repetitions
/// as all limits allow. If the time limit would reduce their number, a longer trial comes first, because the
/// first repetition may have been slow.
class GuideSampling final : public Sampling {
 public:
  explicit GuideSampling(const SamplingLimits& limits) : limits_(limits) {}
  Decision next(std::span<const CompletedBatch> so_far) const override;

 private:
  SamplingLimits limits_;
};

/// Measures one repetition instead of timing out, so that the pairs of a round have rows even if one pair is
/// slow.
class AtLeastOneSampling final : public Sampling {
 public:
  explicit AtLeastOneSampling(std::unique_ptr<Sampling> inner) : inner_(std::move(inner)) {}
  Decision next(std::span<const CompletedBatch> so_far) const override;

 private:
  std::unique_ptr<Sampling> inner_;
};

/// One sample, divided into segments that alternate with other launches' segments (duet benchmarking: Bulej
/// et al., ICPE 2020).
class SegmentedSampling final : public Sampling {
 public:
  /// `segments`: largest number of segments. `cycle`: repetitions after which buffers and roots repeat. Each
  /// segment starts with the first buffers and the first root, so it has whole cycles; only the last segment
  /// may end within a cycle.
  SegmentedSampling(std::unique_ptr<Sampling> inner, int segments, std::int64_t cycle)
      : inner_(std::move(inner)), segments_(segments), cycle_(cycle) {}
  Decision next(std::span<const CompletedBatch> so_far) const override;

 private:
  std::unique_ptr<Sampling> inner_;
  int segments_;
  std::int64_t cycle_;
};

/// Measures `repetitions_to_give_up` repetitions first, and the others only if enough of the first ones are
/// valid. The number is rounded up to whole cycles of `cycle` repetitions, because the next batch starts
/// again with the first buffers and the first root. If it is reached within a batch of `inner`, that batch is
/// divided.
class EarlyExitSampling final : public Sampling {
 public:
  EarlyExitSampling(std::unique_ptr<Sampling> inner, std::int64_t cycle)
      : inner_(std::move(inner)), cycle_(cycle) {}
  Decision next(std::span<const CompletedBatch> so_far) const override;

 private:
  std::unique_ptr<Sampling> inner_;
  std::int64_t cycle_;
};

/// The limits of one sample of a pass, in addition to the guide's.
struct PassLimits {
  double seconds = 0;       ///< desired duration of a sample
  double shortest = 0;      ///< shortest duration that the clock can measure
  double seconds_each = 0;  ///< seconds of one repetition in earlier passes; 0: not known yet
  std::int64_t cycle = 1;   ///< repetitions until the first root is root again
  bool limited = false;     ///< no more than SamplingLimits::planned repetitions are possible or wanted
  double runs = 1;  ///< number of runs of each repetition; above 1 if it is also timed with computation
};

/// One sample of a pass. In the first pass, trials estimate the time of a repetition.
class PassSampling final : public Sampling {
 public:
  PassSampling(const SamplingLimits& guide, const PassLimits& pass) : guide_(guide), pass_(pass) {}
  Decision next(std::span<const CompletedBatch> so_far) const override;

 private:
  std::int64_t repetitions(double seconds_each) const;

  SamplingLimits guide_;
  PassLimits pass_;
};

/// Returns the estimate of seconds per repetition after one more sample. `before`: the earlier estimate, 0 if
/// there is none. `now`: seconds per repetition in the sample. The estimate is the smallest value so far,
/// with two exceptions. One sample lowers it to no less than a quarter, because a short sample may be lucky.
/// A sample of more than four times the estimate raises it to half of the sample's value.
double update_seconds_each(double before, double now);

/// Longest sample of a pass, in seconds, unless a repetition takes longer.
inline constexpr double max_sample_seconds = 20e-3;

/// Returns the desired duration of a sample in seconds if a pass has `points` points. A pass should be short
/// compared with the time for which a machine keeps its performance state, and there should be many passes.
double desired_sample_seconds(const Passes& passes, std::size_t points);

}  // namespace openimb
