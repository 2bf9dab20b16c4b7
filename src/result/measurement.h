// Measured values and facts about a run, as plain data that does not depend on MPI.
#pragma once

#include <array>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "model/component.h"
#include "model/figures.h"
#include "model/names.h"
#include "model/options.h"
#include "model/table.h"
#include "result/evidence.h"
#include "result/interval.h"

namespace openimb {

/// Quantiles of the times of repetitions, in seconds. The time of a repetition is the slowest rank's.
inline constexpr std::array<double, 12> tail_quantiles = {0,    0.10, 0.25,  0.50,  0.75,   0.90,
                                                          0.95, 0.99, 0.995, 0.999, 0.9999, 1};
inline constexpr std::array<const char*, 12> tail_names = {"min", "p10", "p25",   "p50",   "p75",    "p90",
                                                           "p95", "p99", "p99.5", "p99.9", "p99.99", "max"};
using Tail = std::array<double, 12>;

/// Statistics of the samples of a row that was measured in passes (result/passes.h).
struct SampleStatistics {
  struct State {
    double level = 0;  ///< median of the probes, in seconds per exchange
    int samples = 0;
    double median = 0;  ///< median of the first precision target
  };
  enum class Shortfall { none, budget, passes, interrupted };

  int samples = 0;
  int used = 0;                           ///< samples in the reference state, or all samples
  std::optional<Interval> interval = {};  ///< 95 %, of the table's first precision target, in seconds
  /// Half width of the interval as a fraction of the median; the largest of all precision targets.
  std::optional<double> half_width;
  double effective = 0;  ///< number of independent samples that would give an interval of the same width
  std::vector<State> states = {};  ///< of the machine, fastest first
  int between_states = 0;          ///< samples whose two probes are in different states
  bool reference = true;           ///< whether only samples of the fastest state are used
  std::vector<State> modes = {};   ///< levels of the samples used, if they lie at two or three; seconds
  Shortfall shortfall = Shortfall::none;  ///< why the interval is wider than requested
};
template <>
inline constexpr Names<4> names_of<SampleStatistics::Shortfall> = {"none", "budget", "passes", "interrupted"};
/// The reasons in text.
inline constexpr Names<4> shortfall_reasons = {"", "the budget was spent", "all passes are done",
                                               "the launch was interrupted"};
constexpr const char* reason_of(SampleStatistics::Shortfall shortfall) {
  return shortfall_reasons[static_cast<std::size_t>(shortfall)];
}

/// The figures of a row (model/figures.h).
class Figures {
 public:
  Figures() { values_.fill(std::numeric_limits<double>::quiet_NaN()); }
  bool has(Figure figure) const { return !std::isnan((*this)[figure]); }
  double& operator[](Figure figure) { return values_.at(static_cast<std::size_t>(figure)); }
  double operator[](Figure figure) const { return values_.at(static_cast<std::size_t>(figure)); }
  /// Removes the figures that passes combine in this way.
  void drop(PassCombination passes) {
    for (const FigureInfo& facts : figures) {
      if (facts.passes == passes) (*this)[facts.figure] = std::numeric_limits<double>::quiet_NaN();
    }
  }

 private:
  std::array<double, std::size(figures)> values_;  ///< NaN: the row does not have it
};

/// A load_drift (model/figures.h) beyond which t_CPU is unreliable and the load is calibrated again.
inline constexpr double noticeable_drift = 0.1;

/// Where time_max was measured.
struct SlowestRank {
  int rank = 0;  ///< of the world
  int thread = 0;
  auto operator<=>(const SlowestRank&) const = default;
};

/// Facts about repetitions that begin at agreed times. Ranks are world ranks.
struct Arrivals {
  std::optional<int> late_rank = {};  ///< the rank that was late most often
  std::optional<int> last_out_rank =
      {};                 ///< the last rank to exit, if the clocks are precise enough and the root is fixed
  bool given_up = false;  ///< too few repetitions were valid
};

/// One line of a table: one group, or all groups together.
struct Row : Figures {
  int group = -1;        ///< index into Grouping::groups; -1: all groups (or the only one)
  int participants = 0;  ///< processes of a group that have a time
  SlowestRank slowest;
  Arrivals arrivals;
  std::vector<double> thread_seconds;  ///< time_max of each thread over the ranks; empty with one thread
  /// If threads take turns: the part of thread_seconds spent waiting for the turn.
  std::vector<double> thread_waiting;
  std::vector<std::pair<std::string, std::string>> hints;  ///< that MPI uses for the file
  std::optional<std::int64_t> defects;     ///< received bytes that differ from what a correct MPI delivers
  std::optional<Tail> tail;                ///< with -show_tail or -dumpfile
  std::vector<double> repetition_seconds;  ///< if there is a tail: seconds of each repetition, in order
  std::optional<Evidence> evidence;        ///< empty if the system has no counters
  std::optional<SampleStatistics> passes;
};

/// The rows of one point.
struct Measurement {
  std::int64_t bytes = 0;
  std::int64_t repetitions = 0;
  std::vector<Row> rows;
  /// In passes: number of the first row within the launch. The rows of further groups follow it.
  std::optional<int> first_row = {};
  std::optional<int> fewer_in_flight = {};  ///< messages in flight, if -window_size exceeds -mem
};

/// One sample of a point in one pass.
struct PassSample {
  struct Probes {
    double before = 0, after = 0;  ///< seconds per exchange on the slowest rank; NaN: no probe
  };
  int pass = 0;   ///< from 1 on
  double at = 0;  ///< seconds from the start of the session to the end of the sample
  Measurement measurement;
  std::vector<Probes> probes;  ///< by row
};

/// A pair of endpoints at one length, in a round of a pass.
struct PairSample {
  PairPlace place;
  std::int64_t bytes = 0;
  std::int64_t repetitions = 0;
  double seconds = 0;  ///< per message: at the slower endpoint; with a hub, at the other endpoint
  double seconds_of_a = 0, seconds_of_b = 0;
  double at = 0;  ///< seconds from the start of the session to the end of the sample
  std::optional<std::int64_t> defects = {};
  std::optional<Evidence> evidence = {};
};

/// How the launch ended.
struct Ending {
  enum class State { complete, interrupted, aborted };
  State state = State::complete;
  std::string reason;             ///< "SIGTERM", ...; empty when complete
  bool all_respond = true;        ///< all ranks continue to MPI_Finalize
  std::int64_t measured = 0;      ///< points with a row
  std::int64_t failed = 0;        ///< points with a failure row
  std::int64_t limited = 0;       ///< failed points that exceed a limit (Failure::limit)
  std::int64_t defects = 0;       ///< over all points
  std::optional<double> at = {};  ///< time of day of rank 0, seconds since 1970-01-01 UTC
  int passes = 0;                 ///< passes that were begun; 0: not measured in passes
  bool probes = true;             ///< in passes: whether samples had probes
  double seconds = 0;             ///< in passes: seconds of the session
  double measuring_seconds = 0;   ///< in passes: seconds in timed regions
  double observing_seconds = 0;   ///< in passes: seconds in probes and readings of counters
};
template <>
inline constexpr Names<3> names_of<Ending::State> = {"complete", "interrupted", "aborted"};

/// Where a rank runs.
struct RankPlace {
  std::string host;
  std::string cpus;  ///< Linux list syntax, "0-3,8"; empty: unknown
};

/// IMB-FABRIC: an endpoint, and the rank that represents it.
struct EndpointFacts {
  int rank = 0;  ///< in the world
  std::string host;
  std::vector<int> cpus;                      ///< CPUs on which the rank may run
  std::optional<int> numa = {}, socket = {};  ///< empty if these CPUs are in several, or unknown
};

/// When the ranks called MPI_Init, and how long it took.
struct Startup {
  double first_began = 0, last_began = 0;  ///< seconds since 1970-01-01 UTC, by the clocks of the hosts
  double shortest = 0, longest = 0;        ///< seconds
  int slowest_rank = 0;
};

/// Facts known before the first point, for the banner and the `run` record.
struct RunFacts {
  std::string component;  ///< "MPI1"
  std::string part;       ///< "MPI-1 part"
  BannerQuirks quirks;
  OutputStyle style = OutputStyle::classic;
  std::string version;   ///< of OpenIMB
  std::string date;      ///< formatted like C's ctime, without the newline
  std::string date_iso;  ///< 2026-01-31T12:00:00Z
  std::string machine, system, release, kernel;
  std::string mpi_version;      ///< standard, "4.1"
  std::string mpi_library;      ///< one line
  std::string thread_level;     ///< granted by MPI: "MPI_THREAD_SINGLE"
  std::string clock;            ///< "MPI_Wtime", "steady_clock"
  double clock_resolution = 0;  ///< seconds
  std::string compiler, build_flags;
  std::string interface;  ///< binary interface of the program; empty: built for one MPI
  std::vector<std::string> command_line;
  std::vector<RankPlace> ranks;  ///< by world rank
  std::string oversubscribed_host =
      {};  ///< "4 ranks on 2 CPUs of node0"; empty: no host has more ranks than CPUs
  std::vector<EndpointFacts> endpoints;  ///< for IMB-FABRIC
  std::optional<Startup> startup = {};
  std::vector<std::vector<std::string>> interfaces;  ///< by world rank: the interfaces that the rank observes
  std::vector<std::pair<std::string, std::string>> environment;  ///< variables that configure the MPI library
  std::string file;                   ///< path of the test files without suffixes; empty: no files
  std::string file_system;            ///< its type, "ext4"; empty: unknown
  std::optional<double> load_flops;   ///< flop/s of the slowest rank, if a fixed load is calibrated
  std::optional<OffCache> off_cache;  ///< with the values of this machine
  std::vector<GpuFacts> gpus;         ///< GPUs that ranks use
  std::optional<GpuSupport> gpu_support;
  std::vector<Variant> variants;  ///< of -alternate
  /// The library's own values of the variables that variants set.
  std::vector<std::pair<std::string, std::string>> variables_at_start;
  std::vector<std::string> benchmarks;       ///< as the list in the banner shows them
  std::vector<std::string> benchmark_notes;  ///< for each benchmark, lines under its name, or empty
};

}  // namespace openimb
