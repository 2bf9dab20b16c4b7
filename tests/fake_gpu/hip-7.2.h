// What ROCm 7.2 declares of the functions and constants that src/device/hip.cpp uses: facts read on
// 2026-11-26 from the bindings that AMD generates from its headers (hip-python 7.2.2.562.43: declarations and
// exported names in hip/chip.pxd and chip.pyx, values of enumerators from the module). 5.2, which
// tests/test_gpu_headers.py compares too, has the same.
#pragma once
#include <stddef.h>

enum hipError_t { hipSuccess = 0, hipErrorOutOfMemory = 2 };
enum hipMemcpyKind { hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2 };
enum hipDeviceAttribute_t {
  hipDeviceAttributeConcurrentManagedAccess = 9,
  hipDeviceAttributeL2CacheSize = 19,
  hipDeviceAttributeManagedMemory = 24
};
enum { hipMemAttachGlobal = 1, hipHostMallocDefault = 0 };

extern "C" {
hipError_t hipInit(unsigned int flags);
const char* hipGetErrorString(hipError_t error);
hipError_t hipDriverGetVersion(int* version);
hipError_t hipGetDeviceCount(int* count);
hipError_t hipDeviceGetName(char* name, int length, int device);
hipError_t hipDeviceGetPCIBusId(char* address, int length, int device);
hipError_t hipDeviceTotalMem(size_t* bytes, int device);
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device);
hipError_t hipSetDevice(int device);
hipError_t hipDeviceSynchronize();
hipError_t hipMalloc(void** made, size_t bytes);
hipError_t hipFree(void* begin);
hipError_t hipMallocManaged(void** made, size_t bytes, unsigned int flags);
hipError_t hipHostMalloc(void** made, size_t bytes, unsigned int flags);
hipError_t hipHostFree(void* begin);
hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind kind);
}
