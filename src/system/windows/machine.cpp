#include "system/machine.h"

#include <windows.h>

#include <array>
#include <cstddef>
#include <vector>

namespace openimb::system {

namespace {

std::string architecture() {
  SYSTEM_INFO facts{};
  GetNativeSystemInfo(&facts);
  switch (facts.wProcessorArchitecture) {
    case PROCESSOR_ARCHITECTURE_AMD64:
      return "AMD64";
    case PROCESSOR_ARCHITECTURE_ARM64:
      return "ARM64";
    default:
      return "";
  }
}

// GetVersionEx would report the version that a program declares support for.
OSVERSIONINFOW version() {
  using Get = LONG(WINAPI*)(OSVERSIONINFOW*);
  OSVERSIONINFOW facts{};
  facts.dwOSVersionInfoSize = sizeof facts;
  if (const HMODULE library = GetModuleHandleA("ntdll.dll")) {
    const auto get = reinterpret_cast<Get>(reinterpret_cast<void*>(GetProcAddress(library, "RtlGetVersion")));
    if (get != nullptr) get(&facts);
  }
  return facts;
}

}  // namespace

Machine machine() {
  const OSVERSIONINFOW facts = version();
  return {architecture(), "Windows",
          std::to_string(facts.dwMajorVersion) + "." + std::to_string(facts.dwMinorVersion),
          "build " + std::to_string(facts.dwBuildNumber)};
}

std::string host_name() {
  std::array<char, 256> name{};
  auto size = static_cast<DWORD>(name.size());
  return GetComputerNameExA(ComputerNameDnsHostname, name.data(), &size) != 0 ? name.data() : "";
}

std::int64_t process_number() { return GetCurrentProcessId(); }

Cache last_level_cache() {
  using Entry = SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX;
  DWORD size = 0;
  GetLogicalProcessorInformationEx(RelationCache, nullptr, &size);
  std::vector<std::byte> space(size);
  Cache cache;
  if (size == 0 ||
      GetLogicalProcessorInformationEx(RelationCache, reinterpret_cast<Entry*>(space.data()), &size) == 0) {
    return cache;
  }
  int highest = 0;
  for (DWORD at = 0; at < size;) {
    const auto* const entry = reinterpret_cast<const Entry*>(space.data() + at);
    if (entry->Cache.Level > highest && entry->Cache.Type != CacheInstruction) {
      highest = entry->Cache.Level;
      cache = {entry->Cache.CacheSize, entry->Cache.LineSize};
    }
    at += entry->Size;
  }
  return cache;
}

}  // namespace openimb::system
