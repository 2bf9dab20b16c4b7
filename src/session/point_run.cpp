#include "session/point_run.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "model/saturating.h"
#include "result/statistics.h"
#include "session/decorated_batch.h"
#include "session/launch_progress.h"

namespace openimb {

namespace {

Failure time_out(const Point& point, double seconds_each) {
  return {.cause = Failure::Cause::time_out,
          .bytes = point.bytes,
          .seconds = seconds_each,
          .detail = "one repetition takes longer than the limit of -time",
          .limit = true};
}

std::optional<int> only_partner(const Point& point) {
  if (point.round_partners == nullptr || point.round_partners->partners.size() != 1) return std::nullopt;
  return point.round_partners->partners.front();
}

// Returns the times from repetition `first` on; empty if `seconds` is empty.
std::span<double> times_from(std::int64_t first, std::span<double> seconds) {
  return seconds.empty() ? seconds : seconds.subspan(static_cast<std::size_t>(first));
}

}  // namespace

PointRun::PointRun(const SessionContext& context, const TablePlan& plan, OpenTable& open, const Point& point,
                   PointSettings settings)
    : context_(context),
      plan_(plan),
      open_(open),
      point_(point),
      activity_(context.host, plan.table, point.bytes, only_partner(point)),
      settings_(std::move(settings)) {
  if (plan.spec().uses_files()) require_space();
  OpenTable::OpenResult opened = open.open(point, settings_.completed);
  if (opened.failure) throw PointError{*opened.failure};
  batch_ = std::make_unique<VariantBatch>(open, std::move(opened.batch));
  if (plan.spec().uses_files()) {
    const auto agree = [this](const std::string& mine) { require_no_error(mine); };
    batch_ = std::make_unique<ErrorAgreementBatch>(agree, std::move(batch_));
  }
  if (plan.spec().file.use == FileUse::read) require_no_error(open.fill_files(point));
}

std::optional<Measurement> PointRun::measure() {
  if (!run_batches()) return std::nullopt;
  batch_->conclude(total_);
  const bool target_computes = plan_.spec().one_sided.computing_target;
  if (target_computes) run_while_target_computes();
  if (plan_.spec().overlaps()) run_with_load();
  end_observing();
  const bool twice = target_computes || plan_.spec().overlaps();
  if (context_.options.interleaving && twice && settings_.stopping()) return std::nullopt;
  return measurement();
}

// Returns whether the launch continues.
bool PointRun::run_batches() {
  std::vector<CompletedBatch> completed;
  if (plan_.gated) {
    synchronize_clocks(oldest_clock_in_passes);
    set_arrival();
  }
  for (;;) {
    const Decision next = settings_.sampling->next(completed);
    if (next.answer == Decision::Answer::time_out) throw PointError{time_out(point_, next.seconds_each)};
    if (next.answer == Decision::Answer::done) break;
    if (next.plan.purpose == Purpose::measure && segments_.empty()) begin_measuring(next.total);
    const double mine = run_batch(next.plan);
    const bool timed = next.plan.purpose != Purpose::warm_up;
    completed.push_back({next.plan, timed ? context_.world.allreduce_max(mine) : 0, valid_});
    if (next.plan.purpose == Purpose::measure) {
      seconds_each_ = completed.back().seconds / static_cast<double>(next.plan.repetitions);
    }
  }
  return !context_.options.interleaving || !settings_.stopping();
}

void PointRun::begin_measuring(std::int64_t total) {
  total_ = planned_ = total;
  const int each = plan_.gated ? stamps_each : 1;
  if (timing() != Timing::total) repetition_seconds_.assign(static_cast<std::size_t>(each * total), 0.0);
  if (settings_.check) {
    batch_->prepare();
    wrong_ = batch_->check(total);
  }
  begin_observing();
}

// Reads clocks, probe and counters just before the timed region.
void PointRun::begin_observing() {
  const double begun = context_.host.now();
  if (plan_.gated) synchronize_clocks(settings_.oldest_clock);
  if (settings_.exchanges > 0) probe_before_ = open_.probe(settings_.exchanges);
  reading_ = context_.host.evidence();
  observing_seconds_ = context_.host.now() - begun;
}

void PointRun::end_observing() {
  const double begun = context_.host.now();
  Reading observed;
  if (const auto reading = context_.host.evidence()) observed = reading_difference(*reading_, *reading);
  if (settings_.exchanges > 0) {
    observed.push_back(probe_before_);
    observed.push_back(open_.probe(settings_.exchanges));
  }
  if (plan_.gated && settings_.oldest_clock <= 0 && !context_.clock->synchronize()) {
    throw PointError{clock_set(point_)};
  }
  observing_seconds_ += context_.host.now() - begun;
  if (!observed.empty()) observed_ = context_.world.gather(std::span<const double>(observed));
}

// Runs one batch; returns this rank's seconds.
double PointRun::run_batch(const BatchPlan& plan) {
  if (plan.purpose == Purpose::warm_up) {
    batch_->run(plan.repetitions, Timing::total, {});
    return 0;
  }
  if (plan.purpose == Purpose::trial) {
    batch_->prepare();
    if (!plan_.gated) return batch_->run(plan.repetitions, Timing::total, {});
    std::vector<double> stamps(static_cast<std::size_t>(stamps_each * plan.repetitions));
    return run_at_agreed_times(plan.repetitions, stamps);
  }
  std::int64_t first = 0;
  for (const BatchPlan& segment : segments_) first += segment.repetitions;
  if (plan_.gated) {
    double elapsed = 0;
    const auto stamps = std::span(repetition_seconds_)
                            .subspan(static_cast<std::size_t>(stamps_each * first),
                                     static_cast<std::size_t>(stamps_each * plan.repetitions));
    total_seconds_ += run_timed(first, plan, [&](std::int64_t, std::int64_t repetitions) {
      const double begun = context_.host.now();
      const double seconds = batch_->run(repetitions, timing(), stamps);
      elapsed = context_.host.now() - begun;
      return seconds;
    });
    segments_.push_back(plan);
    total_ = first + plan.repetitions;
    seconds_ = {total_seconds_ / static_cast<double>(total_)};
    total_valid_ += valid_ = count_valid(stamps);
    return elapsed;
  }
  const double seconds = run_timed(first, plan, [&](std::int64_t from, std::int64_t repetitions) {
    return batch_->run(repetitions, timing(), times_from(from, repetition_seconds_));
  });
  segments_.push_back(plan);
  seconds_.push_back(seconds / static_cast<double>(plan.repetitions));
  const auto keep = [&](std::span<const double> threads, std::vector<std::vector<double>>& kept) {
    kept.resize(threads.size());
    for (std::size_t i = 0; i < threads.size(); ++i) {
      kept[i].push_back(threads[i] / static_cast<double>(plan.repetitions));
    }
  };
  keep(batch_->thread_seconds(), thread_seconds_);
  keep(batch_->thread_waiting(), waiting_);
  return seconds;
}

// Runs one measured segment between barriers of the world, in which idle ranks wait.
double PointRun::run_timed(std::int64_t first, const BatchPlan& plan, const Run& run) {
  if (plan.further_segment) context_.host.wait_for_segment();
  if (plan.further_segment && context_.options.warm_up) batch_->run(1, Timing::total, {});
  batch_->prepare();
  // Checks again as late as possible, because no library of docs/known-mpi-issues.md survives a nonblocking
  // write that fails.
  if (with_load_ && plan_.spec().file.use == FileUse::write) require_space();
  for (int i = 0; i < context_.options.settings.barriers; ++i) context_.world.barrier();
  const double seconds = run(first, plan.repetitions);
  measured_seconds_ += seconds;
  context_.world.barrier();
  return seconds;
}

// Runs the same segments again, with computation in each repetition on every rank. The computation takes as
// long as the slowest rank of the group needed without it (half of the round trip in benchmarks that show one
// way), or TARGET_CPU_SECS. t_CPU is the time that the computation took. For a fixed load it is the time that
// it takes when nothing else runs, as the guide defines it for files.
void PointRun::run_with_load() {
  const bool fixed = plan_.spec().overlap == Overlap::fixed;
  const double target = context_.options.settings.target_cpu_seconds;
  if (!context_.load.calibrated()) context_.load.calibrate(target);
  const double pure = batch_->takes_part() ? plan_.spec().time_factor * trimmed_mean(seconds_) : 0;
  const std::int64_t units = context_.load.units_for(fixed ? target : open_.group().allreduce_max(pure));
  LoadUse load{.units = units, .tests = context_.options.progress};
  with_load_ = true;
  std::vector<double> with_load, computing, unused(repetition_seconds_.size());
  std::int64_t done = 0;
  for (const BatchPlan& segment : segments_) {
    load.computing = 0;
    const double seconds = run_timed(done, segment, [&](std::int64_t first, std::int64_t repetitions) {
      return batch_->run_with_load(repetitions, timing(), times_from(first, unused), load);
    });
    done += segment.repetitions;
    with_load.push_back(seconds / static_cast<double>(segment.repetitions));
    computing.push_back(load.computing / static_cast<double>(segment.repetitions));
  }
  batch_->conclude(total_);
  const double t_cpu = fixed ? context_.load.seconds_for(units) : trimmed_mean(std::move(computing));
  overlapped_.t_ovrl = context_.world.gather(value_or_nan(trimmed_mean(std::move(with_load))));
  overlapped_.t_cpu = context_.world.gather(value_or_nan(t_cpu));
}

// Runs the batch again while ranks that take no part first compute, for as long as the slowest rank needed
// before, and only then enter MPI.
void PointRun::run_while_target_computes() {
  if (!context_.load.calibrated()) context_.load.calibrate(context_.options.settings.target_cpu_seconds);
  const double pure = trimmed_mean(seconds_) * static_cast<double>(total_);
  const std::int64_t units = context_.load.units_for(context_.world.allreduce_max(pure));
  for (int i = 0; i < context_.options.settings.barriers; ++i) context_.world.barrier();
  if (!is_idle() && !batch_->takes_part()) context_.load.compute(units);
  const double seconds = batch_->run(total_, Timing::total, {});
  context_.world.barrier();
  overlapped_.t_ovrl = context_.world.gather(value_or_nan(seconds / static_cast<double>(total_)));
}

Measurement PointRun::measurement() {
  PointTimes times{.seconds = gather_means()};
  times.overlapped = std::move(overlapped_);
  const bool in_turns = context_.options.thread_level == ThreadLevel::serialized;
  if (in_turns && plan_.table.timed_threads() > 1) times.waiting = gather_by_thread(waiting_);
  if (plan_.gated) {
    gather_arrivals(times);
  } else if (context_.options.every_repetition()) {
    times.repetition_seconds = gather_repetition_seconds();
  }
  if (settings_.check) times.defects = context_.world.gather(static_cast<double>(wrong_));
  if (plan_.spec().overlaps() && settings_.drift) times.load_drift = drift_of_load();
  times.hints = batch_->hints();
  if (context_.world.rank() != 0) return {.bytes = point_.bytes, .repetitions = total_, .rows = {}};
  Measurement measured =
      measurement_of(plan_.table, point_.bytes, total_, point_.in_flight, std::move(times));
  measured.fewer_in_flight = point_.fewer_in_flight();
  for (Row& row : measured.rows) add_observations(row);
  return measured;
}

// Gathers the mean of each rank or thread, in the order of world ranks and of threads within each rank.
std::vector<double> PointRun::gather_means() {
  if (plan_.table.timed_threads() == 1) return context_.world.gather(value_or_nan(trimmed_mean(seconds_)));
  return gather_by_thread(thread_seconds_);
}

std::vector<double> PointRun::gather_by_thread(const std::vector<std::vector<double>>& thread_seconds) {
  const auto threads = static_cast<std::size_t>(plan_.table.timed_threads());
  std::vector<double> mine(threads, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < thread_seconds.size(); ++i)
    mine[i] = value_or_nan(trimmed_mean(thread_seconds[i]));
  std::vector<double> all;
  for (const std::vector<double>& rank_values : context_.world.gather(std::span<const double>(mine))) {
    all.insert(all.end(), rank_values.begin(), rank_values.end());
  }
  return all;
}

// An entry of observed_ has a rank's counters, if any, followed by its two probes, if any.
void PointRun::add_observations(Row& row) {
  if (observed_.empty()) return;
  const std::vector<int> ranks = ranks_of(row);
  if (settings_.exchanges > 0) {
    PassSample::Probes& slowest = probes_.emplace_back();
    for (const int rank : ranks) {
      const Reading& mine = observed_[static_cast<std::size_t>(rank)];
      slowest.before = std::max(slowest.before, mine[mine.size() - 2]);
      slowest.after = std::max(slowest.after, mine.back());
    }
  }
  if (!reading_) return;
  if (row.group >= 0 && !settings_.readers.empty()) {  // many rows, so each visits only some ranks
    assert(settings_.exchanges == 0);                  // no probes after the counters
    row.evidence = evidence_of(observed_, ranks, settings_.readers[static_cast<std::size_t>(row.group)]);
    return;
  }
  std::vector<Reading> counters = observed_;
  if (settings_.exchanges > 0) {
    for (Reading& mine : counters) mine.resize(mine.size() - 2);
  }
  row.evidence = evidence_of(counters, ranks);
}

// Returns the ranks of the row's group, or of all groups.
std::vector<int> PointRun::ranks_of(const Row& row) const {
  const std::vector<std::vector<int>>& groups = plan_.table.grouping.groups;
  if (row.group >= 0) return groups[static_cast<std::size_t>(row.group)];
  std::vector<int> all;
  for (const std::vector<int>& group : groups) all.insert(all.end(), group.begin(), group.end());
  return all;
}

// Returns, at rank 0, the slowest rank's time of every repetition, one series per row.
std::vector<std::vector<double>> PointRun::gather_repetition_seconds() {
  for (double& seconds : repetition_seconds_) seconds *= factor_of(plan_.table, point_.in_flight);
  if (plan_.table.multi != Multi::each_group) return {context_.world.reduce_max(repetition_seconds_)};
  return gather_series(is_idle() ? std::vector<double>() : open_.group().reduce_max(repetition_seconds_));
}

// Returns, at rank 0, the series of each group, which the group's first rank has.
std::vector<std::vector<double>> PointRun::gather_series(const std::vector<double>& group_values) {
  const std::vector<std::vector<int>>& groups = plan_.table.grouping.groups;
  std::vector<std::vector<double>> series(context_.world.rank() == 0 ? groups.size() : 0);
  // Gathers in parts, because rank 0 can gather only a limited number of bytes at once.
  const auto count =
      static_cast<std::size_t>(context_.world.allreduce_max(static_cast<double>(group_values.size())));
  const std::size_t most = static_cast<std::size_t>(context_.world.max_gathered_bytes()) / sizeof(double);
  const std::size_t part = std::max<std::size_t>(1, most / groups.size());
  for (std::size_t begin = 0; begin < count; begin += part) {
    const auto mine = std::span(group_values).subspan(std::min(begin, group_values.size()));
    const std::vector<std::vector<double>> all =
        context_.world.gather(mine.first(std::min(part, mine.size())));
    for (std::size_t i = 0; i < series.size(); ++i) {
      const std::vector<double>& first_rank_values = all[static_cast<std::size_t>(groups[i].front())];
      series[i].insert(series[i].end(), first_rank_values.begin(), first_rank_values.end());
    }
  }
  return series;
}

void PointRun::synchronize_clocks(double oldest) {
  if (context_.world.allreduce_max(context_.clock->age()) < oldest) return;
  const bool unchanged = context_.clock->synchronize();
  if (settings_.synchronized) settings_.synchronized(unchanged);
}

void PointRun::set_arrival() {
  const ArrivalChoice choice = context_.options.arrival.value_or(ArrivalChoice{});
  width_ = choice.width;
  if (choice.relative) width_ = settings_.width ? *settings_.width : choice.width * even_median();
  open_.set_arrival({choice.pattern, width_});
}

// Returns this rank's seconds, including the time that it waits for agreed times.
double PointRun::run_at_agreed_times(std::int64_t repetitions, std::span<double> stamps) {
  const double begun = context_.host.now();
  batch_->run(repetitions, Timing::at_agreed_times, stamps);
  return context_.host.now() - begun;
}

// Measures until a repetition of each group is valid, but begins none after a tenth of a sample's time.
double PointRun::even_median() {
  constexpr double most = 40;  // repetitions
  const double sample = context_.options.settings.seconds_per_sample;
  const double longest = sample > 0 ? 0.1 * sample : std::numeric_limits<double>::infinity();
  synchronize_clocks(oldest_clock_in_passes);
  open_.set_arrival({});
  batch_->prepare();
  batch_->run(1, Timing::total, {});
  std::vector<double> stamps(stamps_each);
  const double seconds = context_.world.allreduce_max(run_at_agreed_times(1, stamps));
  const auto repetitions =
      static_cast<std::int64_t>(std::clamp(longest / std::max(seconds, 1e-9), 1.0, most));
  stamps.resize(static_cast<std::size_t>(stamps_each * repetitions));
  double elapsed = 0;
  std::int64_t tried = 0;
  do {
    elapsed += context_.world.allreduce_max(run_at_agreed_times(repetitions, stamps));
    tried += repetitions;
  } while (count_valid(stamps) == 0 && tried < repetitions_to_give_up && elapsed < longest);
  const double mine = summarize_arrivals(arrival_series(stamps)).from_last;
  const bool first_of_group = !is_idle() && open_.group().rank() == 0;
  if (context_.world.any(first_of_group && std::isnan(mine))) {
    throw PointError{
        {.cause = Failure::Cause::unavailable,
         .bytes = point_.bytes,
         .detail = "no repetition with even arrival was valid, so the width for -arrival is unknown"}};
  }
  return context_.world.allreduce_max(first_of_group ? mine : 0);
}

std::int64_t PointRun::count_valid(std::span<const double> stamps) {
  const std::size_t repetitions = stamps.size() / stamps_each;
  std::vector<double> late(repetitions);
  for (std::size_t i = 0; i < repetitions; ++i) {
    late[i] = is_late(&stamps[stamps_each * i], context_.clock->tolerance()) ? 1 : 0;
  }
  const bool is_active = !is_idle();
  ArrivalSeries series;
  if (is_active) series.late = open_.group().reduce_max(late);
  const bool first_of_group = is_active && open_.group().rank() == 0;
  const double valid = static_cast<double>(first_of_group ? series.valid() : repetitions);
  return static_cast<std::int64_t>(-context_.world.allreduce_max(-valid));
}

// Returns the series at the first rank of each group; empty elsewhere.
ArrivalSeries PointRun::arrival_series(std::span<const double> stamps) {
  if (is_idle()) return {};
  const CommonClock& clock = *context_.clock;
  ProcessGroup& group = open_.group();
  std::vector<double> begun, ended, late;
  for (std::size_t i = 0; i < stamps.size(); i += stamps_each) {
    begun.push_back(clock.common_time(stamps[i + 1]));
    ended.push_back(clock.common_time(stamps[i + 2]));
    late.push_back(is_late(&stamps[i], clock.tolerance()) ? 1 : 0);
  }
  const auto least = [&](std::vector<double> values) {
    const auto negated = [](double value) { return -value; };
    std::ranges::transform(values, values.begin(), negated);
    values = group.reduce_max(values);
    std::ranges::transform(values, values.begin(), negated);
    return values;
  };
  return {.first_arrival = least(begun),
          .last_arrival = group.reduce_max(begun),
          .first_exit = least(ended),
          .last_exit = group.reduce_max(ended),
          .late = group.reduce_max(late)};
}

void PointRun::gather_arrivals(PointTimes& times) {
  const auto stamps = std::span(repetition_seconds_).first(static_cast<std::size_t>(stamps_each * total_));
  const ArrivalSeries series = arrival_series(stamps);
  const CommonClock& clock = *context_.clock;
  const double bound = is_idle() ? 0 : std::max(clock.bound(stamps[1]), clock.bound(stamps.back()));
  times.clock_bound = context_.world.allreduce_max(bound);
  times.clock_disagreement = clock.disagreement();
  if (context_.options.arrival) times.arrival_width = width_;
  times.given_up = total_ < planned_;
  GroupArrivals mine = summarize_arrivals(series);
  if (!is_idle()) find_late_and_last(mine, series, times.clock_bound);
  const std::array all{mine.from_last,     mine.from_first, mine.start_skew,   mine.exit_skew,
                       mine.valid_percent, mine.late_rank,  mine.last_out_rank};
  const std::vector<std::vector<double>> rank_stamps = context_.world.gather(std::span<const double>(all));
  const std::vector<std::vector<int>>& groups = plan_.table.grouping.groups;
  for (std::size_t i = 0; i < groups.size() && !rank_stamps.empty(); ++i) {
    const std::vector<double>& values = rank_stamps[static_cast<std::size_t>(groups[i].front())];
    times.arrivals.push_back({values[0], values[1], values[2], values[3], values[4], values[5], values[6]});
  }
  if (!context_.options.every_repetition()) return;
  std::vector<std::vector<double>> by_group = gather_series(series.times_from_last());
  if (plan_.table.multi == Multi::each_group || by_group.size() < 2) {
    times.repetition_seconds = std::move(by_group);
    return;
  }
  // If a group has no valid repetition, the row has no times.
  const auto time = [](const GroupArrivals& group) {
    return std::isnan(group.from_last) ? std::numeric_limits<double>::infinity() : group.from_last;
  };
  const auto slowest = std::ranges::max_element(times.arrivals, {}, time);
  times.repetition_seconds = {
      std::move(by_group[static_cast<std::size_t>(slowest - times.arrivals.begin())])};
}

// Finds which rank was late most often and which rank exited last, by more than the error of the clocks. The
// result is at the first rank of the group.
void PointRun::find_late_and_last(GroupArrivals& found, const ArrivalSeries& series, double bound) {
  ProcessGroup& group = open_.group();
  const std::vector<int>& ranks =
      plan_.table.grouping
          .groups[static_cast<std::size_t>(plan_.table.grouping.group_of(context_.world.rank()))];
  const std::size_t repetitions = static_cast<std::size_t>(total_);
  const CommonClock& clock = *context_.clock;
  std::vector<double> last = series.last_exit, late = series.late, ended(repetitions);
  last.resize(repetitions);
  late.resize(repetitions);
  group.broadcast(std::span(last));
  group.broadcast(std::span(late));
  double late_count = 0, last_count = 0;
  for (std::size_t i = 0; i < repetitions; ++i) {
    const double* const stamps = &repetition_seconds_[stamps_each * i];
    ended[i] = clock.common_time(stamps[2]);
    if (is_late(stamps, clock.tolerance())) ++late_count;
    if (ended[i] >= last[i] && !(late[i] > 0)) ++last_count;
  }
  const auto most = [&](double count) {
    const std::vector<double> counts = group.gather(count);
    const auto largest = std::ranges::max_element(counts);
    return counts.empty() || !(*largest > 0) ? -1.0 : static_cast<double>(largest - counts.begin());
  };
  const double late_rank = most(late_count);
  std::array chosen{most(last_count)};
  group.broadcast(std::span<double>(chosen));
  const bool is_chosen = group.rank() == static_cast<int>(chosen[0]);
  const std::vector<double> before_all(repetitions, -std::numeric_limits<double>::infinity());
  const std::vector<double> chosen_exits = group.reduce_max(is_chosen ? ended : before_all);
  const std::vector<double> other_exits = group.reduce_max(is_chosen ? before_all : ended);
  if (group.rank() != 0) return;
  if (late_rank >= 0) found.late_rank = ranks[static_cast<std::size_t>(late_rank)];
  const bool root_stays = !context_.options.moves_root(plan_.spec());
  if (chosen[0] < 0 || !root_stays || group.ranks() < 2) return;
  if (median_difference(series, chosen_exits, other_exits) > bound) {
    found.last_out_rank = ranks[static_cast<std::size_t>(chosen[0])];
  }
}

// Returns the drift of the load on the rank where it is largest. A rank whose load has changed calibrates it
// again.
double PointRun::drift_of_load() {
  const double seconds = context_.options.settings.target_cpu_seconds;
  const double mine = context_.load.drift(seconds);
  if (std::abs(mine) > noticeable_drift) context_.load.calibrate(seconds);
  const double highest = context_.world.allreduce_max(mine), lowest = -context_.world.allreduce_max(-mine);
  return highest > -lowest ? highest : lowest;
}

// Requires space for everything that the point writes, if the free space is known. Throws PointError.
void PointRun::require_space() const {
  const std::int64_t needed = times(point_.planned, point_.bytes, plan_.table.grouping.group_count());
  const double least = -context_.world.allreduce_max(-static_cast<double>(context_.host.free_bytes()));
  constexpr auto unlimited = static_cast<double>(max_size);
  if (static_cast<double>(needed) <= least && needed < max_size) return;
  throw PointError{{.cause = Failure::Cause::no_space,
                    .bytes = point_.bytes,
                    .needed_bytes = needed,
                    .free_bytes = least < unlimited ? static_cast<std::int64_t>(least) : max_size,
                    .detail = "not enough space for the files of this row"}};
}

// Errors of calls on files do not end the job, so all ranks agree whether there was one. Throws PointError.
void PointRun::require_no_error(const std::string& mine) const {
  if (!context_.world.any(!mine.empty())) return;
  const std::vector<std::string> errors = context_.world.gather(mine);
  std::string detail;
  for (std::size_t rank = 0; rank < errors.size() && detail.empty(); ++rank) {
    if (!errors[rank].empty()) detail = "rank " + std::to_string(rank) + ": " + errors[rank];
  }
  throw PointError{{.cause = Failure::Cause::io_error, .bytes = point_.bytes, .detail = detail}};
}

// Returns the value of a rank that took part; NaN on other ranks.
double PointRun::value_or_nan(double seconds) const {
  return batch_->takes_part() ? seconds : std::numeric_limits<double>::quiet_NaN();
}

bool PointRun::is_idle() const { return plan_.table.grouping.group_of(context_.world.rank()) < 0; }

Timing PointRun::timing() const {
  if (plan_.gated) return Timing::at_agreed_times;
  if (plan_.synchronized) return Timing::synchronized;
  return context_.options.every_repetition() ? Timing::every_repetition : Timing::total;
}

double PointRun::pause_seconds() const {
  const double seconds = seconds_.empty() ? 0 : trimmed_mean(seconds_) * static_cast<double>(total_);
  return std::max(0.1, seconds / 10);
}

}  // namespace openimb
