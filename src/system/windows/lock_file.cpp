#include "system/lock_file.h"

#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <array>

namespace openimb::system {

namespace {

constexpr DWORD no_link = FILE_FLAG_OPEN_REPARSE_POINT;

// Denying others to write is the lock: it is taken together with the file, and the system releases it.
HANDLE open_alone(const std::string& path) {
  return CreateFileA(path.c_str(), GENERIC_READ | GENERIC_WRITE | DELETE, FILE_SHARE_READ, nullptr,
                     OPEN_ALWAYS, FILE_ATTRIBUTE_HIDDEN | no_link, nullptr);
}

HANDLE handle_of(int file) {
  // The C library has handles as integers.
  return reinterpret_cast<HANDLE>(_get_osfhandle(file));  // NOLINT(performance-no-int-to-ptr)
}

bool is_link(HANDLE file) {
  FILE_ATTRIBUTE_TAG_INFO facts{};
  return GetFileInformationByHandleEx(file, FileAttributeTagInfo, &facts, sizeof facts) != 0 &&
         (facts.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0;
}

}  // namespace

LockedFile open_and_lock(const std::string& path) {
  // A file that its holder is deleting cannot be opened for a moment.
  constexpr int most_attempts = 20;
  HANDLE file = open_alone(path);
  for (int i = 0; i < most_attempts && file == INVALID_HANDLE_VALUE && GetLastError() == ERROR_ACCESS_DENIED;
       ++i) {
    Sleep(1);
    file = open_alone(path);
  }
  if (file == INVALID_HANDLE_VALUE) return {.is_busy = GetLastError() == ERROR_SHARING_VIOLATION};
  LARGE_INTEGER size{};
  const bool had_text = GetFileSizeEx(file, &size) != 0 && size.QuadPart > 0;
  const int descriptor = is_link(file) ? -1 : _open_osfhandle(reinterpret_cast<intptr_t>(file), _O_BINARY);
  if (descriptor < 0) CloseHandle(file);
  return {.file = descriptor, .had_text = had_text};
}

std::string text_of_lock_file(const std::string& path) {
  const HANDLE file =
      CreateFileA(path.c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                  OPEN_EXISTING, no_link, nullptr);
  if (file == INVALID_HANDLE_VALUE) return "";
  std::array<char, 512> text{};
  DWORD count = 0;
  if (ReadFile(file, text.data(), static_cast<DWORD>(text.size()), &count, nullptr) == 0) count = 0;
  CloseHandle(file);
  return {text.data(), count};
}

void replace_text(int file, const std::string& text) {
  // A full disk leaves the file empty, which another launch reads as "busy".
  if (_chsize_s(file, 0) != 0 || _lseeki64(file, 0, SEEK_SET) != 0) return;
  _write(file, text.data(), static_cast<unsigned>(text.size()));
}

void delete_locked_file(int file, const std::string&) {
  FILE_DISPOSITION_INFO deleted{TRUE};
  SetFileInformationByHandle(handle_of(file), FileDispositionInfo, &deleted, sizeof deleted);
  _close(file);
}

}  // namespace openimb::system
