// How many repetitions come next. A Sampling gets the batches of a point so far and returns the number of
// further repetitions, or "done" with the reason. It is pure: their seconds are those that all ranks agree
// on, so that all ranks get the same answer. Source: guide, "Actual Benchmarking", "-iter_policy", "-time".
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "model/arrival.h"
#include "model/options.h"
#include "plan/repetitions.h"

namespace openimb {

/// What a batch of repetitions is for.
enum class Purpose {
  warm_up,  ///< untimed
  trial,    ///< timed to estimate what one repetition takes
  measure   ///< timed for the row
};

struct BatchPlan {
  Purpose purpose = Purpose::measure;
  std::int64_t repetitions = 0;
  /// Not the first segment of a row that alternates with other launches: the launch waits for its slice and
  /// warms up with one repetition.
  bool further_segment = false;
};

/// A completed step: the seconds of the slowest rank, equal on all ranks; 0 for a warm-up.
struct CompletedBatch {
  BatchPlan step;
  double seconds = 0;
  std::int64_t valid = 0;  ///< repetitions in which no rank was late, where these begin at agreed times
};

struct Decision {
  enum class Answer { step, done, time_out };
  Answer answer = Answer::done;
  BatchPlan step = {};
  std::int64_t total = 0;   ///< of a step that measures: measured repetitions of the point in total
  double seconds_each = 0;  ///< time_out: what one repetition takes
};

class Sampling {
 public:
  virtual ~Sampling() = default;
  virtual Decision next(std::span<const CompletedBatch> so_far) const = 0;
};

/// What the guide's policies depend on.
struct SamplingLimits {
  Settings settings;
  IterationPolicy policy = IterationPolicy::dynamic;
  std::int64_t planned = 0;  ///< repetitions before their time is known
  int processes = 1;
  double load_seconds = 0;  ///< per repetition, of a load that does not depend on the transfer
  bool warm_up = true;
};

/// One sample. Warms up; times one repetition and, where the time limit may reduce their number, some more,
/// as the first may have been slow; then measures as many as all limits allow.
class GuideSampling final : public Sampling {
 public:
  explicit GuideSampling(const SamplingLimits& limits) : limits_(limits) {}
  Decision next(std::span<const CompletedBatch> so_far) const override;

 private:
  SamplingLimits limits_;
};

/// Measures one repetition where none fits into the time limit: a slow pair must not cost the other pairs of
/// its round their rows.
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
  /// At most `segments`. Each has whole cycles of `cycle` repetitions, as each begins with the first buffers
  /// and the first root; only the last one may end within a cycle.
  SegmentedSampling(std::unique_ptr<Sampling> inner, int segments, std::int64_t cycle)
      : inner_(std::move(inner)), segments_(segments), cycle_(cycle) {}
  Decision next(std::span<const CompletedBatch> so_far) const override;

 private:
  std::unique_ptr<Sampling> inner_;
  int segments_;
  std::int64_t cycle_;
};

/// Measures `repetitions_to_give_up` first, and the rest where enough of them are valid. Both parts but the
/// last have whole cycles of `cycle` repetitions, as each begins with the first buffers and the first root.
class EarlyExitSampling final : public Sampling {
 public:
  EarlyExitSampling(std::unique_ptr<Sampling> inner, std::int64_t cycle)
      : inner_(std::move(inner)), cycle_(cycle) {}
  Decision next(std::span<const CompletedBatch> so_far) const override;

 private:
  std::unique_ptr<Sampling> inner_;
  std::int64_t cycle_;
};

/// What one sample of a pass depends on beside the guide's limits.
struct PassLimits {
  double seconds = 0;       ///< desired duration of a sample
  double shortest = 0;      ///< shortest duration that the clock can measure
  double seconds_each = 0;  ///< seconds of one repetition in earlier passes; 0: not known yet
  std::int64_t cycle = 1;   ///< repetitions until the first root is root again
  bool limited = false;     ///< no more than `planned` repetitions are possible or wanted
  double runs = 1;  ///< runs of each repetition: more than one where it is also timed with computation
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

/// The estimate of seconds per repetition after one more sample; `before` 0: no estimate yet. It is the least
/// so far, but a faster sample lowers it to a quarter at most, as a sample of few repetitions may be lucky; a
/// sample of more than four times the estimate raises it to half of that sample.
double seconds_each_after(double before, double now);

/// Longest sample of a pass, in seconds, unless a repetition takes longer.
inline constexpr double longest_sample_seconds = 20e-3;

/// Desired seconds of a sample, with so many points. A pass should be short compared with the time for which
/// a machine keeps its state, and there should be many passes.
double seconds_of_samples(const Passes& passes, std::size_t points);

}  // namespace openimb
