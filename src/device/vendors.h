// GPUs through one vendor's driver, from a library with one of `names`: devices.cpp passes the real names,
// unit tests the names of fakes.
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
