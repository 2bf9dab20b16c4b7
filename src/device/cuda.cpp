// NVIDIA's GPUs, through the CUDA Driver API.
#include <array>
#include <cstdint>
#include <new>
#include <optional>

#include "device/cuda_calls.h"
#include "device/vendors.h"

namespace openimb {

namespace cuda {

Calls::Calls(LibraryNames names) {
  const system::Library library = load_driver(names);
  look_up(library, "cuInit", init);
  look_up(library, "cuGetErrorString", error_string);
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
  look_up(library, "cuMemAlloc_v2", allocate);
  look_up(library, "cuMemFree_v2", release);
  look_up(library, "cuMemAllocManaged", allocate_managed);
  look_up(library, "cuMemHostAlloc", allocate_host);
  look_up(library, "cuMemFreeHost", free_host);
  look_up(library, "cuMemcpyHtoD_v2", copy_in);
  look_up(library, "cuMemcpyDtoH_v2", copy_out);
  look_up(library, "cuModuleLoadData", load_module);
  look_up(library, "cuModuleUnload", unload_module);
  look_up(library, "cuModuleGetFunction", function);
  look_up(library, "cuLaunchKernel", launch);
  look_up(library, "cuStreamCreate", create_stream);
  look_up(library, "cuStreamDestroy_v2", destroy_stream);
  look_up(library, "cuStreamSynchronize", synchronize_stream);
  look_up(library, "cuStreamQuery", query_stream);
  require(init(0), "cuInit");
}

DeviceError Calls::error(int code, const char* name) const {
  const char* text = nullptr;
  if (error_string(code, &text) != success) text = nullptr;
  return error_of_call(name, text, code);
}

namespace {

constexpr unsigned threads = 256;

// The kernel runs on all GPUs since the first Maxwell, with drivers since CUDA 11. A unit is 8 dependent
// multiply-adds, which take some 20 ns. x -> x / 2 + 1 stays finite, and the stored value depends on every
// step.
constexpr const char* kernel_name = "openimb_load";
constexpr const char* kernel_ptx = R"(.version 6.0
.target sm_50
.address_size 64

.visible .entry openimb_load(
    .param .u64 units,
    .param .u64 results
)
{
    .reg .pred %more;
    .reg .b32 %thread;
    .reg .f32 %value, %half, %one;
    .reg .b64 %left, %place, %offset;

    ld.param.u64 %left, [units];
    ld.param.u64 %place, [results];
    cvta.to.global.u64 %place, %place;
    mov.u32 %thread, %tid.x;
    mul.wide.u32 %offset, %thread, 4;
    add.s64 %place, %place, %offset;
    cvt.rn.f32.u32 %value, %thread;
    mov.f32 %half, 0f3F000000;
    mov.f32 %one, 0f3F800000;
    setp.le.s64 %more, %left, 0;
    @%more bra DONE;
UNIT:
    fma.rn.f32 %value, %value, %half, %one;
    fma.rn.f32 %value, %value, %half, %one;
    fma.rn.f32 %value, %value, %half, %one;
    fma.rn.f32 %value, %value, %half, %one;
    fma.rn.f32 %value, %value, %half, %one;
    fma.rn.f32 %value, %value, %half, %one;
    fma.rn.f32 %value, %value, %half, %one;
    fma.rn.f32 %value, %value, %half, %one;
    add.s64 %left, %left, -1;
    setp.gt.s64 %more, %left, 0;
    @%more bra UNIT;
DONE:
    st.global.f32 [%place], %value;
    ret;
}
)";

/// A kernel with one block of threads per multiprocessor, which leaves room for kernels of the MPI. The
/// device's context must be current during all calls, including the destructor.
class LoadKernel {
 public:
  /// Compiles the kernel. Throws DeviceError or std::bad_alloc.
  LoadKernel(const Calls& calls, Handle device);
  LoadKernel(const LoadKernel&) = delete;
  LoadKernel& operator=(const LoadKernel&) = delete;
  ~LoadKernel() { free_resources(); }

  void start(std::int64_t units);
  bool is_done();
  void wait();

 private:
  void make(Handle device);
  void free_resources() noexcept;

  const Calls& calls_;
  Module* module_ = nullptr;
  Function* function_ = nullptr;
  Stream* stream_ = nullptr;
  Address results_ = 0;  ///< array with a result for each thread of a block
  unsigned blocks_ = 1;
};

LoadKernel::LoadKernel(const Calls& calls, Handle device) : calls_(calls) {
  try {
    make(device);
  } catch (...) {
    free_resources();
    throw;
  }
}

void LoadKernel::make(Handle device) {
  int multiprocessors = 0;
  calls_.require(calls_.attribute(&multiprocessors, multiprocessor_count, device), "cuDeviceGetAttribute");
  if (multiprocessors > 0) blocks_ = static_cast<unsigned>(multiprocessors);
  calls_.require(calls_.load_module(&module_, kernel_ptx), "cuModuleLoadData");
  calls_.require(calls_.function(&function_, module_, kernel_name), "cuModuleGetFunction");
  const int code = calls_.allocate(&results_, threads * sizeof(float));
  if (code == out_of_memory) throw std::bad_alloc();
  calls_.require(code, "cuMemAlloc");
  calls_.require(calls_.create_stream(&stream_, non_blocking), "cuStreamCreate");
}

void LoadKernel::free_resources() noexcept {
  if (stream_ != nullptr) calls_.destroy_stream(stream_);
  if (results_ != 0) calls_.release(results_);
  if (module_ != nullptr) calls_.unload_module(module_);
}

// The driver copies the parameters before the call returns.
void LoadKernel::start(std::int64_t units) {
  void* parameters[] = {&units, &results_};
  calls_.require(calls_.launch(function_, blocks_, 1, 1, threads, 1, 1, 0, stream_, parameters, nullptr),
                 "cuLaunchKernel");
}

bool LoadKernel::is_done() {
  const int code = calls_.query_stream(stream_);
  if (code == not_ready) return false;
  calls_.require(code, "cuStreamQuery");
  return true;
}

void LoadKernel::wait() { calls_.require(calls_.synchronize_stream(stream_), "cuStreamSynchronize"); }

}  // namespace

}  // namespace cuda

namespace {

using cuda::Calls;

// The device's primary context, which a CUDA runtime in the MPI also uses.
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

// The driver's version as text: the number 12080 is version 12.8.
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
  return {.api = GpuApi::cuda,
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
    context_.make_current();  // any thread may call the destructor
    load_.reset();
  }

  const DeviceFacts& facts() const override { return facts_; }
  void attach_thread() override { calls_.require(context_.make_current(), "cuCtxSetCurrent"); }

  std::byte* allocate(DeviceMemory kind, std::int64_t bytes) override;
  void deallocate(DeviceMemory kind, std::byte* address) noexcept override;
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
  cuda::Address address = 0;
  int code = cuda::success;
  const char* name = "cuMemAlloc";
  if (kind == DeviceMemory::device) {
    code = calls_.allocate(&address, size);
  } else if (kind == DeviceMemory::managed) {
    name = "cuMemAllocManaged";
    code = calls_.allocate_managed(&address, size, cuda::attach_global);
  } else {
    name = "cuMemHostAlloc";
    void* begin = nullptr;
    code = calls_.allocate_host(&begin, size, 0);
    address = reinterpret_cast<std::uintptr_t>(begin);
  }
  if (code == cuda::out_of_memory) throw std::bad_alloc();
  calls_.require(code, name);
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
}

// Ignores errors: an error here comes from an earlier call, and the next call that can throw reports it.
void CudaDevice::deallocate(DeviceMemory kind, std::byte* address) noexcept {
  if (kind == DeviceMemory::pinned) {
    calls_.free_host(address);
  } else {
    calls_.release(reinterpret_cast<std::uintptr_t>(address));
  }
}

// Waits, because the driver's call may return before the last bytes are copied.
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
