#include "device/calls.h"

namespace openimb {

system::Library load_driver(LibraryNames names) {
  try {
    return system::Library(names);
  } catch (const system::LibraryError& error) {
    throw DeviceError(error.what());
  }
}

DeviceError error_of_call(const char* name, const char* text, int code) {
  return DeviceError(std::string(name) + ": " + (text != nullptr ? text : "error") + " (" +
                     std::to_string(code) + ")");
}

}  // namespace openimb
