#include "report/tee.h"

#include <algorithm>

#include "report/format.h"

namespace openimb {

void Tee::for_each(const std::function<void(Reporter&)>& write) {
  const auto all = [&] {
    for (const auto& reporter : reporters_) write(*reporter);
  };
  if (wrapper_) return wrapper_(all);
  all();
}

void Tee::begin(const RunFacts& facts, const Options& options) {
  for_each([&](Reporter& reporter) { reporter.begin(facts, options); });
}

void Tee::open_table(const Table& table) {
  for_each([&](Reporter& reporter) { reporter.open_table(table); });
}

void Tee::row(const Table& table, const Measurement& measurement) {
  for_each([&](Reporter& reporter) { reporter.row(table, measurement); });
}

void Tee::sample(const Table& table, const PassSample& sample) {
  for_each([&](Reporter& reporter) { reporter.sample(table, sample); });
}

void Tee::pairs(const Table& table, std::span<const PairSample> samples) {
  for_each([&](Reporter& reporter) { reporter.pairs(table, samples); });
}

void Tee::failure(const Table& table, const Failure& failure) {
  for_each([&](Reporter& reporter) { reporter.failure(table, failure); });
}

void Tee::close_table(const Table& table) {
  for_each([&](Reporter& reporter) { reporter.close_table(table); });
}

void Tee::end(const Ending& ending) {
  for_each([&](Reporter& reporter) { reporter.end(ending); });
}

bool Tee::ok() const {
  return std::ranges::all_of(reporters_, [](const auto& reporter) { return reporter->ok(); });
}

DumpReporter::DumpReporter(std::FILE* out, const std::string& path, const LineFile& file)
    : out_(out, path, file) {}

void DumpReporter::begin(const RunFacts& facts, const Options&) {
  out_.set_program(executable_of(facts.component));
}

void DumpReporter::row(const Table&, const Measurement& measurement) {
  std::string text;
  for (const Row& row : measurement.rows) {
    for (const double seconds : row.repetition_seconds) {
      // Four decimals: PingPong halves its round trip, so half a nanosecond is visible.
      text += formatted("%lld %.4f\n", static_cast<long long>(measurement.bytes), seconds * 1e6);
    }
  }
  out_.write(text);
}

}  // namespace openimb
