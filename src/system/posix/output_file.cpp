#include "system/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

namespace openimb::system {

namespace {

bool is_regular(int descriptor) {
  struct stat facts{};
  return fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode);
}

bool truncate(int descriptor, off_t position) {
  return position >= 0 && is_regular(descriptor) && ftruncate(descriptor, position) == 0 &&
         lseek(descriptor, position, SEEK_SET) == position;
}

}  // namespace

std::FILE* open_output(const std::string& path, std::string* created) {
  constexpr int flags = O_WRONLY | O_CREAT | O_CLOEXEC, mode = 0666;
  int descriptor = open(path.c_str(), flags | O_EXCL, mode);
  bool is_new = descriptor >= 0;
  if (!is_new) {
    // O_EXCL also fails for a link to a file that does not exist.
    is_new = access(path.c_str(), F_OK) != 0;
    descriptor = open(path.c_str(), flags, mode);
  }
  if (descriptor < 0) return nullptr;
  std::FILE* const file = fdopen(descriptor, "w");
  if (file == nullptr) close(descriptor);
  if (created != nullptr) {
    const std::unique_ptr<char, decltype(&std::free)> target(realpath(path.c_str(), nullptr), std::free);
    *created = is_new && target ? target.get() : "";
  }
  return file;
}

bool empty_file(std::FILE* file) { return !is_regular(fileno(file)) || ftruncate(fileno(file), 0) == 0; }

bool are_one_file(std::FILE* a, std::FILE* b) {
  struct stat first{}, second{};
  return fstat(fileno(a), &first) == 0 && fstat(fileno(b), &second) == 0 && S_ISREG(first.st_mode) &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

int descriptor_of(std::FILE* file) { return fileno(file); }

long long file_position(std::FILE* file) { return lseek(fileno(file), 0, SEEK_CUR); }

bool truncate_file(std::FILE* file, long long position) {
  return truncate(fileno(file), static_cast<off_t>(position));
}

bool write_all(int descriptor, const char* text, std::size_t length) noexcept {
  const off_t start = lseek(descriptor, 0, SEEK_CUR);
  while (length > 0) {
    const ssize_t count = write(descriptor, text, length);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      truncate(descriptor, start);
      return false;
    }
    text += count;
    length -= static_cast<std::size_t>(count);
  }
  return true;
}

bool stderr_is_terminal() { return isatty(STDERR_FILENO) == 1; }

void occupy_standard_streams() {
  // Each open gets the lowest free number. The streams are opened for the other direction, so that reading or
  // writing fails as on a closed stream.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    const int mode = stream == STDIN_FILENO ? O_WRONLY : stream == STDOUT_FILENO ? O_RDONLY : O_RDWR;
    if (open("/dev/null", mode) < 0) return;
  }
}

}  // namespace openimb::system
