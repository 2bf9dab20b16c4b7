// One GPU of this process, through the vendor's driver, which is loaded at run time: executables depend on no
// vendor's library. Sources: CUDA Driver API and HIP Runtime API, reference manuals.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "model/memory_kind.h"

namespace openimb {

/// device: on the GPU; managed: migrates between host and GPU; pinned: on the host, page-locked.
enum class DeviceMemory { device, managed, pinned };

/// Properties of a GPU. `index`: among the GPUs that this process sees.
struct DeviceFacts {
  GpuApi api = GpuApi::cuda;
  int index = 0;
  std::string name;
  std::string driver;       ///< version: "12.8"
  std::string bus_address;  ///< "0000:17:00.0"
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;  ///< 0: unknown
  bool has_managed_memory = false;
  bool concurrent_managed_access = false;  ///< by the host, while a kernel runs
  bool operator==(const DeviceFacts&) const = default;
};

/// A driver that is missing, or a call of it that failed: "cuMemcpyHtoD: out of memory (2)".
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceFacts& facts() const = 0;
  /// Makes it the device of the calling thread. Throws DeviceError.
  virtual void attach_thread() = 0;
  /// Throws std::bad_alloc where there is not enough memory, otherwise DeviceError.
  virtual std::byte* allocate(DeviceMemory kind, std::int64_t bytes) = 0;
  virtual void deallocate(DeviceMemory kind, std::byte* address) noexcept = 0;
  /// Complete when they return. Throw DeviceError.
  virtual void copy_in(std::byte* to, const std::byte* from, std::int64_t bytes) = 0;
  virtual void copy_out(std::byte* to, const std::byte* from, std::int64_t bytes) = 0;
  virtual void synchronize() = 0;
  /// Starts computation of so many units on a stream of its own and returns; wait_for_load() returns when all
  /// of it is done. The first prepare_load() compiles it. Throw DeviceError.
  virtual void prepare_load() = 0;
  virtual void start_load(std::int64_t units) = 0;
  virtual bool load_is_done() = 0;
  virtual void wait_for_load() = 0;
};

/// How many GPUs this process sees. Throws DeviceError if the driver is missing: "libcuda.so.1: cannot open
/// shared object file".
int count_devices(GpuApi api);

/// Throws DeviceError. Its memory must be freed before it.
std::unique_ptr<Device> open_device(GpuApi api, int index);

}  // namespace openimb
