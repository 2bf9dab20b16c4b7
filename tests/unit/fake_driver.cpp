// A library with the functions of CUDA's driver and of HIP's runtime that the suite calls. It records calls,
// and fails in the function that a test chooses. With OPENIMB_OLD_DRIVER it lacks the newest function.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace {

std::string failing;
int failing_with = 0;
std::string calls;
std::map<std::string, int> balance;
int last_units = 0;
int queries_until_done = 0;

int code_of(const char* name) {
  calls += std::string(name) + " ";
  return failing == name ? failing_with : 0;
}

// Returns a handle, unless the call fails.
template <class Handle>
int make(const char* name, const char* what, Handle* made) {
  const int code = code_of(name);
  if (code != 0) return code;
  ++balance[what];
  *made = reinterpret_cast<Handle>(std::malloc(4096));
  return 0;
}
int give_back(const char* name, const char* what, void* handle) {
  const int code = code_of(name);
  --balance[what];
  std::free(handle);
  return code;
}

template <class Number>
int answer(const char* name, Number* to, Number number) {
  const int code = code_of(name);
  if (code == 0) *to = number;
  return code;
}
int answer_text(const char* name, char* to, int length, const char* text) {
  const int code = code_of(name);
  if (code == 0) std::snprintf(to, static_cast<std::size_t>(length), "%s", text);
  return code;
}
int copy(const char* name, void* to, const void* from, std::size_t bytes) {
  const int code = code_of(name);
  if (code == 0) std::memcpy(to, from, bytes);
  return code;
}

}  // namespace

extern "C" {

void fake_fail(const char* name, int code) {
  failing = name;
  failing_with = code;
}
void fake_reset(const char* name, int code) {
  fake_fail(name, code);
  calls.clear();
  balance.clear();
}
const char* fake_calls() { return calls.c_str(); }
int fake_balance() {
  int all = 0;
  for (const auto& [what, number] : balance) all += number != 0;
  return all;
}
int fake_units() { return last_units; }
void fake_busy_for(int queries) { queries_until_done = queries; }

int cuInit(unsigned) { return code_of("cuInit"); }
int cuGetErrorString(int code, const char** text) {
  *text = code == 2 ? "out of memory" : code == 803 ? "driver and library do not match" : nullptr;
  return *text != nullptr ? 0 : 1;
}
int cuDriverGetVersion(int* version) { return answer("cuDriverGetVersion", version, 12080); }
int cuDeviceGetCount(int* count) { return answer("cuDeviceGetCount", count, 3); }
int cuDeviceGet(int* device, int index) { return answer("cuDeviceGet", device, index + 40); }
int cuDeviceGetName(char* name, int length, int device) {
  return answer_text("cuDeviceGetName", name, length, ("GPU " + std::to_string(device)).c_str());
}
int cuDeviceGetPCIBusId(char* address, int length, int) {
  return answer_text("cuDeviceGetPCIBusId", address, length, "0000:17:00.0");
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  return answer("cuDeviceTotalMem_v2", bytes, std::size_t{1} << 37);
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  return answer("cuDeviceGetAttribute", value, attribute == 38 ? 1 << 25 : attribute == 89 ? 0 : 7);
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  return make("cuDevicePrimaryCtxRetain", "context", context);
}
int cuDevicePrimaryCtxRelease_v2(int) {
  return give_back("cuDevicePrimaryCtxRelease_v2", "context", nullptr);
}
int cuCtxSetCurrent(void* context) {
  return code_of(context != nullptr ? "cuCtxSetCurrent" : "cuCtxSetCurrent(null)");
}
int cuCtxSynchronize() { return code_of("cuCtxSynchronize"); }
int cuMemAlloc_v2(void** made, std::size_t) { return make("cuMemAlloc_v2", "memory", made); }
int cuMemFree_v2(void* begin) { return give_back("cuMemFree_v2", "memory", begin); }
int cuMemAllocManaged(void** made, std::size_t, unsigned flags) {
  return flags == 1 ? make("cuMemAllocManaged", "memory", made) : 1;
}
int cuMemHostAlloc(void** made, std::size_t, unsigned) { return make("cuMemHostAlloc", "pinned", made); }
int cuMemFreeHost(void* begin) { return give_back("cuMemFreeHost", "pinned", begin); }
int cuMemcpyHtoD_v2(void* to, const void* from, std::size_t bytes) {
  return copy("cuMemcpyHtoD_v2", to, from, bytes);
}
int cuMemcpyDtoH_v2(void* to, const void* from, std::size_t bytes) {
  return copy("cuMemcpyDtoH_v2", to, from, bytes);
}
int cuModuleLoadData(void** made, const void*) { return make("cuModuleLoadData", "module", made); }
int cuModuleUnload(void* module) { return give_back("cuModuleUnload", "module", module); }
int cuModuleGetFunction(void** found, void* module, const char* name) {
  const int code = code_of("cuModuleGetFunction");
  *found = module;
  return std::strcmp(name, "openimb_load") == 0 ? code : 500;
}
int cuLaunchKernel(void*, unsigned x, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned,
                   void*, void** parameters, void**) {
  last_units = static_cast<int>(*static_cast<long*>(parameters[0]));
  return x == 7 && threads == 256 ? code_of("cuLaunchKernel") : 1;
}
int cuStreamCreate(void** made, unsigned flags) {
  return flags == 1 ? make("cuStreamCreate", "stream", made) : 1;
}
int cuStreamDestroy_v2(void* stream) { return give_back("cuStreamDestroy_v2", "stream", stream); }
int cuStreamSynchronize(void*) { return code_of("cuStreamSynchronize"); }
#ifndef OPENIMB_OLD_DRIVER
int cuStreamQuery(void*) {
  if (queries_until_done > 0) return --queries_until_done, 600;
  return code_of("cuStreamQuery");
}
#endif

int hipInit(unsigned) { return code_of("hipInit"); }
const char* hipGetErrorString(int code) { return code == 2 ? "out of memory" : "unknown error"; }
int hipDriverGetVersion(int* version) { return answer("hipDriverGetVersion", version, 60342134); }
int hipGetDeviceCount(int* count) { return answer("hipGetDeviceCount", count, 8); }
int hipDeviceGetName(char* name, int length, int) {
  return answer_text("hipDeviceGetName", name, length, "Accelerator");
}
int hipDeviceGetPCIBusId(char* address, int length, int) {
  return answer_text("hipDeviceGetPCIBusId", address, length, "0000:c1:00.0");
}
int hipDeviceTotalMem(std::size_t* bytes, int) {
  return answer("hipDeviceTotalMem", bytes, std::size_t{1} << 36);
}
int hipDeviceGetAttribute(int* value, int attribute, int) {
  return answer("hipDeviceGetAttribute", value, attribute == 19 ? 1 << 23 : attribute == 24 ? 0 : 1);
}
int hipSetDevice(int) { return code_of("hipSetDevice"); }
int hipDeviceSynchronize() { return code_of("hipDeviceSynchronize"); }
int hipMalloc(void** made, std::size_t) { return make("hipMalloc", "memory", made); }
int hipFree(void* begin) { return give_back("hipFree", "memory", begin); }
int hipMallocManaged(void** made, std::size_t, unsigned flags) {
  return flags == 1 ? make("hipMallocManaged", "memory", made) : 1;
}
int hipHostMalloc(void** made, std::size_t, unsigned) { return make("hipHostMalloc", "pinned", made); }
int hipHostFree(void* begin) { return give_back("hipHostFree", "pinned", begin); }
int hipMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  return kind == 1 || kind == 2 ? copy("hipMemcpy", to, from, bytes) : 1;
}

}  // extern "C"
