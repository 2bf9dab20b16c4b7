#include "report/summary.h"

#include "report/failure_text.h"
#include "report/format.h"

namespace openimb {

void SummaryReporter::begin(const RunFacts& facts, const Options&) { program_ = "IMB-" + facts.component; }

void SummaryReporter::failure(const Table& table, const Failure& failure) {
  if (first_.empty() && failure.counts) first_ = failure_text(table, failure);
}

void SummaryReporter::end(const Ending& ending) {
  std::string text;
  const auto add = [&](const std::string& line) { text += program_ + ": " + line + "\n"; };
  if (ending.state == Ending::State::interrupted) {
    add("interrupted: " + ending.reason + "; " + counted(ending.measured, "point") + " measured");
  }
  if (ending.failed > 0) {
    std::string line = counted(ending.failed, "row") + " failed";
    if (!first_.empty()) line += (ending.failed > 1 ? ", the first: " : ": ") + first_;
    add(line);
  }
  if (ending.defects > 0) add(counted(ending.defects, "wrong byte") + "; do not trust these results");
  std::fputs(text.c_str(), err_);
}

}  // namespace openimb
