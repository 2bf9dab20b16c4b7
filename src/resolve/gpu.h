// Chooses and opens the GPU of each rank, and checks that the MPI supports its memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "device/driver.h"
#include "engine/mpi_process_group.h"
#include "model/options.h"

namespace openimb {

/// The GPU of this rank, and facts about all GPUs.
struct Gpu {
  std::unique_ptr<Device> device;  ///< null: no GPU is used
  std::vector<GpuFacts> all = {};  ///< all GPUs of the launch, at rank 0
  std::optional<GpuSupport> support = {};
  /// Bytes of the GPU's L2 cache, through which messages pass; 0: unknown, or no GPU.
  std::int64_t cache_bytes() const { return device ? device->facts().l2_bytes : 0; }
};

/// Opens the GPU that -memory, -gpu and -load require, and fills in what these options leave open.
/// Collective. Throws UsageError on all ranks or on none.
Gpu open_gpu(MpiProcessGroup& world, Options& options);

}  // namespace openimb
