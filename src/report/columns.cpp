#include "report/columns.h"

#include <cmath>

#include "report/format.h"

namespace openimb {

namespace {

std::string whole(std::int64_t number) { return padded(std::to_string(number)); }
std::string decimals(double number) { return padded(formatted("%.2f", number)); }
std::string microseconds(double seconds) { return decimals(seconds * 1e6); }

constexpr Column group{"Group", [](const CellSource& from) { return whole(from.row.group); }};
constexpr Column bytes{"#bytes", [](const CellSource& from) { return whole(from.measurement.bytes); }};
constexpr Column repetitions{"#repetitions",
                             [](const CellSource& from) { return whole(from.measurement.repetitions); }};
constexpr Column time{"t[usec]", [](const CellSource& from) { return microseconds(from.row.t_max); }};
constexpr Column mean{"t[usec]", [](const CellSource& from) { return microseconds(from.row.t_avg); }};
constexpr Column t_min{"t_min[usec]", [](const CellSource& from) { return microseconds(from.row.t_min); }};
constexpr Column t_max{"t_max[usec]", [](const CellSource& from) { return microseconds(from.row.t_max); }};
constexpr Column t_avg{"t_avg[usec]", [](const CellSource& from) { return microseconds(from.row.t_avg); }};
constexpr Column t_pure{"t_pure[usec]", [](const CellSource& from) {
                          return microseconds(from.row.t_pure.value_or(from.row.t_max));
                        }};
constexpr Column t_cpu{"t_CPU[usec]",
                       [](const CellSource& from) { return microseconds(from.row.t_cpu.value_or(0)); }};
constexpr Column overlap{
    "overlap[%]", [](const CellSource& from) { return decimals(from.row.overlap_percent.value_or(0)); }};
constexpr Column t_overlap{
    "t_ovrl[usec]", [](const CellSource& from) { return microseconds(from.row.t_overlap.value_or(0)); }};
constexpr Column bandwidth{"Mbytes/sec", [](const CellSource& from) {
                             return decimals(from.row.bytes_per_second.value_or(0) / from.bytes_per_megabyte);
                           }};
constexpr Column message_rate{"Msg/sec", [](const CellSource& from) {
                                return padded(formatted("%.0f", from.row.messages_per_second.value_or(0)));
                              }};
// A floating-point number by the guide's description of -DCHECK.
constexpr Column defects{"defects", [](const CellSource& from) {
                           return decimals(static_cast<double>(from.row.defects.value_or(0)));
                         }};

// Of a row with too few samples nothing is known.
constexpr Column precision{"+-[%]", [](const CellSource& from) {
                             const auto& passes = from.row.passes;
                             if (!passes || !passes->half_width) return padded("n/a");
                             return decimals(*passes->half_width * 100);
                           }};

// Of the reference layout of IMB-HALO: six digits, as C++ streams print them. A blank precedes each figure
// but the first. (xN): N messages per repetition; Mb/s counts all N.
std::string labeled(double number, const char* unit) { return formatted(" %g(%s)", number, unit); }

constexpr Column labeled_length{
    "", [](const CellSource& from) { return labeled_length_of(from.table, from.measurement.bytes); }};
constexpr Column labeled_time{"",
                              [](const CellSource& from) { return labeled(from.row.t_max * 1e6, "usec"); }};
constexpr Column labeled_rate{"", [](const CellSource& from) {
                                return labeled(
                                    from.row.bytes_per_second.value_or(0) / from.bytes_per_megabyte, "Mb/s");
                              }};
constexpr Column labeled_group{"", [](const CellSource& from) { return labeled(from.row.group, "group"); }};
constexpr Column labeled_precision{"", [](const CellSource& from) -> std::string {
                                     const auto& passes = from.row.passes;
                                     if (!passes || !passes->half_width) return " n/a(+-%)";
                                     return labeled(*passes->half_width * 100, "+-%");
                                   }};
constexpr Column labeled_defects{"", [](const CellSource& from) {
                                   const std::int64_t wrong = from.row.defects.value_or(0);
                                   return formatted(" %lld(defects)", static_cast<long long>(wrong));
                                 }};

std::vector<Column> columns_of(TableKind kind) {
  switch (kind) {
    case TableKind::time_and_bandwidth:
      return {bytes, repetitions, time, bandwidth};
    case TableKind::range_and_bandwidth:
      return {bytes, repetitions, t_min, t_max, t_avg, bandwidth};
    case TableKind::range:
      return {bytes, repetitions, t_min, t_max, t_avg};
    case TableKind::rate:
      return {bytes, repetitions, bandwidth, message_rate};
    case TableKind::mean_and_rate:
      return {bytes, repetitions, mean, bandwidth, message_rate};
    case TableKind::time_and_rate:
      return {bytes, repetitions, t_avg, bandwidth, message_rate};
    case TableKind::synchronization:
      return {repetitions, t_min, t_max, t_avg};
    case TableKind::passive:
      return {bytes, repetitions, t_pure, t_overlap};
    case TableKind::overlap:
      return {bytes, repetitions, t_overlap, t_pure, t_cpu, overlap};
    case TableKind::synchronization_overlap:
      return {repetitions, t_overlap, t_pure, t_cpu, overlap};
    case TableKind::labeled:
      return {labeled_length, labeled_time, labeled_rate};
  }
  return {};
}

}  // namespace

std::string padded(const std::string& text) {
  constexpr std::size_t width = column_width;
  return std::string(text.size() < width ? width - text.size() : 1, ' ') + text;
}

std::string labeled_length_of(const Table& table, std::int64_t bytes) {
  const Spec& spec = table.spec;
  const double messages = spec.sent * spec.processes_taking_part(table.layout.processes);
  return formatted("%lld(x%lld)(bytes)", static_cast<long long>(bytes), std::llround(messages));
}

std::vector<Column> columns_of(const Table& table) {
  const bool labels = table.kind == TableKind::labeled;
  std::vector<Column> columns = columns_of(table.kind);
  if (table.multi == Multi::each_group) {
    columns.insert(labels ? columns.end() : columns.begin(), labels ? labeled_group : group);
  }
  if (table.precision) columns.push_back(labels ? labeled_precision : precision);
  if (table.defects) columns.push_back(labels ? labeled_defects : defects);
  return columns;
}

}  // namespace openimb
