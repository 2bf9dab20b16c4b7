#include "report/failure_text.h"

#include <algorithm>
#include <cmath>

#include "model/options.h"
#include "report/columns.h"
#include "report/format.h"
#include "report/row_label.h"

namespace openimb {

namespace {

std::string amounts(const Failure& failure) {
  if (failure.cause == Failure::Cause::time_out) return formatted(" (%.3g s)", failure.seconds);
  if (failure.needed_bytes <= 0) return "";
  std::string text = formatted(" (%.3f GB needed", gigabytes(failure.needed_bytes));
  if (failure.cause == Failure::Cause::no_space) {
    text +=
        formatted(", %.3f GB free", static_cast<double>(failure.free_bytes) / static_cast<double>(gibibyte));
  }
  return text + ")";
}

std::string failure_row(const Table& table, std::int64_t length, const std::string& text) {
  if (table.format().labeled) return "# " + labeled_length_of(table, length) + " " + text + "\n";
  const char* const group_cell = table.multi == Multi::each_group ? "\n             " : "";
  return formatted("%s%13lld %s\n", group_cell, static_cast<long long>(length), text.c_str());
}

}  // namespace

bool is_about_a_length(Failure::Cause cause) {
  return cause != Failure::Cause::invalid_processes && cause != Failure::Cause::unavailable;
}

double gigabytes(std::int64_t bytes) {
  return std::ceil(static_cast<double>(bytes) / static_cast<double>(gibibyte) * 1000) / 1000;
}

std::string failure_text(const Table& table, const Failure& failure) {
  std::string cause = name_of(failure.cause);
  std::ranges::replace(cause, '_', ' ');
  RowLabel label{
      .benchmark = table.spec.name, .processes = table.grouping.processes, .variant = table.variant};
  if (is_about_a_length(failure.cause) && table.has_lengths()) label.bytes = failure.bytes;
  std::string text = text_of(label);
  if (failure.pair) text += formatted(", pair %d-%d", failure.pair->pair.a, failure.pair->pair.b);
  text += ": " + cause;
  if (!failure.detail.empty()) text += ": " + failure.detail;
  return text + amounts(failure) + "; " + advice_for(failure.cause);
}

std::string failure_lines(const Table& table, const Failure& failure, OutputStyle style) {
  const std::string name(table.spec.name);
  switch (failure.cause) {
    case Failure::Cause::out_of_memory:
      return failure_row(table, failure.bytes,
                         formatted("out-of-mem.; needed X=%8.3f GB; use flag \"-mem X\" or MAX_MEM_USAGE>=X "
                                   "(IMB_mem_info.h)",
                                   gigabytes(failure.needed_bytes)));
    case Failure::Cause::int_overflow:
      return failure_row(table, failure.bytes,
                         "int-overflow.; The production rank*size caused int overflow for given sample");
    case Failure::Cause::time_out:
      return failure_row(
          table, failure.bytes,
          "time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over; use \"-time X\" or "
          "SECS_PER_SAMPLE (IMB_settings.h) to increase time limit.");
    case Failure::Cause::invalid_processes:
      return formatted("\n# !! Benchmark %s %sinvalid for %d processes !! \n", name.c_str(),
                       style == OutputStyle::pairs ? "is " : "", table.grouping.processes);
    case Failure::Cause::no_space:
      return failure_row(table, failure.bytes,
                         formatted("out-of-space.; needed X=%8.3f GB, free %8.3f GB; use flag \"-file PATH\"",
                                   gigabytes(failure.needed_bytes),
                                   static_cast<double>(failure.free_bytes) / static_cast<double>(gibibyte)));
    case Failure::Cause::io_error:
      return failure_row(table, failure.bytes, "io-error.; " + failure.detail);
    case Failure::Cause::no_answer:
      return failure_row(table, failure.bytes, "no-answer.; " + failure.detail);
    case Failure::Cause::clock_set:
      return failure_row(table, failure.bytes, "clock-set.; " + failure.detail);
    case Failure::Cause::over_budget:
      return failure_row(
          table, failure.bytes,
          "over-budget.; the budget was spent before the first sample; use flag \"-budget X\"");
    case Failure::Cause::unavailable:
      return formatted("\n# !! Benchmark %s is not available: %s !! \n", name.c_str(),
                       failure.detail.c_str());
  }
  return {};
}

}  // namespace openimb
