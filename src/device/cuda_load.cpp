#include "device/cuda_load.h"

#include <new>

namespace openimb::cuda {

namespace {

constexpr unsigned threads = 256;

// For all GPUs since the first Maxwell, by drivers since CUDA 11. A unit: 8 dependent multiply-adds, some 20
// ns. x -> x / 2 + 1 stays finite, and what is stored depends on all of them.
constexpr const char* kernel_name = "openimb_load";
constexpr const char* text = R"(.version 6.0
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

}  // namespace

LoadKernel::LoadKernel(const Calls& calls, Handle device) : calls_(calls) {
  try {
    make(device);
  } catch (...) {
    give_back();
    throw;
  }
}

void LoadKernel::make(Handle device) {
  int multiprocessors = 0;
  calls_.require(calls_.attribute(&multiprocessors, multiprocessor_count, device), "cuDeviceGetAttribute");
  if (multiprocessors > 0) blocks_ = static_cast<unsigned>(multiprocessors);
  calls_.require(calls_.load_module(&module_, text), "cuModuleLoadData");
  calls_.require(calls_.function(&function_, module_, kernel_name), "cuModuleGetFunction");
  const int code = calls_.allocate(&results_, threads * sizeof(float));
  if (code == out_of_memory) throw std::bad_alloc();
  calls_.require(code, "cuMemAlloc");
  calls_.require(calls_.create_stream(&stream_, non_blocking), "cuStreamCreate");
}

void LoadKernel::give_back() noexcept {
  if (stream_ != nullptr) calls_.destroy_stream(stream_);
  if (results_ != 0) calls_.release(results_);
  if (module_ != nullptr) calls_.unload_module(module_);
}

// Parameters are copied before the call returns.
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

}  // namespace openimb::cuda
