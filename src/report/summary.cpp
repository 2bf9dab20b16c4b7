#include "report/summary.h"

#include "report/failure_text.h"
#include "report/format.h"

namespace openimb {

void SummaryReporter::begin(const RunFacts& facts, const Options&) {
  program_ = executable_of(facts.component);
}

void SummaryReporter::failure(const Table& table, const Failure& failure) {
  std::string& first = failure.limit ? first_beyond_limit_ : first_;
  if (first.empty() && failure.counts) first = failure_text(table, failure);
}

void SummaryReporter::end(const Ending& ending) {
  std::string text;
  const auto add = [&](const std::string& line) { text += program_ + ": " + line + "\n"; };
  if (ending.state == Ending::State::interrupted) {
    add("interrupted: " + ending.reason + "; " + counted(ending.measured, "point") + " measured");
  }
  const auto add_rows = [&](std::int64_t count, const char* what, const std::string& first) {
    if (count <= 0) return;
    add(counted(count, "row") + what + (first.empty() ? "" : (count > 1 ? ", the first: " : ": ") + first));
  };
  add_rows(ending.limited, " beyond a limit", first_beyond_limit_);
  add_rows(ending.failed - ending.limited, " failed", first_);
  if (ending.defects > 0) add(counted(ending.defects, "wrong byte") + "; do not trust these results");
  std::fputs(text.c_str(), err_);
}

}  // namespace openimb
