// Reporters write all text of a call at once. If that fails, they print one message.
#pragma once

#include <cstdio>
#include <string>

namespace openimb {

/// The names in that message.
struct OutputName {
  std::string program = "IMB";
  std::string name;  ///< "standard output", or a file in quotes
};

/// Writes and flushes `text`. The first failure prints a message on stderr and clears `ok`. Later calls try
/// again, as a full disk may have space again.
void write_and_flush(std::FILE* out, const std::string& text, const OutputName& name, bool& ok);

/// Functions of the operating system that keep lines complete when a disk is full; this module does not call
/// the system itself. Without them an incomplete line may remain.
struct LineFile {
  long long (*position)(std::FILE*) = nullptr;
  bool (*truncate)(std::FILE*, long long position) = nullptr;  ///< removes what follows `position`
};

/// A file of lines. Each write() adds all of its lines or none.
class LineOutput {
 public:
  /// Does not close `out`. Nothing may have been written to `out` before.
  LineOutput(std::FILE* out, const std::string& path, const LineFile& file);
  void write(const std::string& lines);
  bool ok() const { return ok_; }
  /// "IMB-MPI1", for messages.
  void set_program(const std::string& program) { name_.program = program; }

 private:
  std::FILE* out_;
  OutputName name_;
  LineFile file_;
  bool ok_ = true;
};

}  // namespace openimb
