#include "plan/exclusions.h"

#include "model/mpi_products.h"
#include "model/synchronization.h"

namespace openimb {

namespace {

std::string completing_call(const Spec& spec) {
  switch (spec.one_sided.sync) {
    case SyncMode::fence:
      return "MPI_Win_fence";
    case SyncMode::flush:
      return "MPI_Win_flush";
    case SyncMode::flush_local:
      return "MPI_Win_flush_local";
    default:
      return "its own calls";
  }
}

}  // namespace

std::string send_mode_error(const Spec& spec, SendMode asked) {
  if (asked == SendMode::standard) return {};
  const std::string mode = std::string("-send_mode ") + name_of(asked);
  if (!spec.send_modes.any) return "its definition has no send that " + mode + " could replace";
  if (asked != SendMode::buffered || spec.send_modes.not_buffered.empty()) return {};
  return mode + ": " + std::string(spec.send_modes.not_buffered);
}

std::string layout_error(const Spec& spec, const DataLayout& layout) {
  if (!layout.has_gaps()) return {};
  const std::string asked = "-layout " + name_of(layout);
  if (spec.reduction) return asked + ": MPI defines no reduction of derived types";
  if (spec.partitioned) return asked + ": the parts of its messages cannot have gaps";
  if (!spec.takes_layout()) return asked + ": its messages cannot have gaps";
  return {};
}

std::string sync_mode_error(const Spec& spec, SyncMode asked) {
  if (!spec.uses_windows() || asked == SyncMode::standard || asked == spec.one_sided.sync) return {};
  if (spec.one_sided.any_sync && (spec.access == Access::passive_target || needs_targets(asked))) return {};
  return "its definition completes transfers with " + completing_call(spec) + ", not with -sync_mode " +
         name_of(asked);
}

std::string memory_error(const Spec& spec, const MemoryChoice& memory, WindowKind window) {
  if (memory.is_host()) return {};
  const std::string asked = "-memory " + memory.names();
  if (spec.one_sided.loads_and_stores) {
    return asked + ": loads and stores of the CPU need host memory";
  }
  if (memory.limited_mpi && memory.uses_device() && spec.uses_windows()) {
    return asked +
           ": this MPI documents no one-sided communication with GPU memory; -gpu_check trust runs it";
  }
  if (memory.limited_mpi && memory.uses_device() && reduces_on_host(spec)) {
    return asked +
           ": this MPI reduces GPU memory only in Allreduce, Reduce, Reduce_scatter_block, Scan and "
           "Exscan; -gpu_check trust runs it";
  }
  if (spec.one_sided.exposed == ExposedBuffer::nothing) return {};
  if (memory.window_memory(spec) == MemoryKind::host) return {};
  if (!allocates(spec.one_sided.window_kind(window))) return {};
  return asked + ": MPI allocates the memory of this window, on the host; use -window create or dynamic";
}

}  // namespace openimb
