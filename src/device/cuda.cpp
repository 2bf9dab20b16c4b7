// NVIDIA's GPUs.
#include <array>
#include <new>
#include <optional>

#include "device/cuda_calls.h"
#include "device/cuda_load.h"
#include "device/vendors.h"

namespace openimb {

namespace {

using cuda::Calls;

// One that may be shared: with a runtime of CUDA in the MPI, which uses the same.
class PrimaryContext {
 public:
  PrimaryContext(const Calls& calls, int index) : calls_(calls) {
    calls_.require(calls_.device(&device_, index), "cuDeviceGet");
    calls_.require(calls_.retain_primary(&context_, device_), "cuDevicePrimaryCtxRetain");
  }
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;
  ~PrimaryContext() {
    calls_.set_current(nullptr);
    calls_.release_primary(device_);
  }
  int make_current() const noexcept { return calls_.set_current(context_); }
  cuda::Handle device() const { return device_; }

 private:
  const Calls& calls_;
  cuda::Handle device_ = 0;
  cuda::Context* context_ = nullptr;
};

// 12080: 12.8.
std::string driver_version(const Calls& calls) {
  int version = 0;
  calls.require(calls.driver_version(&version), "cuDriverGetVersion");
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

DeviceFacts facts_of(const Calls& calls, int index) {
  cuda::Handle device = 0;
  std::array<char, 256> name{};
  std::array<char, 64> bus_address{};
  std::size_t memory_bytes = 0;
  const auto attribute = [&](int which) {
    int value = 0;
    calls.require(calls.attribute(&value, which, device), "cuDeviceGetAttribute");
    return value;
  };
  std::string driver = driver_version(calls);
  calls.require(calls.device(&device, index), "cuDeviceGet");
  calls.require(calls.device_name(name.data(), static_cast<int>(name.size()), device), "cuDeviceGetName");
  calls.require(calls.bus_address(bus_address.data(), static_cast<int>(bus_address.size()), device),
                "cuDeviceGetPCIBusId");
  calls.require(calls.total_memory(&memory_bytes, device), "cuDeviceTotalMem");
  return {.api = DeviceApi::cuda,
          .index = index,
          .name = name.data(),
          .driver = std::move(driver),
          .bus_address = bus_address.data(),
          .memory_bytes = static_cast<std::int64_t>(memory_bytes),
          .l2_bytes = attribute(cuda::l2_cache_bytes),
          .has_managed_memory = attribute(cuda::managed_memory) != 0,
          .concurrent_managed_access = attribute(cuda::concurrent_managed_access) != 0};
}

class CudaDevice final : public Device {
 public:
  CudaDevice(LibraryNames names, int index)
      : calls_(names), facts_(facts_of(calls_, index)), context_(calls_, index) {
    attach_thread();
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  ~CudaDevice() override {
    context_.make_current();  // any thread may be the last one
    load_.reset();
  }

  const DeviceFacts& facts() const override { return facts_; }
  void attach_thread() override { calls_.require(context_.make_current(), "cuCtxSetCurrent"); }

  std::byte* allocate(DeviceMemory kind, std::int64_t bytes) override;
  void give_back(DeviceMemory kind, std::byte* address) noexcept override;
  void copy_in(std::byte* to, const std::byte* from, std::int64_t bytes) override;
  void copy_out(std::byte* to, const std::byte* from, std::int64_t bytes) override;
  void synchronize() override { calls_.require(calls_.synchronize(), "cuCtxSynchronize"); }

  void prepare_load() override {
    if (!load_) load_.emplace(calls_, context_.device());
  }
  void start_load(std::int64_t units) override { load_->start(units); }
  bool load_is_done() override { return load_->is_done(); }
  void wait_for_load() override { load_->wait(); }

 private:
  const Calls calls_;
  const DeviceFacts facts_;
  const PrimaryContext context_;
  std::optional<cuda::LoadKernel> load_;
};

std::byte* CudaDevice::allocate(DeviceMemory kind, std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  cuda::Address made = 0;
  int code = cuda::success;
  const char* name = "cuMemAlloc";
  if (kind == DeviceMemory::device) {
    code = calls_.allocate(&made, size);
  } else if (kind == DeviceMemory::managed) {
    name = "cuMemAllocManaged";
    code = calls_.allocate_managed(&made, size, cuda::attach_global);
  } else {
    name = "cuMemHostAlloc";
    void* begin = nullptr;
    code = calls_.allocate_host(&begin, size, 0);
    made = reinterpret_cast<std::uintptr_t>(begin);
  }
  if (code == cuda::out_of_memory) throw std::bad_alloc();
  calls_.require(code, name);
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(made));
}

// An error here is an earlier one of the device: the next call that can throw reports it.
void CudaDevice::give_back(DeviceMemory kind, std::byte* address) noexcept {
  if (kind == DeviceMemory::pinned) {
    calls_.free_host(address);
  } else {
    calls_.release(reinterpret_cast<std::uintptr_t>(address));
  }
}

// The driver's call may return while the last bytes are on their way.
void CudaDevice::copy_in(std::byte* to, const std::byte* from, std::int64_t bytes) {
  calls_.require(calls_.copy_in(reinterpret_cast<std::uintptr_t>(to), from, static_cast<std::size_t>(bytes)),
                 "cuMemcpyHtoD");
  synchronize();
}

void CudaDevice::copy_out(std::byte* to, const std::byte* from, std::int64_t bytes) {
  calls_.require(calls_.copy_out(to, reinterpret_cast<std::uintptr_t>(from), static_cast<std::size_t>(bytes)),
                 "cuMemcpyDtoH");
}

}  // namespace

int count_cuda_devices(LibraryNames names) {
  const Calls calls(names);
  int count = 0;
  calls.require(calls.device_count(&count), "cuDeviceGetCount");
  return count;
}

std::unique_ptr<Device> open_cuda_device(LibraryNames names, int index) {
  return std::make_unique<CudaDevice>(names, index);
}

}  // namespace openimb
