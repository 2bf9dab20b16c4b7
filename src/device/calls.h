// Loads a driver, looks up its functions and converts its errors to text. Used in this folder only.
#pragma once

#include <span>
#include <string>

#include "device/driver.h"
#include "system/library.h"

namespace openimb {

/// Possible names of a library, in order of preference.
using LibraryNames = std::span<const char* const>;

/// Loads the first library that exists. Throws DeviceError.
system::Library load_driver(LibraryNames names);

/// Sets `function` to the library's function `name`. Throws DeviceError if the library does not have it.
template <class Function>
void look_up(const system::Library& library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(library.find(name));
  if (function == nullptr) {
    throw DeviceError(std::string(library.name()) + ": no function " + name + "; update the driver");
  }
}

/// Makes an error such as "cuMemAlloc: out of memory (2)". `name`: documented name of the call. `text`: the
/// driver's description of the error, or null.
DeviceError error_of_call(const char* name, const char* text, int code);

}  // namespace openimb
