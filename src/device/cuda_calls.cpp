#include "device/cuda_calls.h"

namespace openimb::cuda {

Calls::Calls(LibraryNames names) {
  const system::Library library = load_driver(names);
  look_up(library, "cuInit", init);
  look_up(library, "cuGetErrorString", error_string);
  look_up_devices(library);
  look_up_memory(library);
  look_up_kernels(library);
  require(init(0), "cuInit");
}

DeviceError Calls::error(int code, const char* name) const {
  const char* text = nullptr;
  if (error_string(code, &text) != success) text = nullptr;
  return error_of_call(name, text, code);
}

void Calls::look_up_devices(const system::Library& library) {
  look_up(library, "cuDriverGetVersion", driver_version);
  look_up(library, "cuDeviceGetCount", device_count);
  look_up(library, "cuDeviceGet", device);
  look_up(library, "cuDeviceGetName", device_name);
  look_up(library, "cuDeviceGetPCIBusId", bus_address);
  look_up(library, "cuDeviceTotalMem_v2", total_memory);
  look_up(library, "cuDeviceGetAttribute", attribute);
  look_up(library, "cuDevicePrimaryCtxRetain", retain_primary);
  look_up(library, "cuDevicePrimaryCtxRelease_v2", release_primary);
  look_up(library, "cuCtxSetCurrent", set_current);
  look_up(library, "cuCtxSynchronize", synchronize);
}

void Calls::look_up_memory(const system::Library& library) {
  look_up(library, "cuMemAlloc_v2", allocate);
  look_up(library, "cuMemFree_v2", release);
  look_up(library, "cuMemAllocManaged", allocate_managed);
  look_up(library, "cuMemHostAlloc", allocate_host);
  look_up(library, "cuMemFreeHost", free_host);
  look_up(library, "cuMemcpyHtoD_v2", copy_in);
  look_up(library, "cuMemcpyDtoH_v2", copy_out);
}

void Calls::look_up_kernels(const system::Library& library) {
  look_up(library, "cuModuleLoadData", load_module);
  look_up(library, "cuModuleUnload", unload_module);
  look_up(library, "cuModuleGetFunction", function);
  look_up(library, "cuLaunchKernel", launch);
  look_up(library, "cuStreamCreate", create_stream);
  look_up(library, "cuStreamDestroy_v2", destroy_stream);
  look_up(library, "cuStreamSynchronize", synchronize_stream);
  look_up(library, "cuStreamQuery", query_stream);
}

}  // namespace openimb::cuda
