// Opens GPUs with the driver of one vendor. `names`: possible names of the driver's library. devices.cpp
// passes the real names, and unit tests pass the names of fakes.
#pragma once

#include <memory>

#include "device/calls.h"
#include "device/driver.h"

namespace openimb {

int count_cuda_devices(LibraryNames names);
std::unique_ptr<Device> open_cuda_device(LibraryNames names, int index);

int count_hip_devices(LibraryNames names);
std::unique_ptr<Device> open_hip_device(LibraryNames names, int index);

}  // namespace openimb
