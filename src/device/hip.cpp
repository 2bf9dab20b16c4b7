// AMD's GPUs, through the HIP Runtime API. They cannot run the load, which is written in PTX. Source: HIP
// Runtime API, reference manual.
#include <array>
#include <new>

#include "device/vendors.h"

namespace openimb {

namespace {

namespace hip {

constexpr int success = 0, out_of_memory = 2;  // hipError_t
constexpr int to_device = 1, to_host = 2;      // hipMemcpyKind
// hipDeviceAttribute_t, since ROCm 5
constexpr int l2_cache_bytes = 19, managed_memory = 24, concurrent_managed_access = 9;
constexpr unsigned attach_global = 1;      // hipMemAttachGlobal
constexpr unsigned pinned_by_default = 0;  // hipHostMallocDefault

struct Calls {
  /// Loads and initializes the runtime. Throws DeviceError.
  explicit Calls(LibraryNames names);

  /// Throws DeviceError if `code`, returned by the call `name`, is an error.
  void require(int code, const char* name) const {
    if (code != success) throw error_of_call(name, error_string(code), code);
  }

  int (*init)(unsigned flags);
  const char* (*error_string)(int code);
  int (*driver_version)(int* version);
  int (*device_count)(int* count);
  int (*device_name)(char* name, int length, int device);
  int (*bus_address)(char* address, int length, int device);
  int (*total_memory)(std::size_t* bytes, int device);
  int (*attribute)(int* value, int attribute, int device);
  int (*set_device)(int device);
  int (*synchronize)();
  int (*allocate)(void** result, std::size_t bytes);
  int (*release)(void* begin);
  int (*allocate_managed)(void** result, std::size_t bytes, unsigned flags);
  int (*allocate_host)(void** result, std::size_t bytes, unsigned flags);
  int (*free_host)(void* begin);
  int (*copy)(void* to, const void* from, std::size_t bytes, int kind);
};

Calls::Calls(LibraryNames names) {
  const system::Library library = load_driver(names);
  look_up(library, "hipInit", init);
  look_up(library, "hipGetErrorString", error_string);
  look_up(library, "hipDriverGetVersion", driver_version);
  look_up(library, "hipGetDeviceCount", device_count);
  look_up(library, "hipDeviceGetName", device_name);
  look_up(library, "hipDeviceGetPCIBusId", bus_address);
  look_up(library, "hipDeviceTotalMem", total_memory);
  look_up(library, "hipDeviceGetAttribute", attribute);
  look_up(library, "hipSetDevice", set_device);
  look_up(library, "hipDeviceSynchronize", synchronize);
  look_up(library, "hipMalloc", allocate);
  look_up(library, "hipFree", release);
  look_up(library, "hipMallocManaged", allocate_managed);
  look_up(library, "hipHostMalloc", allocate_host);
  look_up(library, "hipHostFree", free_host);
  look_up(library, "hipMemcpy", copy);
  require(init(0), "hipInit");
}

}  // namespace hip

// The driver's version as text: the number 60342134 is version 6.3.42134. Releases before ROCm 5 have small
// numbers without parts.
std::string driver_version(const hip::Calls& calls) {
  constexpr int major = 10'000'000, minor = 100'000;
  int version = 0;
  calls.require(calls.driver_version(&version), "hipDriverGetVersion");
  if (version < major) return std::to_string(version);
  return std::to_string(version / major) + "." + std::to_string(version % major / minor) + "." +
         std::to_string(version % minor);
}

DeviceFacts facts_of(const hip::Calls& calls, int index) {
  std::array<char, 256> name{};
  std::array<char, 64> bus_address{};
  std::size_t memory_bytes = 0;
  const auto attribute = [&](int which) {
    int value = 0;
    calls.require(calls.attribute(&value, which, index), "hipDeviceGetAttribute");
    return value;
  };
  std::string driver = driver_version(calls);
  calls.require(calls.device_name(name.data(), static_cast<int>(name.size()), index), "hipDeviceGetName");
  calls.require(calls.bus_address(bus_address.data(), static_cast<int>(bus_address.size()), index),
                "hipDeviceGetPCIBusId");
  calls.require(calls.total_memory(&memory_bytes, index), "hipDeviceTotalMem");
  return {.api = GpuApi::rocm,
          .index = index,
          .name = name.data(),
          .driver = std::move(driver),
          .bus_address = bus_address.data(),
          .memory_bytes = static_cast<std::int64_t>(memory_bytes),
          .l2_bytes = attribute(hip::l2_cache_bytes),
          .has_managed_memory = attribute(hip::managed_memory) != 0,
          .concurrent_managed_access = attribute(hip::concurrent_managed_access) != 0};
}

class HipDevice final : public Device {
 public:
  HipDevice(LibraryNames names, int index) : calls_(names), facts_(facts_of(calls_, index)) {
    attach_thread();
  }

  const DeviceFacts& facts() const override { return facts_; }
  void attach_thread() override { calls_.require(calls_.set_device(facts_.index), "hipSetDevice"); }

  std::byte* allocate(DeviceMemory kind, std::int64_t bytes) override;
  void deallocate(DeviceMemory kind, std::byte* address) noexcept override;
  void copy_in(std::byte* to, const std::byte* from, std::int64_t bytes) override {
    copy(to, from, bytes, hip::to_device);
    synchronize();
  }
  void copy_out(std::byte* to, const std::byte* from, std::int64_t bytes) override {
    copy(to, from, bytes, hip::to_host);
  }
  void synchronize() override { calls_.require(calls_.synchronize(), "hipDeviceSynchronize"); }

  void prepare_load() override { refuse_load(); }
  void start_load(std::int64_t) override { refuse_load(); }
  bool load_is_done() override { refuse_load(); }
  void wait_for_load() override { refuse_load(); }

 private:
  [[noreturn]] static void refuse_load() { throw DeviceError("a load on the GPU needs CUDA"); }
  void copy(void* to, const void* from, std::int64_t bytes, int kind) {
    calls_.require(calls_.copy(to, from, static_cast<std::size_t>(bytes), kind), "hipMemcpy");
  }

  const hip::Calls calls_;
  const DeviceFacts facts_;
};

std::byte* HipDevice::allocate(DeviceMemory kind, std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  void* address = nullptr;
  int code = hip::success;
  const char* name = "hipMalloc";
  if (kind == DeviceMemory::device) {
    code = calls_.allocate(&address, size);
  } else if (kind == DeviceMemory::managed) {
    name = "hipMallocManaged";
    code = calls_.allocate_managed(&address, size, hip::attach_global);
  } else {
    name = "hipHostMalloc";
    code = calls_.allocate_host(&address, size, hip::pinned_by_default);
  }
  if (code == hip::out_of_memory) throw std::bad_alloc();
  calls_.require(code, name);
  return static_cast<std::byte*>(address);
}

// Ignores errors: an error here comes from an earlier call, and the next call that can throw reports it.
void HipDevice::deallocate(DeviceMemory kind, std::byte* address) noexcept {
  if (kind == DeviceMemory::pinned) {
    calls_.free_host(address);
  } else {
    calls_.release(address);
  }
}

}  // namespace

int count_hip_devices(LibraryNames names) {
  const hip::Calls calls(names);
  int count = 0;
  calls.require(calls.device_count(&count), "hipGetDeviceCount");
  return count;
}

std::unique_ptr<Device> open_hip_device(LibraryNames names, int index) {
  return std::make_unique<HipDevice>(names, index);
}

}  // namespace openimb
