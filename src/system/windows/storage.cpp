#include "system/storage.h"

#include <windows.h>

#include <array>
#include <limits>

#include "system/file_facts.h"
#include "system/windows/last_error.h"

namespace openimb::system {

namespace {

// Opens a file or folder to query it (rights 0), or to check `rights`. The flag allows folders.
HANDLE open_existing(const std::string& path, DWORD rights) {
  return CreateFileA(path.c_str(), rights, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                     OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
}

}  // namespace

std::int64_t free_bytes(const std::string& folder) {
  ULARGE_INTEGER bytes{};
  if (GetDiskFreeSpaceExA(folder.c_str(), &bytes, nullptr, nullptr) == 0) {
    return std::numeric_limits<std::int64_t>::max();
  }
  return static_cast<std::int64_t>(bytes.QuadPart);
}

std::string file_system_type(const std::string& folder) {
  std::array<char, MAX_PATH + 1> volume{}, type{};
  const bool known =
      GetVolumePathNameA(folder.c_str(), volume.data(), static_cast<DWORD>(volume.size())) != 0 &&
      GetVolumeInformationA(volume.data(), nullptr, 0, nullptr, nullptr, nullptr, type.data(),
                            static_cast<DWORD>(type.size())) != 0;
  return known ? type.data() : "";
}

std::string creation_error(const std::string& folder) {
  const HANDLE opened = open_existing(folder, FILE_ADD_FILE);
  if (opened == INVALID_HANDLE_VALUE) return error_text(GetLastError());
  CloseHandle(opened);
  return "";
}

std::optional<FileIdentity> identity_of(const std::string& path) {
  const HANDLE opened = open_existing(path, 0);
  if (opened == INVALID_HANDLE_VALUE) return std::nullopt;
  BY_HANDLE_FILE_INFORMATION facts{};
  const bool known = GetFileInformationByHandle(opened, &facts) != 0;
  CloseHandle(opened);
  if (!known) return std::nullopt;
  return FileIdentity{facts.dwVolumeSerialNumber,
                      std::uint64_t{facts.nFileIndexHigh} << 32 | facts.nFileIndexLow};
}

}  // namespace openimb::system
