// A fake libcuda.so.1, as strict as the real one: no call without cuInit, nor of a context that is not the
// thread's. A kernel takes the time that its first parameter says, in units of FAKE_GPU_UNIT nanoseconds
// (default 20). Source: CUDA Driver API, reference manual.
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "driver.h"

namespace {

using namespace fake_gpu;

struct Context {
  int gpu = 0;
  int users = 0;
};
struct Module {
  std::string text;
};
struct Function {
  Module* module;
};
struct Stream {
  std::int64_t busy_until = 0;
};

Context contexts[64];
thread_local Context* current = nullptr;
bool initialized = false;

std::int64_t now() {
  timespec at{};
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * INT64_C(1000000000) + at.tv_nsec;
}

void sleep_until(std::int64_t when) {
  for (std::int64_t left = when - now(); left > 0; left = when - now()) {
    const timespec pause{left / 1000000000, left % 1000000000};
    nanosleep(&pause, nullptr);
  }
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

bool is_gpu(int gpu) { return gpu >= 0 && gpu < std::min(gpus(), 64); }

// What every call asks first, and those that need a context.
int enter(const char* name) {
  if (const int code = failure(name); code != success) return code;
  return initialized ? success : not_initialized;
}
int enter_context(const char* name) {
  if (const int code = enter(name); code != success) return code;
  return current != nullptr && current->users > 0 ? success : invalid_context;
}

std::int64_t last_of_all = 0;  // when all that was launched is done

[[gnu::destructor]] void at_end() { report("cuda"); }

}  // namespace

#define ENTER(name) \
  if (const int code = enter(#name); code != success) return code
#define ENTER_CONTEXT(name) \
  if (const int code = enter_context(#name); code != success) return code

extern "C" {

int cuInit(unsigned flags) {
  if (const int code = failure("cuInit"); code != success) return code;
  if (flags != 0) return invalid_value;
  if (gpus() == 0) return no_device;
  initialized = true;
  return success;
}
int cuDriverGetVersion(int* version) {
  if (const int code = failure("cuDriverGetVersion"); code != success) return code;
  *version = 12080;
  return success;
}
int cuGetErrorString(int of, const char** text) {
  *text = text_of(of);
  return *text != nullptr ? success : invalid_value;
}

int cuDeviceGetCount(int* count) {
  ENTER(cuDeviceGetCount);
  *count = gpus();
  return success;
}
int cuDeviceGet(int* device, int index) {
  ENTER(cuDeviceGet);
  if (!is_gpu(index)) return invalid_device;
  *device = index;
  return success;
}
int cuDeviceGetName(char* name, int length, int device) {
  ENTER(cuDeviceGetName);
  if (!is_gpu(device)) return invalid_device;
  std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU %d", device);
  return success;
}
int cuDeviceGetPCIBusId(char* name, int length, int device) {
  ENTER(cuDeviceGetPCIBusId);
  if (!is_gpu(device)) return invalid_device;
  std::snprintf(name, static_cast<std::size_t>(length), "0000:%02X:00.0", 0x1b + device);
  return success;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  ENTER(cuDeviceTotalMem_v2);
  if (!is_gpu(device)) return invalid_device;
  *bytes = bytes_of_gpu();
  return success;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  ENTER(cuDeviceGetAttribute);
  if (!is_gpu(device)) return invalid_device;
  switch (attribute) {
    case 16:  // multiprocessors
      *value = 4;
      return success;
    case 38:  // bytes of L2 cache
      *value = inject::number_in("FAKE_GPU_L2", 1 << 20);
      return success;
    case 83:  // managed memory
    case 89:  // which the host may access at any time
      *value = inject::number_in("FAKE_GPU_MANAGED", 2) >= (attribute == 83 ? 1 : 2);
      return success;
    default:
      return invalid_value;
  }
}

int cuDevicePrimaryCtxRetain(Context** context, int device) {
  ENTER(cuDevicePrimaryCtxRetain);
  if (!is_gpu(device)) return invalid_device;
  *context = &contexts[device];
  (*context)->gpu = device;
  ++(*context)->users;
  add("contexts", 1);
  return success;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  ENTER(cuDevicePrimaryCtxRelease_v2);
  if (!is_gpu(device)) return invalid_device;
  if (contexts[device].users == 0) return invalid_context;
  --contexts[device].users;
  add("contexts", -1);
  return success;
}
int cuCtxSetCurrent(Context* context) {
  ENTER(cuCtxSetCurrent);
  if (context != nullptr && context->users == 0) return invalid_context;
  current = context;
  return success;
}
int cuCtxSynchronize() {
  ENTER_CONTEXT(cuCtxSynchronize);
  sleep_until(last_of_all);
  return success;
}

int cuMemAlloc_v2(std::byte** made, std::size_t bytes) {
  ENTER_CONTEXT(cuMemAlloc_v2);
  return allocate(Kind::device, current->gpu, bytes, made);
}
int cuMemFree_v2(std::byte* begin) {
  ENTER_CONTEXT(cuMemFree_v2);
  return release(false, begin);
}
int cuMemAllocManaged(std::byte** made, std::size_t bytes, unsigned flags) {
  ENTER_CONTEXT(cuMemAllocManaged);
  if (flags != 1 && flags != 2) return invalid_value;
  return allocate(Kind::managed, current->gpu, bytes, made);
}
int cuMemHostAlloc(void** made, std::size_t bytes, unsigned) {
  ENTER_CONTEXT(cuMemHostAlloc);
  std::byte* begin = nullptr;
  const int code = allocate(Kind::pinned, current->gpu, bytes, &begin);
  *made = begin;
  return code;
}
int cuMemFreeHost(void* begin) {
  ENTER_CONTEXT(cuMemFreeHost);
  return release(true, static_cast<std::byte*>(begin));
}
int cuMemcpyHtoD_v2(std::byte* to, const void* from, std::size_t bytes) {
  ENTER_CONTEXT(cuMemcpyHtoD_v2);
  return copy(to, from, bytes, true);
}
int cuMemcpyDtoH_v2(void* to, const std::byte* from, std::size_t bytes) {
  ENTER_CONTEXT(cuMemcpyDtoH_v2);
  return copy(to, from, bytes, false);
}
int cuMemcpyDtoD_v2(std::byte* to, const std::byte* from, std::size_t bytes) {
  ENTER_CONTEXT(cuMemcpyDtoD_v2);
  return copy_within(to, from, bytes);
}

int cuModuleLoadData(Module** made, const void* image) {
  ENTER_CONTEXT(cuModuleLoadData);
  const std::string_view text = static_cast<const char*>(image);
  const bool is_ptx = text.starts_with(".version ") && has(text, ".target sm_") &&
                      has(text, ".address_size 64") && has(text, ".entry ");
  if (!is_ptx) return invalid_ptx;
  *made = new Module{std::string(text)};
  add("modules", 1);
  return success;
}
int cuModuleUnload(Module* module) {
  ENTER_CONTEXT(cuModuleUnload);
  delete module;
  add("modules", -1);
  return success;
}
int cuModuleGetFunction(Function** found, Module* module, const char* name) {
  ENTER_CONTEXT(cuModuleGetFunction);
  if (!has(module->text, ".entry " + std::string(name) + "(")) return not_found;
  static Function function;  // a program has one kernel
  function.module = module;
  *found = &function;
  return success;
}
int cuLaunchKernel(Function* function, unsigned x, unsigned y, unsigned z, unsigned thread_x,
                   unsigned thread_y, unsigned thread_z, unsigned, Stream* stream, void** parameters,
                   void**) {
  ENTER_CONTEXT(cuLaunchKernel);
  if (function == nullptr || x * y * z == 0 || thread_x * thread_y * thread_z - 1 >= 1024)
    return invalid_value;
  const std::string_view text = function->module->text;
  const std::size_t first = text.find(".param", text.find(".entry"));
  if (first == std::string_view::npos || parameters == nullptr) return invalid_value;
  const bool is_long = text.substr(first).starts_with(".param .u64");
  const std::int64_t units =
      is_long ? *static_cast<std::int64_t*>(parameters[0]) : *static_cast<int*>(parameters[0]);
  static const int unit = inject::number_in("FAKE_GPU_UNIT", 20);
  static Stream by_default;
  Stream& to = stream != nullptr ? *stream : by_default;
  to.busy_until = std::max(to.busy_until, now()) + units * unit;
  last_of_all = std::max(last_of_all, to.busy_until);
  return success;
}

int cuStreamCreate(Stream** made, unsigned flags) {
  ENTER_CONTEXT(cuStreamCreate);
  if (flags > 1) return invalid_value;
  *made = new Stream;
  add("streams", 1);
  return success;
}
int cuStreamDestroy_v2(Stream* stream) {
  ENTER_CONTEXT(cuStreamDestroy_v2);
  delete stream;
  add("streams", -1);
  return success;
}
int cuStreamSynchronize(Stream* stream) {
  ENTER_CONTEXT(cuStreamSynchronize);
  if (stream != nullptr) sleep_until(stream->busy_until);
  return success;
}
int cuStreamQuery(Stream* stream) {
  ENTER_CONTEXT(cuStreamQuery);
  return stream != nullptr && now() < stream->busy_until ? not_ready : success;
}

}  // extern "C"
