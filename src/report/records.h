// JSON lines: one object a line, flushed as it is written; schema/record.schema.json is their definition.
#pragma once

#include <cstdio>
#include <string>

#include "report/reporter.h"

namespace openimb {

class RecordReporter final : public Reporter {
 public:
  /// `out` stays the caller's; `path` is for messages.
  RecordReporter(std::FILE* out, std::string path);
  void begin(const RunFacts& facts, const Options& options) override;
  void open_table(const Table& table) override;
  void row(const Table& table, const Measurement& measurement) override;
  void failure(const Table& table, const Failure& failure) override;
  void end(const Ending& ending) override;
  bool ok() const override { return ok_; }

 private:
  void write(const std::string& line);
  std::FILE* out_;
  std::string path_;
  bool ok_ = true;
};

/// The `end` record as a line, newline included; also written by the signal handler.
std::string end_record(const Ending& ending);

}  // namespace openimb
