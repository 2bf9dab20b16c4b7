// The batches of one point, from warm-up to the Measurement.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "result/statistics.h"
#include "session/session.h"

namespace openimb {

/// Announces a table, or one point of it, as this rank's activity for as long as the object lives.
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

/// Seconds after which clocks are synchronized again between samples.
inline constexpr double oldest_clock_in_passes = 0.1;

/// How the batches of a point follow each other, and what is measured with them.
struct PointSettings {
  std::unique_ptr<Sampling> sampling;
  std::function<bool()> stopping;  ///< whether the launch must end; collective
  std::int64_t completed = 0;      ///< repetitions measured in earlier passes
  bool check = false;              ///< run the check pass
  bool drift = false;              ///< check the calibration of the load afterwards
  /// With -sync_start clock. Seconds after which the clocks are synchronized again, before what is measured;
  /// 0: always, and also after it, where a row fails whose clocks were set.
  double oldest_clock = 0;
  std::function<void(bool same)> synchronized =
      {};                            ///< told of each synchronization: whether no clock was set
  std::optional<double> width = {};  ///< of -arrival, where that is known
  int exchanges = 0;  ///< of each of the two probes, before and after what is timed; 0: no probes
  /// By group: ranks that read the counters of its hosts; empty: the reading rank of every host.
  std::vector<std::vector<int>> readers = {};
};

/// Collective over the world to make, to use and to destroy.
class PointRun {
 public:
  /// Throws PointError.
  PointRun(const SessionParts& parts, const TablePlan& plan, OpenTable& open, const Point& point,
           PointSettings settings);
  /// At rank 0 with rows, on other ranks without; nothing where the launch must end and other launches may
  /// have measured at the same time. Throws PointError.
  std::optional<Measurement> measure();
  /// -arrival xN: seconds from the last arrival to the last exit with even arrival, the largest of any group;
  /// equal on all ranks. Throws PointError where no repetition is valid.
  double even_median();
  /// Measured repetitions in which no rank of any group was late; equal on all ranks.
  std::int64_t valid() const { return valid_in_all_; }
  /// At rank 0, by row: the probes of the row's ranks.
  const std::vector<PassSample::Probes>& probes() const { return probes_; }
  /// Seconds of one measured repetition on the slowest rank; and of everything that was timed, on this rank.
  double seconds_each() const { return seconds_each_; }
  double measured_seconds() const { return measured_seconds_; }
  /// Seconds of probes and readings of counters, on this rank.
  double observing_seconds() const { return observing_seconds_; }
  /// Seconds that -msg_pause waits after this point.
  double pause_seconds() const;

 private:
  /// Runs `repetitions`, after `first` earlier ones; returns seconds.
  using Run = std::function<double(std::int64_t first, std::int64_t repetitions)>;

  bool run_batches();
  double take(const BatchPlan& step);
  double timed(std::int64_t first, const BatchPlan& step, const Run& run);
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
  std::int64_t valid_among(std::span<const double> stamps);
  ArrivalSeries series_of(std::span<const double> stamps);
  void gather_arrivals(PointTimes& times);
  void find_ranks(GroupArrivals& found, const ArrivalSeries& series, double bound);
  double run_at_agreed_times(std::int64_t repetitions, std::span<double> stamps);
  double drift_of_load();
  void require_space() const;
  void require_no_error(const std::string& mine) const;
  double mean_of(double seconds) const;
  std::vector<double> gather_means();
  std::vector<double> gather_by_thread(const std::vector<std::vector<double>>& thread_seconds);
  bool idle() const;
  Timing timing() const;

  const SessionParts& parts_;
  const TablePlan& plan_;
  OpenTable& open_;
  const Point& point_;
  const ActivityScope activity_;  ///< outlives the batch
  PointSettings settings_;
  std::unique_ptr<Batch> batch_;  ///< decorated (session/decorated_batch.h)

  std::int64_t total_ = 0;                           ///< measured repetitions
  std::int64_t wrong_ = 0;                           ///< bytes, of -check
  std::vector<BatchPlan> segments_;                  ///< measured
  std::vector<double> seconds_;                      ///< of each segment, on this rank, per repetition
  std::vector<std::vector<double>> thread_seconds_;  ///< the same by thread, where there are several
  std::vector<std::vector<double>> waiting_;  ///< the part of them spent waiting, where threads take turns
  std::vector<double> repetition_seconds_;    ///< of each repetition, or its stamps, where these are wanted
  double width_ = 0;                          ///< of -arrival
  std::int64_t planned_ = 0;                  ///< repetitions, had enough of them been valid
  std::int64_t valid_ = 0,
               valid_in_all_ = 0;  ///< repetitions in which no rank was late: of the last batch, of all
  double seconds_in_all_ = 0;      ///< measured, without what gates take
  bool with_load_ = false;         ///< computes in each repetition
  Overlapped overlapped_;
  double seconds_each_ = 0;
  double measured_seconds_ = 0;
  double observing_seconds_ = 0;
  double probe_before_ = 0;
  std::optional<Reading> reading_;  ///< at the same time
  std::vector<Reading> observed_;   ///< by world rank, at rank 0
  std::vector<PassSample::Probes> probes_;
};

}  // namespace openimb
