// How many repetitions come next. A sampling is asked again and again with the samples of a point so far, and
// answers "so many repetitions more" or "done, because". It is pure: samples are seconds that all ranks agree
// on, so that all ranks get the same answer. Source: guide, "Actual Benchmarking", "-iter_policy", "-time".
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "plan/options.h"
#include "plan/repetitions.h"

namespace openimb {

/// What a batch of repetitions is for.
enum class Purpose {
  warm_up,  ///< untimed
  trial,    ///< timed to estimate what one repetition takes
  measure   ///< counts
};

struct Step {
  Purpose purpose = Purpose::measure;
  std::int64_t repetitions = 0;
  /// A further segment of a row that alternates with other launches: waits until it may measure, and is
  /// warmed up by one repetition.
  bool further_segment = false;
};

/// A step that was done: the seconds of the slowest rank, equal on all ranks; 0 for a warm-up.
struct Sample {
  Step step;
  double seconds = 0;
};

struct Next {
  enum class Answer { step, done, time_out };
  Answer answer = Answer::done;
  Step step = {};
  std::int64_t total = 0;   ///< of a step that measures: measured repetitions of the point in all
  double seconds_each = 0;  ///< time_out: what one repetition takes
};

class Sampling {
 public:
  virtual ~Sampling() = default;
  virtual Next next(std::span<const Sample> so_far) const = 0;
};

/// What the guide's policies look at.
struct SamplingLimits {
  Settings settings;
  IterationPolicy policy = IterationPolicy::dynamic;
  std::int64_t planned = 0;  ///< repetitions before their time is known
  int processes = 1;
  double load_seconds = 0;  ///< per repetition, of a load that does not depend on the transfer
  bool warm_up = true;
};

/// One sample. Warms up; tries one repetition, and where the time limit might cut the number of them, some
/// more, as the one may have been unlucky; then measures as many as all limits allow.
class GuideSampling final : public Sampling {
 public:
  explicit GuideSampling(const SamplingLimits& limits) : limits_(limits) {}
  Next next(std::span<const Sample> so_far) const override;

 private:
  SamplingLimits limits_;
};

/// The same with one repetition where not one fits into the time limit: of pairs in a round, a slow one must
/// not cost the others their rows.
class PatientSampling final : public Sampling {
 public:
  explicit PatientSampling(std::unique_ptr<Sampling> whole) : whole_(std::move(whole)) {}
  Next next(std::span<const Sample> so_far) const override;

 private:
  std::unique_ptr<Sampling> whole_;
};

/// The same sample cut into segments that alternate with those of other launches (duet benchmarking: Bulej et
/// al., ICPE 2020).
class SegmentedSampling final : public Sampling {
 public:
  /// At most `segments`, each of whole cycles of `cycle` repetitions, as it begins anew with the first
  /// buffers and the first root. Only the last one may end within a cycle.
  SegmentedSampling(std::unique_ptr<Sampling> whole, int segments, std::int64_t cycle)
      : whole_(std::move(whole)), segments_(segments), cycle_(cycle) {}
  Next next(std::span<const Sample> so_far) const override;

 private:
  std::unique_ptr<Sampling> whole_;
  int segments_;
  std::int64_t cycle_;
};

/// What one sample of a pass looks at beside the guide's limits.
struct PassLimits {
  double seconds = 0;      ///< that a sample should take
  double shortest = 0;     ///< that the clock needs
  double each = 0;         ///< what one repetition took in earlier passes; 0: not known yet
  std::int64_t cycle = 1;  ///< repetitions from one first root to the next
  bool limited = false;    ///< whether there is room for `planned` repetitions alone
  double runs = 1;  ///< how often a repetition's time is spent: more than once where computation is timed too
};

/// One sample of a pass. Tries what a repetition takes in the first one.
class PassSampling final : public Sampling {
 public:
  PassSampling(const SamplingLimits& guide, const PassLimits& pass) : guide_(guide), pass_(pass) {}
  Next next(std::span<const Sample> so_far) const override;

 private:
  std::int64_t repetitions(double each) const;

  SamplingLimits guide_;
  PassLimits pass_;
};

/// What a repetition is taken to need after one more sample, in seconds; `before` 0: none yet. The least so
/// far, which a lucky sample of few repetitions changes by little; and what samples take that are far longer
/// than that.
double seconds_each_after(double before, double now);

/// How long a sample of each of so many points should take. A pass must be short against the time for which a
/// machine stays the same, and there should be many.
double seconds_of_samples(const Passes& passes, std::size_t points);

}  // namespace openimb
