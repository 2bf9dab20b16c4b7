#include "system/library.h"

#include <dlfcn.h>

#include <string>

namespace openimb::system {

const bool libraries_are_dlls = false;

namespace {

// Puts the name in front, unless the error begins with it. dlerror() begins with the path of a file that was
// found, but not always with the requested name.
std::string name_and_error(const char* name, const std::string& error) {
  return error.starts_with(name) ? error : std::string(name) + ": " + error;
}

// Whether the library itself does not exist. If it exists, it or a library that it needs cannot be used.
bool is_missing(const char* name, const std::string& error) {
  return error.find("No such file") != error.npos && error.find(std::string(name) + ":") != error.npos;
}

}  // namespace

Library::Library(std::span<const char* const> names) {
  for (const char* const name : names) {
    handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle_ != nullptr) {
      name_ = name;
      return;
    }
  }
  std::string first;
  for (const char* const name : names) {
    handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      name_ = name;
      return;
    }
    const char* const text = dlerror();
    const std::string error = text != nullptr ? text : "cannot be loaded";
    if (!is_missing(name, error)) throw LibraryError(name_and_error(name, error));
    if (first.empty()) first = name_and_error(name, error);
  }
  throw LibraryError(first);
}

void* Library::find(const char* function) const { return dlsym(handle_, function); }

void* find_function(const char* name) { return dlsym(RTLD_DEFAULT, name); }

}  // namespace openimb::system
