// The GPU of each rank: which one, whether it can be used, and whether the MPI handles its memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "device/driver.h"
#include "engine/mpi_agreement.h"
#include "plan/options.h"

namespace openimb {

struct Gpu {
  std::unique_ptr<Device> device;  ///< null: no GPU is used
  std::vector<GpuFacts> all = {};  ///< of the launch, at rank 0
  std::optional<GpuSupport> support = {};
  /// Of the cache that messages pass; 0: there is no GPU, or it is not known.
  std::int64_t cache_bytes() const { return device ? device->facts().l2_bytes : 0; }
};

/// Opens what -memory, -gpu and -load ask for, and settles what they leave open. Collective. Throws
/// UsageError on all ranks or on none.
Gpu settle_gpu(MpiAgreement& world, Options& options);

}  // namespace openimb
