// The computation on a GPU that runs beside communication. Inside this folder.
#pragma once

#include <cstdint>

#include "device/cuda_calls.h"

namespace openimb::cuda {

/// A block of threads on each multiprocessor, which leaves room for the kernels of an MPI. The device's
/// context must be current, also when it is destroyed.
class LoadKernel {
 public:
  /// Compiles it. Throws DeviceError, and std::bad_alloc.
  LoadKernel(const Calls& calls, Handle device);
  LoadKernel(const LoadKernel&) = delete;
  LoadKernel& operator=(const LoadKernel&) = delete;
  ~LoadKernel() { give_back(); }

  void start(std::int64_t units);
  bool is_done();
  void wait();

 private:
  void make(Handle device);
  void give_back() noexcept;

  const Calls& calls_;
  Module* module_ = nullptr;
  Function* function_ = nullptr;
  Stream* stream_ = nullptr;
  Address results_ = 0;  ///< what the threads computed: one place for each in a block
  unsigned blocks_ = 1;
};

}  // namespace openimb::cuda
