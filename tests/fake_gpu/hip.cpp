// A fake libamdhip64.so.6. Devices are chosen by thread; there is no context. Source: HIP Runtime API,
// reference manual.
#include <cstdio>

#include "driver.h"

namespace {

using namespace fake_gpu;

thread_local int current = 0;

bool is_gpu(int gpu) { return gpu >= 0 && gpu < gpus(); }

int enter(const char* name) {
  if (const int code = failure(name); code != success) return code;
  return gpus() > 0 ? success : no_device;
}

[[gnu::destructor]] void at_end() { report("hip"); }

}  // namespace

#define ENTER(name) \
  if (const int code = enter(#name); code != success) return code
#define ENTER_FOR(name, gpu) \
  ENTER(name);               \
  if (!is_gpu(gpu)) return invalid_device

extern "C" {

const char* hipGetErrorString(int of) {
  const char* const text = text_of(of);
  return text != nullptr ? text : "unknown error";
}
int hipInit(unsigned flags) {
  ENTER(hipInit);
  return flags == 0 ? success : invalid_value;
}
int hipDriverGetVersion(int* version) {
  ENTER(hipDriverGetVersion);
  *version = 60342134;
  return success;
}
int hipRuntimeGetVersion(int* version) {
  ENTER(hipRuntimeGetVersion);
  *version = 60342134;
  return success;
}
int hipGetDeviceCount(int* count) {
  ENTER(hipGetDeviceCount);
  *count = gpus();
  return success;
}
int hipDeviceGetName(char* name, int length, int gpu) {
  ENTER_FOR(hipDeviceGetName, gpu);
  std::snprintf(name, static_cast<std::size_t>(length), "Fake HIP GPU %d", gpu);
  return success;
}
int hipDeviceGetPCIBusId(char* name, int length, int gpu) {
  ENTER_FOR(hipDeviceGetPCIBusId, gpu);
  std::snprintf(name, static_cast<std::size_t>(length), "0000:%02x:00.0", 0xc1 + gpu);
  return success;
}
int hipDeviceTotalMem(std::size_t* bytes, int gpu) {
  ENTER_FOR(hipDeviceTotalMem, gpu);
  *bytes = bytes_of_gpu();
  return success;
}
int hipDeviceGetAttribute(int* value, int, int gpu) {
  ENTER_FOR(hipDeviceGetAttribute, gpu);
  *value = 1 << 20;
  return success;
}
int hipSetDevice(int gpu) {
  ENTER_FOR(hipSetDevice, gpu);
  current = gpu;
  return success;
}
int hipDeviceSynchronize() {
  ENTER(hipDeviceSynchronize);
  return success;
}
int hipMalloc(std::byte** made, std::size_t bytes) {
  ENTER(hipMalloc);
  return allocate(Kind::device, current, bytes, made);
}
int hipFree(std::byte* begin) {
  ENTER(hipFree);
  return release(false, begin);
}
int hipMallocManaged(std::byte** made, std::size_t bytes, unsigned flags) {
  ENTER(hipMallocManaged);
  return flags == 1 ? allocate(Kind::managed, current, bytes, made) : invalid_value;
}
int hipHostMalloc(std::byte** made, std::size_t bytes, unsigned) {
  ENTER(hipHostMalloc);
  return allocate(Kind::pinned, current, bytes, made);
}
int hipHostFree(std::byte* begin) {
  ENTER(hipHostFree);
  return release(true, begin);
}
int hipMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  ENTER(hipMemcpy);
  constexpr int into_device = 1, to_host = 2;
  if (kind != into_device && kind != to_host) return invalid_value;
  return copy(to, from, bytes, kind == into_device);
}

}  // extern "C"
