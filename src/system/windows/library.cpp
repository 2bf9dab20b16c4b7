#include "system/library.h"

#include <windows.h>
// After windows.h.
#include <psapi.h>

#include <algorithm>
#include <array>
#include <string>

#include "system/windows/last_error.h"

namespace openimb::system {

const bool libraries_are_dlls = true;

// Does not search the current folder, which another user may own.
Library::Library(std::span<const char* const> names) {
  for (const char* const name : names) {
    if (GetModuleHandleExA(0, name, reinterpret_cast<HMODULE*>(&handle_)) != 0) {
      name_ = name;
      return;
    }
  }
  std::string first;
  for (const char* const name : names) {
    handle_ = LoadLibraryExA(name, nullptr, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
    if (handle_ != nullptr) {
      name_ = name;
      return;
    }
    const DWORD error = GetLastError();
    const std::string text = std::string(name) + ": " + error_text(error);
    if (error != ERROR_MOD_NOT_FOUND) throw LibraryError(text);
    if (first.empty()) first = text;
  }
  throw LibraryError(first);
}

void* Library::find(const char* function) const {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(handle_), function));
}

void* find_function(const char* name) {
  std::array<HMODULE, 1024> modules{};
  DWORD bytes = 0;
  const HANDLE self = GetCurrentProcess();
  if (EnumProcessModules(self, modules.data(), sizeof modules, &bytes) == 0) return nullptr;
  const std::size_t count = std::min<std::size_t>(bytes / sizeof(HMODULE), modules.size());
  for (std::size_t i = 0; i < count; ++i) {
    void* const found = reinterpret_cast<void*>(GetProcAddress(modules[i], name));
    if (found != nullptr) return found;
  }
  return nullptr;
}

}  // namespace openimb::system
