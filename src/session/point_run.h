// The samples of one point, from warm-up to the Measurement.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "result/statistics.h"
#include "session/session.h"

namespace openimb {

/// A table, or one point of it, for as long as the object lives.
class UnderWay {
 public:
  UnderWay(Surroundings& surroundings, const Table& table, std::optional<std::int64_t> bytes = std::nullopt,
           std::optional<int> partner = std::nullopt)
      : surroundings_(surroundings), outside_(bytes ? whole(table) : Activity{}) {
    Activity inside = whole(table);
    if (table.spec.kind != Kind::synchronization) inside.bytes = bytes;
    inside.partner = partner;
    surroundings_.activity(inside);
  }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;
  ~UnderWay() { surroundings_.activity(outside_); }

 private:
  static Activity whole(const Table& table) { return {table.spec.name, table.layout.processes, {}}; }

  Surroundings& surroundings_;
  const Activity outside_;
};

/// Thrown by all ranks at once: the point under way becomes this row.
struct PointFailed {
  Failure failure;
};

/// How the samples of a point are taken, and what goes with them.
struct PointCourse {
  std::unique_ptr<Sampling> sampling;
  std::function<bool()> stopping;              ///< whether the launch is to end; collective
  std::int64_t gone = 0;                       ///< repetitions measured in earlier passes
  bool check = false;                          ///< with a check pass
  bool drift = false;                          ///< the load is looked after
  int exchanges = 0;                           ///< of a probe before and one behind what is timed; 0: none
  std::vector<std::vector<int>> readers = {};  ///< by group: ranks that read its hosts; empty: of all hosts
};

/// Collective over the world to make, to use and to destroy.
class PointRun {
 public:
  /// Throws PointFailed.
  PointRun(const SessionParts& parts, const TablePlan& plan, OpenTable& open, const Point& point,
           PointCourse course);
  /// At rank 0 with rows, elsewhere without; nothing where the launch is to end and others may have measured
  /// at the same time. Throws PointFailed.
  std::optional<Measurement> measure();
  /// At rank 0, by row: what the probes of the row's ranks saw.
  const std::vector<PassSample::Probes>& probes() const { return probes_; }
  /// Seconds that one measured repetition took on the slowest rank; and all that was timed, on this rank.
  double seconds_each() const { return seconds_each_; }
  double measured_seconds() const { return measured_seconds_; }
  /// That probes and readings of counters took, on this rank.
  double observing_seconds() const { return observing_seconds_; }
  /// How long -msg_pause waits behind this point.
  double pause_seconds() const;

 private:
  /// A run of `repetitions`, `first` of which have gone before; seconds.
  using Run = std::function<double(std::int64_t first, std::int64_t repetitions)>;

  bool take_samples();
  double take(const Step& step);
  double timed(std::int64_t first, const Step& step, const Run& run);
  void begin_measuring(std::int64_t total);
  void run_with_load();
  void run_while_target_computes();
  void begin_observing();
  void end_observing();
  Measurement measurement();
  void add_observations(Row& row);
  std::vector<int> ranks_of(const Row& row) const;
  std::vector<std::vector<double>> gather_samples();
  double drift_of_load();
  void prepare();
  void require_space() const;
  void require_no_error(const std::string& mine) const;
  double mean_of(double seconds) const;
  std::vector<double> gather_means();
  std::vector<double> gather_by_thread(const std::vector<std::vector<double>>& of_threads);
  bool idle() const;
  Timing timing() const;

  const SessionParts& parts_;
  const TablePlan& plan_;
  OpenTable& open_;
  const Point& point_;
  const UnderWay under_way_;  ///< until the batch is gone
  PointCourse course_;
  std::unique_ptr<Batch> batch_;

  std::int64_t total_ = 0;                       ///< measured repetitions
  std::int64_t wrong_ = 0;                       ///< bytes, of -check
  std::vector<Step> segments_;                   ///< measured
  std::vector<double> seconds_;                  ///< of each, on this rank, per repetition
  std::vector<std::vector<double>> of_threads_;  ///< the same by thread, where there are several
  std::vector<std::vector<double>> waiting_;     ///< of them for turns, where threads take turns
  std::vector<double> each_;                     ///< of each repetition, where that is wanted
  bool with_load_ = false;                       ///< computes in each repetition
  Overlapped overlapped_;
  double seconds_each_ = 0;
  double measured_seconds_ = 0;
  double observing_seconds_ = 0;
  double probe_before_ = 0;
  std::optional<Reading> reading_;  ///< then
  std::vector<Reading> observed_;   ///< by world rank, at rank 0
  std::vector<PassSample::Probes> probes_;
};

}  // namespace openimb
