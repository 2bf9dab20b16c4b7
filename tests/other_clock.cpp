// Interposed by LD_PRELOAD: the rank FAIL_RANK (inject.h) is told of another boot or time namespace than it
// has, as where containers of one host name run on two systems, or have clocks of their own.
//   OTHER_BOOT=path       a file to read instead of the identity of the boot
//   OTHER_TIME_SPACE=text what names the time namespace
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "inject.h"

namespace {

const char* replaced(const char* path, const char* original, const char* variable) {
  return inject::here() && std::strcmp(path, original) == 0 ? std::getenv(variable) : nullptr;
}

std::FILE* open_file(const char* function, const char* path, const char* mode) {
  const auto next = reinterpret_cast<std::FILE* (*)(const char*, const char*)>(dlsym(RTLD_NEXT, function));
  const char* const other = replaced(path, "/proc/sys/kernel/random/boot_id", "OTHER_BOOT");
  if (other != nullptr) inject::announce("another boot");
  return next(other != nullptr ? other : path, mode);
}

}  // namespace

// std::ifstream opens by one of the two.
extern "C" std::FILE* fopen(const char* path, const char* mode) { return open_file("fopen", path, mode); }
extern "C" std::FILE* fopen64(const char* path, const char* mode) { return open_file("fopen64", path, mode); }

extern "C" ssize_t readlink(const char* path, char* text, size_t size) {
  static const auto next =
      reinterpret_cast<ssize_t (*)(const char*, char*, size_t)>(dlsym(RTLD_NEXT, "readlink"));
  const char* const other = replaced(path, "/proc/self/ns/time", "OTHER_TIME_SPACE");
  if (other == nullptr) return next(path, text, size);
  inject::announce("another time namespace");
  const size_t length = std::min(size, std::strlen(other));
  std::memcpy(text, other, length);
  return static_cast<ssize_t>(length);
}
