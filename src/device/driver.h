// A GPU of this process. The vendor's driver is loaded at run time, so that executables depend on no vendor's
// library. Sources: CUDA Driver API and HIP Runtime API, reference manuals.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "model/memory_kind.h"

namespace openimb {

/// device: memory of the GPU. managed: memory that migrates between host and GPU. pinned: page-locked host
/// memory.
enum class DeviceMemory { device, managed, pinned };

/// Properties of a GPU. `index`: its index among the GPUs that this process sees.
struct DeviceFacts {
  GpuApi api = GpuApi::cuda;
  int index = 0;
  std::string name;
  std::string driver;       ///< version: "12.8"
  std::string bus_address;  ///< "0000:17:00.0"
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;  ///< 0: unknown
  bool has_managed_memory = false;
  bool concurrent_managed_access = false;  ///< the host may access managed memory while a kernel runs
  bool operator==(const DeviceFacts&) const = default;
};

/// The driver is missing, or one of its calls failed: "cuMemcpyHtoD: out of memory (2)".
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A GPU that is open for this process.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceFacts& facts() const = 0;
  /// Makes this the device of the calling thread. Throws DeviceError.
  virtual void attach_thread() = 0;
  /// Throws std::bad_alloc if there is not enough memory, and DeviceError for other errors.
  virtual std::byte* allocate(DeviceMemory kind, std::int64_t bytes) = 0;
  virtual void deallocate(DeviceMemory kind, std::byte* address) noexcept = 0;
  /// Copy to and from the GPU. The copy is complete when they return. They throw DeviceError.
  virtual void copy_in(std::byte* to, const std::byte* from, std::int64_t bytes) = 0;
  virtual void copy_out(std::byte* to, const std::byte* from, std::int64_t bytes) = 0;
  virtual void synchronize() = 0;
  /// prepare_load() compiles the kernel when it is called for the first time. start_load() starts a
  /// computation of `units` units on its own stream and returns at once. wait_for_load() returns when all
  /// computations are done. They throw DeviceError.
  virtual void prepare_load() = 0;
  virtual void start_load(std::int64_t units) = 0;
  virtual bool load_is_done() = 0;
  virtual void wait_for_load() = 0;
};

/// Number of GPUs that this process sees. Throws DeviceError if the driver is missing: "libcuda.so.1: cannot
/// open shared object file".
int count_devices(GpuApi api);

/// Opens a GPU. Throws DeviceError. Its memory must be freed before the device is destroyed.
std::unique_ptr<Device> open_device(GpuApi api, int index);

}  // namespace openimb
