// Functions of a loaded driver, and its errors as text. For this folder only.
#pragma once

#include <span>
#include <string>

#include "device/driver.h"
#include "system/library.h"

namespace openimb {

/// Candidates for a library's name, in order of preference.
using LibraryNames = std::span<const char* const>;

/// Throws DeviceError.
system::Library load_driver(LibraryNames names);

/// Throws DeviceError where the library lacks it.
template <class Function>
void look_up(const system::Library& library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(library.find(name));
  if (function == nullptr) {
    throw DeviceError(std::string(library.name()) + ": no function " + name + "; update the driver");
  }
}

/// "cuMemAlloc: out of memory (2)". `text`: of the driver, or null. `name`: the documented name of the call.
DeviceError error_of_call(const char* name, const char* text, int code);

}  // namespace openimb
