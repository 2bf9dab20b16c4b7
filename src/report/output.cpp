#include "report/output.h"

#include <cerrno>
#include <cstring>

namespace openimb {

namespace {

bool try_write(std::FILE* out, const std::string& text, const OutputName& name, bool& ok) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  const bool flushed = std::fflush(out) == 0;
  if (written && flushed) return true;
  const int error = errno;
  std::clearerr(out);
  if (ok) {
    const char* const why = error != 0 ? std::strerror(error) : "unknown error";
    std::fprintf(stderr, "%s: cannot write %s: %s\n", name.program.c_str(), name.name.c_str(), why);
  }
  ok = false;
  return false;
}

}  // namespace

void write_and_flush(std::FILE* out, const std::string& text, const OutputName& name, bool& ok) {
  try_write(out, text, name, ok);
}

LineOutput::LineOutput(std::FILE* out, const std::string& path, const LineFile& file)
    : out_(out), name_{.program = "IMB", .name = '"' + path + '"'}, file_(file) {
  // Without a buffer, no part of a failed line can be written later.
  std::setvbuf(out, nullptr, _IONBF, 0);
}

void LineOutput::write(const std::string& lines) {
  const long long start = file_.position != nullptr ? file_.position(out_) : -1;
  if (try_write(out_, lines, name_, ok_)) return;
  if (file_.truncate != nullptr && start >= 0) file_.truncate(out_, start);
}

}  // namespace openimb
