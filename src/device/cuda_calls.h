// The functions of CUDA's driver that the suite calls. On 64-bit systems, all of them have the C calling
// convention. Used in this folder only. Source: CUDA Driver API, reference manual.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "device/calls.h"

namespace openimb::cuda {

using Handle = int;             ///< CUdevice
using Address = std::uint64_t;  ///< CUdeviceptr
struct Context;
struct Module;
struct Function;
struct Stream;

constexpr int success = 0, out_of_memory = 2, not_ready = 600;  // CUresult
// CUdevice_attribute
constexpr int multiprocessor_count = 16, l2_cache_bytes = 38, managed_memory = 83,
              concurrent_managed_access = 89;
constexpr unsigned attach_global = 1;  // CUmemAttach_flags
constexpr unsigned non_blocking = 1;   // CUstream_flags

struct Calls {
  /// Loads and initializes the driver. Throws DeviceError.
  explicit Calls(LibraryNames names);

  /// Throws DeviceError if `code`, returned by the call `name`, is an error.
  void require(int code, const char* name) const {
    if (code != success) throw error(code, name);
  }
  DeviceError error(int code, const char* name) const;

  int (*init)(unsigned flags);
  int (*driver_version)(int* version);
  int (*error_string)(int code, const char** text);
  int (*device_count)(int* count);
  int (*device)(Handle* device, int index);
  int (*device_name)(char* name, int length, Handle device);
  int (*bus_address)(char* address, int length, Handle device);
  int (*total_memory)(std::size_t* bytes, Handle device);
  int (*attribute)(int* value, int attribute, Handle device);
  int (*retain_primary)(Context** context, Handle device);
  int (*release_primary)(Handle device);
  int (*set_current)(Context* context);
  int (*synchronize)();
  int (*allocate)(Address* result, std::size_t bytes);
  int (*release)(Address begin);
  int (*allocate_managed)(Address* result, std::size_t bytes, unsigned flags);
  int (*allocate_host)(void** result, std::size_t bytes, unsigned flags);
  int (*free_host)(void* begin);
  int (*copy_in)(Address to, const void* from, std::size_t bytes);
  int (*copy_out)(void* to, Address from, std::size_t bytes);
  int (*load_module)(Module** result, const void* image);
  int (*unload_module)(Module* module);
  int (*function)(Function** result, Module* module, const char* name);
  int (*launch)(Function* function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared_bytes,
                Stream* stream, void** parameters, void** extra);
  int (*create_stream)(Stream** result, unsigned flags);
  int (*destroy_stream)(Stream* stream);
  int (*synchronize_stream)(Stream* stream);
  int (*query_stream)(Stream* stream);
};

}  // namespace openimb::cuda
