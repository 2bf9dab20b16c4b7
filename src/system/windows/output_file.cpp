#include "system/output_file.h"

#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>
#include <windows.h>

namespace openimb::system {

namespace {

bool is_regular(int descriptor) {
  struct _stat64 facts{};
  return _fstat64(descriptor, &facts) == 0 && (facts.st_mode & _S_IFMT) == _S_IFREG;
}

bool truncate(int descriptor, long long position) {
  return position >= 0 && is_regular(descriptor) && _chsize_s(descriptor, position) == 0 &&
         _lseeki64(descriptor, position, SEEK_SET) == position;
}

}  // namespace

// Binary mode: lines of records end with '\n' on all systems.
std::FILE* open_output(const std::string& path, std::string* created) {
  constexpr int flags = _O_WRONLY | _O_CREAT | _O_BINARY | _O_NOINHERIT, mode = _S_IREAD | _S_IWRITE;
  int descriptor = _open(path.c_str(), flags | _O_EXCL, mode);
  if (created != nullptr) *created = descriptor >= 0 ? path : "";
  if (descriptor < 0) descriptor = _open(path.c_str(), flags, mode);
  if (descriptor < 0) return nullptr;
  std::FILE* const file = _fdopen(descriptor, "wb");
  if (file == nullptr) _close(descriptor);
  return file;
}

bool empty_file(std::FILE* file) {
  return !is_regular(descriptor_of(file)) || _chsize_s(descriptor_of(file), 0) == 0;
}

bool are_one_file(std::FILE* a, std::FILE* b) {
  const auto facts_of = [](std::FILE* file, BY_HANDLE_FILE_INFORMATION& facts) {
    const int descriptor = descriptor_of(file);
    return is_regular(descriptor) &&
           GetFileInformationByHandle(reinterpret_cast<HANDLE>(_get_osfhandle(descriptor)), &facts) != 0;
  };
  BY_HANDLE_FILE_INFORMATION first{}, second{};
  return facts_of(a, first) && facts_of(b, second) &&
         first.dwVolumeSerialNumber == second.dwVolumeSerialNumber &&
         first.nFileIndexHigh == second.nFileIndexHigh && first.nFileIndexLow == second.nFileIndexLow;
}

int descriptor_of(std::FILE* file) { return _fileno(file); }

long long file_position(std::FILE* file) {
  const int descriptor = descriptor_of(file);
  return is_regular(descriptor) ? _lseeki64(descriptor, 0, SEEK_CUR) : -1;
}

bool truncate_file(std::FILE* file, long long position) { return truncate(descriptor_of(file), position); }

bool write_all(int descriptor, const char* text, std::size_t length) noexcept {
  const long long start = _lseeki64(descriptor, 0, SEEK_CUR);
  while (length > 0) {
    const int count = _write(descriptor, text, static_cast<unsigned>(length));
    if (count <= 0) {
      truncate(descriptor, start);
      return false;
    }
    text += count;
    length -= static_cast<std::size_t>(count);
  }
  return true;
}

bool stderr_is_terminal() { return _isatty(descriptor_of(stderr)) != 0; }

// Windows gives no socket or file the number of a standard stream.
void occupy_standard_streams() {}

}  // namespace openimb::system
