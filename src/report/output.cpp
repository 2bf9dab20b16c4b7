#include "report/output.h"

#include <cerrno>
#include <cstring>

namespace openimb {

void write_and_flush(std::FILE* out, const std::string& text, const std::string& name, bool& ok) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  const bool flushed = std::fflush(out) == 0;
  if (written && flushed) return;
  const int error = errno;
  std::clearerr(out);
  if (ok) {
    const char* const why = error != 0 ? std::strerror(error) : "unknown error";
    std::fprintf(stderr, "IMB: cannot write %s: %s\n", name.c_str(), why);
  }
  ok = false;
}

}  // namespace openimb
