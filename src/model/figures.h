// The figures of a row, and the formats of the tables that show them.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <string_view>

#include "model/names.h"

namespace openimb {

/// All figures, in the order of records.
enum class Figure {
  time_min,
  time_max,
  time_avg,
  time_overlapped,
  time_pure,
  time_cpu,
  overlap_percent,
  early_bird_share,
  load_drift,
  time_from_last,
  time_from_first,
  start_skew,
  exit_skew,
  valid_percent,
  clock_disagreement,
  clock_bound,
  arrival_width,
  bytes_per_second,
  messages_per_second
};

/// The unit of a figure. It sets the figure's limits in records and its form in text.
enum class Unit { seconds, percent, share, change, bytes_per_second, messages_per_second };
template <>
inline constexpr Names<6> names_of<Unit> = {"seconds", "percent",          "share",
                                            "change",  "bytes_per_second", "messages_per_second"};

/// How the samples of several passes become one figure of the row. median: the median of the samples' values.
/// derived: computed from the row's other figures. dropped: neither the row nor its samples have the figure.
/// Alternating segments need no such rule, because their times are combined before figures are computed.
enum class PassCombination { median, derived, dropped };
template <>
inline constexpr Names<3> names_of<PassCombination> = {"median", "derived", "dropped"};

/// Everything known about a figure. Text, records, their schema, the medians of passes and the columns of
/// `imb` derive from it.
struct FigureInfo {
  /// always: in every row. where_measured: in rows whose benchmark or options measure it. where_valid:
  /// measured in the valid repetitions of -sync_start clock; text shows n/a if no repetition was valid.
  enum Presence { always, where_measured, where_valid };
  Figure figure;
  std::string_view name;  ///< name in records
  Unit unit;
  Presence presence;
  PassCombination passes;
  std::string_view head;     ///< head of its column; empty: no table shows it
  std::string_view meaning;  ///< a sentence without its full stop, for the schema
};

inline constexpr FigureInfo figures[] = {
    {Figure::time_min, "time_min_seconds", Unit::seconds, FigureInfo::always, PassCombination::median,
     "t_min[usec]", "Smallest of the ranks' mean times per repetition"},
    {Figure::time_max, "time_max_seconds", Unit::seconds, FigureInfo::always, PassCombination::median,
     "t_max[usec]",
     "Largest of the ranks' mean times per repetition; the classic table's t for single transfers"},
    {Figure::time_avg, "time_avg_seconds", Unit::seconds, FigureInfo::always, PassCombination::median,
     "t_avg[usec]", "Mean of the ranks' mean times per repetition"},
    {Figure::time_overlapped, "time_overlapped_seconds", Unit::seconds, FigureInfo::where_measured,
     PassCombination::median, "t_ovrl[usec]",
     "Largest of the ranks' mean times per repetition with computation: by each rank between start and wait "
     "(overlap), or by the target outside MPI (Truly_passive_put)"},
    {Figure::time_pure, "time_pure_seconds", Unit::seconds, FigureInfo::where_measured,
     PassCombination::median, "t_pure[usec]",
     "Overlap benchmarks: mean time per repetition without computation, on the rank that has "
     "time_overlapped_seconds"},
    {Figure::time_cpu, "time_cpu_seconds", Unit::seconds, FigureInfo::where_measured, PassCombination::median,
     "t_CPU[usec]",
     "Overlap benchmarks: mean time of the computation on the same rank; in IMB-IO, its time when nothing "
     "else runs"},
    {Figure::overlap_percent, "overlap_percent", Unit::percent, FigureInfo::where_measured,
     PassCombination::median, "overlap[%]", "100 max(0, min(1, (pure + cpu - overlapped) / min(pure, cpu)))"},
    {Figure::early_bird_share, "early_bird_share", Unit::share, FigureInfo::where_measured,
     PassCombination::derived, "",
     "Partitioned_overlap: overlap_percent / 100, the share of a transfer that took place before its last "
     "part was marked; at most (parts - 1) / parts"},
    {Figure::load_drift, "load_drift", Unit::change, FigureInfo::where_measured, PassCombination::dropped, "",
     "Overlap benchmarks: time of the computation after the measurement divided by its calibrated time, "
     "minus 1; the value of the rank where it is farthest from 0. Beyond +-0.1, time_cpu_seconds is "
     "unreliable"},
    {Figure::time_from_last, "time_from_last_arrival_seconds", Unit::seconds, FigureInfo::where_valid,
     PassCombination::median, "t_last[usec]",
     "-sync_start clock: from the last arrival to the last exit, median over valid repetitions"},
    {Figure::time_from_first, "time_from_first_arrival_seconds", Unit::seconds, FigureInfo::where_valid,
     PassCombination::median, "t_all[usec]",
     "-sync_start clock: from the first arrival to the last exit, median over valid repetitions"},
    {Figure::start_skew, "start_skew_seconds", Unit::seconds, FigureInfo::where_valid,
     PassCombination::median, "arrive[usec]",
     "-sync_start clock: from the first to the last arrival, median over valid repetitions"},
    {Figure::exit_skew, "exit_skew_seconds", Unit::seconds, FigureInfo::where_valid, PassCombination::median,
     "exit[usec]", "-sync_start clock: from the first to the last exit, median over valid repetitions"},
    {Figure::valid_percent, "valid_percent", Unit::percent, FigureInfo::where_measured,
     PassCombination::median, "valid[%]",
     "-sync_start clock: percentage of the repetitions in which no rank began late by its own clock; below "
     "50, few repetitions determine the row's values"},
    {Figure::clock_disagreement, "clock_disagreement_seconds", Unit::seconds, FigureInfo::where_valid,
     PassCombination::median, "disagr[usec]",
     "-sync_start clock: largest difference of the common clock between two hosts that do not synchronize "
     "with each other"},
    {Figure::clock_bound, "clock_bound_seconds", Unit::seconds, FigureInfo::where_valid,
     PassCombination::median, "bound[usec]",
     "-sync_start clock: largest error of the common clock on any rank during the row"},
    {Figure::arrival_width, "arrival_width_seconds", Unit::seconds, FigureInfo::where_measured,
     PassCombination::median, "width[usec]",
     "-arrival: planned time from the first to the last arrival; 0 for even"},
    {Figure::bytes_per_second, "bytes_per_second", Unit::bytes_per_second, FigureInfo::where_measured,
     PassCombination::derived, "Mbytes/sec",
     "Throughput as the guide defines it for the benchmark; with several groups, the rate of the slowest "
     "one"},
    {Figure::messages_per_second, "messages_per_second", Unit::messages_per_second,
     FigureInfo::where_measured, PassCombination::derived, "Msg/sec",
     "Messages of all pairs or ranks of the group"},
};
static_assert([] {
  for (std::size_t i = 0; i < std::size(figures); ++i) {
    if (figures[i].figure != static_cast<Figure>(i)) return false;
  }
  return true;
}());
constexpr const FigureInfo& info_of(Figure figure) { return figures[static_cast<std::size_t>(figure)]; }

/// A column of a table: a figure, under its own head or another one.
struct Column {
  constexpr Column(Figure shown = Figure::time_min) : figure(shown), head(info_of(shown).head) {}
  constexpr Column(Figure shown, std::string_view other_head) : figure(shown), head(other_head) {}
  Figure figure;
  std::string_view head;
};

/// A list of at most `most` values that can be a constant.
template <class Value, std::size_t most>
struct ShortList {
  constexpr ShortList(std::initializer_list<Value> given) {
    for (const Value& value : given) values[count++] = value;
  }
  constexpr const Value* begin() const { return values.data(); }
  constexpr const Value* end() const { return values.data() + count; }
  std::array<Value, most> values{};
  std::size_t count = 0;
};

/// What bytes_per_second and messages_per_second count, and which of the two a row has.
enum class Rates {
  none,
  per_process,    ///< bytes into and out of one process (Spec::messages_per_process)
  all_pairs,      ///< messages of all pairs (Spec::messages_per_process), counting all messages in flight
  all_processes,  ///< messages that all processes send (Spec::sent)
  per_message     ///< one message in the time shown; its size counts all threads together
};

/// How a benchmark is printed, and which of its figures -precision applies to.
struct TableFormat {
  ShortList<Column, 12> columns;  ///< columns after message size and repetitions
  /// Figures for which passes compute a confidence interval. The row shows the interval of the first figure.
  /// -precision limits the largest half width of all of them.
  ShortList<Figure, 2> precision_targets = {Figure::time_max};
  Rates rates = Rates::none;
  const TableFormat* all_groups = nullptr;  ///< format of a row over all groups; nullptr: this format
  bool labeled = false;                     ///< prints each figure with its head as the unit, without columns
};

/// The table formats. Source: reference output of IMB 2021.
namespace tables {
using enum Figure;
inline constexpr TableFormat range{.columns = {time_min, time_max, time_avg}};
inline constexpr TableFormat arrivals{
    .columns = {time_min, time_max, time_avg, time_from_last, time_from_first, start_skew, exit_skew,
                valid_percent, clock_disagreement, clock_bound},
    .precision_targets = {time_from_last}};
inline constexpr TableFormat arrivals_of_pattern{
    .columns = {time_min, time_max, time_avg, time_from_last, time_from_first, start_skew, exit_skew,
                valid_percent, clock_disagreement, clock_bound, arrival_width},
    .precision_targets = {time_from_last}};
inline constexpr TableFormat range_and_bandwidth{.columns = {time_min, time_max, time_avg, bytes_per_second},
                                                 .rates = Rates::per_process};
inline constexpr TableFormat time_and_bandwidth{.columns = {{time_max, "t[usec]"}, bytes_per_second},
                                                .rates = Rates::per_process,
                                                .all_groups = &range_and_bandwidth};
inline constexpr TableFormat rate{.columns = {bytes_per_second, messages_per_second},
                                  .rates = Rates::all_pairs};
inline constexpr TableFormat mean_and_rate{
    .columns = {{time_avg, "t[usec]"}, bytes_per_second, messages_per_second}, .rates = Rates::all_processes};
inline constexpr TableFormat message{.columns = {time_avg, bytes_per_second, messages_per_second},
                                     .rates = Rates::per_message};
inline constexpr TableFormat labeled{.columns = {{time_max, "usec"}, {bytes_per_second, "Mb/s"}},
                                     .rates = Rates::all_processes,
                                     .labeled = true};
inline constexpr TableFormat overlap{.columns = {time_overlapped, time_pure, time_cpu, overlap_percent},
                                     .precision_targets = {time_overlapped, time_pure}};
/// Truly_passive_put measures time_max without computation, so the column is t_pure.
inline constexpr TableFormat passive{.columns = {{time_max, "t_pure[usec]"}, time_overlapped},
                                     .precision_targets = {time_overlapped}};
}  // namespace tables

}  // namespace openimb
