// Runs the batches of one point, from warm-up to the Measurement.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "result/statistics.h"
#include "session/session.h"

namespace openimb {

/// Announces a table, or one point of it, as this rank's activity during the lifetime of the object.
class ActivityScope {
 public:
  ActivityScope(HostServices& host, const Table& table, std::optional<std::int64_t> bytes = std::nullopt,
                std::optional<int> partner = std::nullopt)
      : host_(host), outside_(bytes ? table_activity(table) : Activity{}) {
    Activity inside = table_activity(table);
    if (table.spec.kind != Kind::synchronization) inside.bytes = bytes;
    inside.partner = partner;
    host_.activity(inside);
  }
  ActivityScope(const ActivityScope&) = delete;
  ActivityScope& operator=(const ActivityScope&) = delete;
  ~ActivityScope() { host_.activity(outside_); }

 private:
  static Activity table_activity(const Table& table) {
    return {.benchmark = table.spec.name, .processes = table.grouping.processes, .variant = table.variant};
  }

  HostServices& host_;
  const Activity outside_;
};

/// Thrown by all ranks at the same time: the point gets this failure row.
struct PointError {
  Failure failure;
};

/// Age in seconds at which clocks are synchronized again between samples.
inline constexpr double oldest_clock_in_passes = 0.1;

/// How a PointRun measures its point.
struct PointSettings {
  std::unique_ptr<Sampling> sampling;
  std::function<bool()> stopping;  ///< whether the launch must end; collective
  std::int64_t completed = 0;      ///< repetitions measured in earlier passes
  bool check = false;              ///< run the check pass
  bool drift = false;              ///< check the calibration of the load afterwards
  /// With -sync_start clock: age in seconds at which clocks are synchronized again before measuring. 0:
  /// always, and once more after measuring; the row fails if a clock was set.
  double oldest_clock = 0;
  std::function<void(bool unchanged)> synchronized =
      {};                            ///< called after each synchronization; `unchanged`: no clock was set
  std::optional<double> width = {};  ///< width of -arrival, in seconds; measured if empty
  int exchanges = 0;  ///< exchanges in each probe, before and after the timed region; 0: no probes
  /// By group, the ranks whose host counters are used; empty: the rank of each of its hosts that reads them.
  std::vector<std::vector<int>> readers = {};
};

/// Construction, calls and destruction are collective over the world.
class PointRun {
 public:
  /// Throws PointError.
  PointRun(const SessionContext& context, const TablePlan& plan, OpenTable& open, const Point& point,
           PointSettings settings);
  /// Measures the point. Only rank 0's result has rows. Returns nothing, on all ranks, if the launch must end
  /// and another launch may have measured at the same time. Throws PointError.
  std::optional<Measurement> measure();
  /// Measures, for -arrival xN, the median seconds from the last arrival to the last exit with even arrival,
  /// and returns the value of the slowest group. It is equal on all ranks. Throws PointError if no repetition
  /// is valid.
  double even_median();
  /// Returns the number of measured repetitions in which no rank of any group was late; equal on all ranks.
  std::int64_t valid() const { return total_valid_; }
  /// Returns, at rank 0, the probes of each row's ranks.
  const std::vector<PassSample::Probes>& probes() const { return probes_; }
  /// Returns the seconds of one measured repetition on the slowest rank.
  double seconds_each() const { return seconds_each_; }
  /// Returns the seconds of all timed regions on this rank.
  double measured_seconds() const { return measured_seconds_; }
  /// Returns the seconds of probes and readings of counters on this rank.
  double observing_seconds() const { return observing_seconds_; }
  /// Returns the seconds that -msg_pause waits after this point.
  double pause_seconds() const;

 private:
  /// Runs `repetitions`, after `first` earlier ones; returns seconds.
  using Run = std::function<double(std::int64_t first, std::int64_t repetitions)>;

  bool run_batches();
  double run_batch(const BatchPlan& plan);
  double run_timed(std::int64_t first, const BatchPlan& plan, const Run& run);
  void begin_measuring(std::int64_t total);
  void run_with_load();
  void run_while_target_computes();
  void begin_observing();
  void end_observing();
  Measurement measurement();
  void add_observations(Row& row);
  std::vector<int> ranks_of(const Row& row) const;
  std::vector<std::vector<double>> gather_repetition_seconds();
  std::vector<std::vector<double>> gather_series(const std::vector<double>& group_values);
  void synchronize_clocks(double oldest);
  void set_arrival();
  std::int64_t count_valid(std::span<const double> stamps);
  ArrivalSeries arrival_series(std::span<const double> stamps);
  void gather_arrivals(PointTimes& times);
  void find_late_and_last(GroupArrivals& found, const ArrivalSeries& series, double bound);
  double run_at_agreed_times(std::int64_t repetitions, std::span<double> stamps);
  double drift_of_load();
  void require_space() const;
  void require_no_error(const std::string& mine) const;
  double value_or_nan(double seconds) const;
  std::vector<double> gather_means();
  std::vector<double> gather_by_thread(const std::vector<std::vector<double>>& thread_seconds);
  bool is_idle() const;
  Timing timing() const;

  const SessionContext& context_;
  const TablePlan& plan_;
  OpenTable& open_;
  const Point& point_;
  const ActivityScope activity_;  ///< outlives the batch
  PointSettings settings_;
  std::unique_ptr<Batch> batch_;  ///< decorated (session/decorated_batch.h)

  std::int64_t total_ = 0;           ///< measured repetitions
  std::int64_t wrong_ = 0;           ///< wrong bytes that -check found
  std::vector<BatchPlan> segments_;  ///< measured so far
  std::vector<double> seconds_;      ///< seconds per repetition of each segment, on this rank
  std::vector<std::vector<double>>
      thread_seconds_;                        ///< seconds per repetition by thread, if there are several
  std::vector<std::vector<double>> waiting_;  ///< the part spent waiting, if threads take turns
  std::vector<double> repetition_seconds_;  ///< the time or the stamps of each repetition, if they are needed
  double width_ = 0;                        ///< of -arrival, in seconds
  std::int64_t planned_ = 0;                ///< repetitions planned; fewer are measured if too few are valid
  std::int64_t valid_ = 0,
               total_valid_ = 0;  ///< repetitions in which no rank was late: in the last batch, in all
  double total_seconds_ = 0;      ///< measured seconds, without waiting for agreed times
  bool with_load_ = false;        ///< computes in each repetition
  OverlapTimes overlapped_;
  double seconds_each_ = 0;
  double measured_seconds_ = 0;
  double observing_seconds_ = 0;
  double probe_before_ = 0;
  std::optional<Reading> reading_;  ///< counters, read with probe_before_
  std::vector<Reading> observed_;   ///< by world rank, at rank 0
  std::vector<PassSample::Probes> probes_;
};

}  // namespace openimb
