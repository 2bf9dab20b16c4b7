// How reporters write: the whole text of a call at once, and one message when that fails.
#pragma once

#include <cstdio>
#include <string>

namespace openimb {

/// For the message when an output fails.
struct OutputName {
  std::string program = "IMB";
  std::string name;  ///< "standard output", or a file in quotes
};

/// Writes and flushes `text`. The first failure is reported on stderr and clears `ok`; later calls try again,
/// as a full disk may have space again.
void write_and_flush(std::FILE* out, const std::string& text, const OutputName& name, bool& ok);

/// What keeps lines whole when a disk is full: the operating system's functions, which this module does not
/// call itself. Empty: a line may be torn.
struct LineFile {
  long long (*position)(std::FILE*) = nullptr;
  bool (*cut)(std::FILE*, long long position) = nullptr;  ///< removes what follows `position`
};

/// A file of lines: a call writes all of its lines or none.
class LineOutput {
 public:
  /// `out` stays the caller's, and nothing may have been written to it.
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
