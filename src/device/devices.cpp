// The names of the drivers' libraries on Linux and on Windows.
#include "device/driver.h"
#include "device/vendors.h"
#include "system/library.h"

namespace openimb {

namespace {

LibraryNames library_names(GpuApi api) {
  static constexpr const char* cuda[] = {"libcuda.so.1"};
  static constexpr const char* cuda_windows[] = {"nvcuda.dll"};
  static constexpr const char* hip[] = {"libamdhip64.so.6", "libamdhip64.so.7", "libamdhip64.so.5",
                                        "libamdhip64.so"};
  static constexpr const char* hip_windows[] = {"amdhip64_6.dll", "amdhip64_7.dll", "amdhip64.dll"};
  if (system::libraries_are_dlls) return api == GpuApi::cuda ? LibraryNames(cuda_windows) : hip_windows;
  return api == GpuApi::cuda ? LibraryNames(cuda) : hip;
}

}  // namespace

int count_devices(GpuApi api) {
  return api == GpuApi::cuda ? count_cuda_devices(library_names(api)) : count_hip_devices(library_names(api));
}

std::unique_ptr<Device> open_device(GpuApi api, int index) {
  return api == GpuApi::cuda ? open_cuda_device(library_names(api), index)
                             : open_hip_device(library_names(api), index);
}

}  // namespace openimb
