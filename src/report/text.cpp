#include "report/text.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "model/arrival.h"
#include "report/banner.h"
#include "report/columns.h"
#include "report/failure_text.h"
#include "report/format.h"
#include "report/output.h"

namespace openimb {

namespace {

constexpr std::size_t ranks_per_line = 16;

// Formats ranks in lines. The first line begins with `lead`, and the others are aligned with it.
std::string rank_lines(std::string lead, std::span<const int> ranks) {
  std::string text;
  while (!ranks.empty()) {
    const std::size_t count = std::min(ranks.size(), ranks_per_line);
    text += lead;
    for (const int rank : ranks.first(count)) text += formatted("%5d", rank);
    text += '\n';
    ranks = ranks.subspan(count);
    lead = std::string("#").append(lead.size() - 1, ' ');
  }
  return text += "# \n";
}

// The reference output names threads only in benchmarks of threads, or if there are several.
std::string thread_suffix(const Table& table) {
  const bool is_shown = table.grouping.threads > 1 || table.spec.threaded;
  return is_shown ? formatted(" (threads: %d)", table.grouping.threads) : "";
}

std::string group_lines(const Table& table) {
  const Grouping& grouping = table.grouping;
  std::string text = formatted("# ( %d groups of %d processes each running simultaneous )%s \n",
                               grouping.group_count(), grouping.processes, thread_suffix(table).c_str());
  for (int group = 0; group < grouping.group_count(); ++group) {
    text += rank_lines(formatted("# Group %2d: ", group), grouping.groups[static_cast<std::size_t>(group)]);
  }
  return text;
}

std::string map_lines(const Table& table, const Map& map) {
  const Grouping& grouping = table.grouping;
  std::string text = formatted("# #processes = %d%s; rank order (rowwise): \n", grouping.processes,
                               thread_suffix(table).c_str());
  std::span<const int> ranks = grouping.groups.front();
  while (!ranks.empty()) {
    const std::size_t count = std::min(ranks.size(), static_cast<std::size_t>(std::max(1, map.columns)));
    text += rank_lines("# ", ranks.first(count));
    ranks = ranks.subspan(count);
  }
  return text;
}

std::string idle_line(const Grouping& grouping) {
  return grouping.idle() <= 0 ? ""
                              : formatted("# ( %d additional process%s waiting in MPI_Barrier)\n",
                                          grouping.idle(), grouping.idle() == 1 ? "" : "es");
}

std::string grouping_lines(const Table& table) {
  const Grouping& grouping = table.grouping;
  const std::string text =
      grouping.group_count() > 1 ? group_lines(table)
      : grouping.map ? map_lines(table, *grouping.map)
                     : formatted("# #processes = %d%s \n", grouping.processes, thread_suffix(table).c_str());
  return text + idle_line(grouping);
}

std::string mode_lines(Transfers transfers) {
  if (transfers == Transfers::unmarked) return "";
  return formatted("#\n#    MODE: %s \n#\n",
                   transfers == Transfers::aggregate ? "AGGREGATE" : "NON-AGGREGATE");
}

// "Stencil2D (2 x 4)", "Neighbor_alltoall (graph 4 x 2)".
std::string title_of(const Table& table) {
  std::string text(table.spec.name);
  if (table.names_topology) return text + " (" + table.spec.topology.name(table.grouping.processes) + ")";
  const Stencil& stencil = table.spec.stencil;
  if (stencil.dimensions == 0) return text;
  text += " (" + Torus(table.grouping.processes, stencil.dimensions).name();
  return text += stencil.corners ? ", corners)" : ")";
}

// The smallest width of the rules in IMB-MT: see OutputStyle.
constexpr std::size_t thread_columns = 6;

std::string strip_line_ends(const std::string& text) {
  std::string stripped;
  for (const char c : text) {
    while (c == '\n' && stripped.ends_with(' ')) stripped.pop_back();
    stripped += c;
  }
  return stripped;
}

// Returns lines about the options that decide how many messages are in flight. The reference output of
// IMB-MPI1 has no such lines.
std::string window_lines(const Table& table, OutputStyle style, int in_flight) {
  const int active = table.spec.participating_processes(table.grouping.processes);
  const std::string pairs = style == OutputStyle::pairs ? formatted("# pairs = %d\n", active / 2) : "";
  return pairs + formatted("# window_size = %d\n", in_flight);
}

std::string groups_prefix(const Table& table) {
  return std::string(table.grouping.group_count() > 1 ? multi_prefix : "");
}

std::string labeled_head(const Table& table) {
  const Grouping& grouping = table.grouping;
  std::string text = "\n# Benchmarking " + groups_prefix(table);
  text += std::string(table.spec.name) +
          formatted(" (processes: %d; threads: %d; dimensions: %d%s)\n", grouping.processes, grouping.threads,
                    table.spec.stencil.dimensions, table.spec.stencil.corners ? "; corners" : "");
  const bool plain = grouping.group_count() == 1 && !grouping.map;
  return strip_line_ends(text + (plain ? idle_line(grouping) : grouping_lines(table)));
}

std::string variant_line(const Table& table) {
  return table.variant.empty() ? "" : "# variant = " + std::string(table.variant) + "\n";
}

std::string table_head(const Table& table, OutputStyle style, int in_flight) {
  if (table.format().labeled) return labeled_head(table) + variant_line(table);
  const std::vector<Cell> columns = cells_of(table, {}, {}, 1);
  const bool threaded = table.spec.threaded;
  const std::size_t wide = threaded ? std::max(thread_columns, columns.size()) : columns.size();
  const std::string rule = std::string("#").append(wide * column_width - 1, '-') += '\n';
  std::string text = "\n" + rule + "# Benchmarking " + groups_prefix(table);
  text += title_of(table) + " \n";
  text += grouping_lines(table) + variant_line(table);
  if (table.spec.message_rate && style != OutputStyle::classic) text += window_lines(table, style, in_flight);
  text += rule + mode_lines(table.transfers);
  if (style != OutputStyle::classic) text = strip_line_ends(text);
  for (const Cell& column : columns) {
    text += std::string(column_width - std::min<std::size_t>(column_width, column.head.size()), ' ');
    text += column.head;
  }
  return text += '\n';
}

std::string tail_line(const std::optional<Tail>& tail) {
  if (!tail) return "";
  std::string text;
  for (const double seconds : *tail) text += formatted("%s %.2f", text.empty() ? "[" : ",", seconds * 1e6);
  return text += " ]\n";
}

// Names the row of a note: "8 B, group 1".
std::string row_label(const Table& table, std::int64_t bytes, const Row& row) {
  std::string label;
  if (table.has_lengths()) label = formatted("%lld B", static_cast<long long>(bytes));
  if (table.multi == Multi::each_group) {
    label += (label.empty() ? "" : ", ") + formatted("group %d", row.group);
  }
  return label;
}

std::string note(const std::string& where, const std::string& text) {
  return "# note: " + where + (where.empty() ? "" : ": ") + text + "\n";
}

std::string drift_note(const Table& table, std::int64_t bytes, const Row& row) {
  const double drift = row[Figure::load_drift];
  if (!row.has(Figure::load_drift) || std::abs(drift) <= noticeable_drift) return "";
  return note(
      row_label(table, bytes, row),
      formatted("CPU load ran %.0f %% %s than calibrated; t_CPU and overlap of this row are unreliable",
                100 * std::abs(drift), drift > 0 ? "slower" : "faster"));
}

std::string in_flight_note(const Measurement& measurement, int asked, std::int64_t max_memory) {
  if (!measurement.fewer_in_flight) return "";
  return note(
      formatted("%lld B", static_cast<long long>(measurement.bytes)),
      formatted(
          "%s in flight instead of %d, which exceed -mem %s",
          counted(*measurement.fewer_in_flight, "message").c_str(), asked,
          shortest(significant(static_cast<double>(max_memory) / static_cast<double>(gibibyte))).c_str()));
}

std::string levels_text(const std::vector<SampleStatistics::State>& levels, int samples) {
  std::string text;
  for (const SampleStatistics::State& level : levels) {
    text += formatted("%s%.2f usec (%.0f %%)", text.empty() ? "" : ", ", level.level * 1e6,
                      100.0 * level.samples / std::max(1, samples));
  }
  return text;
}

std::string row_lines(const Table& table, const Measurement& measurement, double bytes_per_megabyte) {
  std::string text = table.multi == Multi::each_group ? "\n" : "";
  for (const Row& row : measurement.rows) {
    for (const Cell& cell : cells_of(table, measurement, row, bytes_per_megabyte)) text += cell.text;
    text += '\n';
    text += table.tail ? tail_line(row.tail) : "";
  }
  return text;
}

std::string interruption(const Ending& ending) {
  std::string text = ending.state == Ending::State::interrupted ? "Interrupted" : "Aborted";
  if (!ending.reason.empty()) text += " by " + ending.reason;
  text += ": " + counted(ending.measured, "point") + " measured";
  if (ending.failed > 0) text += ", " + counted(ending.failed, "failure row");
  if (ending.defects > 0) text += ", " + counted(ending.defects, "wrong byte");
  return text;
}

std::string shortcomings(const Ending& ending) {
  std::string text = "Finished with ";
  if (ending.failed > 0) text += counted(ending.failed, "failure row");
  if (ending.failed > 0 && ending.defects > 0) text += " and ";
  if (ending.defects > 0) text += counted(ending.defects, "wrong byte");
  return text;
}

std::string passes_line(const Ending& ending) {
  if (ending.passes == 0) return "";
  return formatted("\n# %d pass%s in %.1f s, %.0f %% of it in timed regions%s\n", ending.passes,
                   ending.passes == 1 ? "" : "es", ending.seconds,
                   ending.seconds > 0 ? 100 * ending.measuring_seconds / ending.seconds : 0,
                   ending.probes ? "" : "; no probes: exchanges take too long");
}

// The last line of the reference output, which existing scripts look for, is printed if all ranks continue to
// MPI_Finalize normally. It is never printed after an early end.
std::string footer(const Ending& ending) {
  const bool complete = ending.state == Ending::State::complete;
  const std::string warning = ending.defects > 0 ? ": do not trust these results" : "";
  if (!complete) return "# " + interruption(ending) + warning;
  const std::string last = "# All processes entering MPI_Finalize";
  if (ending.failed == 0 && ending.defects == 0) return last;
  return "# " + shortcomings(ending) + warning + (ending.all_respond ? "\n" + last : "");
}

}  // namespace

std::string validity_note(const Table& table, std::int64_t bytes, const Row& row) {
  if (!row.has(Figure::valid_percent)) return "";
  const double percent = row[Figure::valid_percent];
  if (percent >= 100 * least_valid_share) return "";
  std::string text = formatted("%.0f %% of the repetitions valid", percent);
  if (row.arrivals.late_rank) text += formatted("; rank %d was late most often", *row.arrivals.late_rank);
  if (row.arrivals.given_up) text += "; given up";
  return note(row_label(table, bytes, row), text);
}

void PassNotes::add(const std::string& where, int group, const SampleStatistics& statistics) {
  ++rows_;
  if (statistics.shortfall != SampleStatistics::Shortfall::none) {
    ++imprecise_;
    shortfall_ = statistics.shortfall;
    if (statistics.half_width && *statistics.half_width > widest_) {
      widest_ = *statistics.half_width;
      widest_row_ = where;
    }
  }
  if (!statistics.modes.empty() && ++rows_with_levels_ == 1)
    levels_ = (where.empty() ? "" : where + ": ") + levels_text(statistics.modes, statistics.used);
  if (!statistics.reference) ++rows_without_reference_;
  Machine& machine = machines_[group];
  machine.states.resize(statistics.states.size());
  for (std::size_t k = 0; k < statistics.states.size(); ++k) {
    machine.states[k].level = statistics.states[k].level;
    machine.states[k].samples += statistics.states[k].samples;
  }
  machine.between += statistics.between_states;
  machine.samples += statistics.samples;
}

std::string PassNotes::between_states_text(const Machine& machine) {
  if (machine.between == 0) return "";
  return formatted(", between them (%.0f %%)", 100.0 * machine.between / machine.samples);
}

std::string PassNotes::notes(std::optional<double> precision) const {
  std::string text;
  if (imprecise_ > 0) {
    text += formatted("# note: %d of %s missed +-%s %%", imprecise_, counted(rows_, "row").c_str(),
                      shortest(significant(precision.value_or(0) * 100)).c_str());
    if (widest_ > 0) {
      text += formatted(widest_ < 1 ? ", worst +-%.2f %%" : ", worst +-%.0f %%", widest_ * 100);
      if (!widest_row_.empty()) text += " (" + widest_row_ + ")";
    }
    text += std::string(": ") + reason_of(shortfall_) + "\n";
  }
  if (rows_with_levels_ > 0) {
    text += formatted("# note: samples at several levels in %s, for example %s\n",
                      counted(rows_with_levels_, "row").c_str(), levels_.c_str());
  }
  const bool all_without = rows_without_reference_ == rows_;
  for (const auto& [group, machine] : machines_) {
    if (machine.states.size() < 2) continue;
    const std::string where = group < 0 ? "" : formatted("group %d", group);
    const char* const whose =
        all_without ? "rows use all samples: too few are in the first" : "rows use samples of the first";
    const std::string states = counted(static_cast<std::int64_t>(machine.states.size()), "state");
    text += note(where, "the machine changed between " + states + ": probes of " +
                            levels_text(machine.states, machine.samples) + between_states_text(machine) +
                            "; " + whose);
  }
  if (rows_without_reference_ > 0 && !all_without) {
    text += formatted("# note: %s with too few samples in the fastest state; all samples are used\n",
                      counted(rows_without_reference_, "row").c_str());
  }
  return text;
}

TextReporter::TextReporter(std::FILE* out, StatedOptions stated) : out_(out), stated_(std::move(stated)) {}

void TextReporter::begin(const RunFacts& facts, const Options& options) {
  bytes_per_megabyte_ = options.bytes_per_megabyte;
  in_flight_ = options.in_flight;
  max_memory_ = options.settings.max_memory;
  style_ = facts.style;
  sweep_.begin(facts, options);
  if (options.passes) precision_ = options.passes->precision;
  name_.program = executable_of(facts.component);
  if (options.header) write(banner(facts, options, stated_));
  if (options.starts_by_clock() && !facts.oversubscribed_host.empty()) {
    write("# note: " + facts.oversubscribed_host +
          ": a rank that waits for a CPU begins late, so few repetitions will be valid\n");
  }
}

void TextReporter::open_table(const Table& table) {
  if (table.spec.in_rounds) return write(sweep_.table(table));
  write(take_notes() + table_head(table, style_, in_flight_));
}

void TextReporter::row(const Table& table, const Measurement& measurement) {
  write(row_lines(table, measurement, bytes_per_megabyte_));
  notes_ += in_flight_note(measurement, in_flight_, max_memory_);
  for (const Row& row : measurement.rows) {
    notes_ += drift_note(table, measurement.bytes, row);
    notes_ += validity_note(table, measurement.bytes, row);
    if (row.passes) passes_.add(row_label(table, measurement.bytes, row), row.group, *row.passes);
  }
}

void TextReporter::pairs(const Table& table, std::span<const PairSample> samples) {
  const std::string lines = sweep_.pairs(table, samples);
  if (!lines.empty()) write(lines);
}

void TextReporter::failure(const Table& table, const Failure& failure) {
  if (failure.pair) return sweep_.failure(table, failure);
  const std::string lines = failure_lines(table, failure, style_);
  write(style_ == OutputStyle::pairs ? strip_line_ends(lines) : lines);
}

void TextReporter::close_table(const Table& table) {
  const std::string notes = table.spec.in_rounds ? put_after_blank_line(sweep_.slowest(table)) : take_notes();
  if (!notes.empty()) write(notes);
}

void TextReporter::end(const Ending& ending) {
  const char* const ends = style_ == OutputStyle::threads ? "\n" : "\n\n";
  write(take_notes() + passes_line(ending) + ends + footer(ending) + "\n" +
        (style_ == OutputStyle::threads ? "" : "\n"));
}

std::string TextReporter::take_notes() {
  return put_after_blank_line(std::exchange(notes_, {}) + std::exchange(passes_, {}).notes(precision_));
}

void TextReporter::write(const std::string& text) { write_and_flush(out_, text, name_, ok_); }

}  // namespace openimb
