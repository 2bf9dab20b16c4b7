#include "plan/memory_kind.h"

namespace openimb {

MemoryKind of_api(MemoryKind kind, GpuApi api) {
  const bool cuda = api == GpuApi::cuda;
  if (on_device(kind)) return cuda ? MemoryKind::cuda : MemoryKind::rocm;
  if (is_managed(kind)) return cuda ? MemoryKind::cuda_managed : MemoryKind::rocm_managed;
  return kind;
}

std::string MemoryChoice::names() const {
  std::string text = name_of(send);
  if (receive != send) (text += ",") += name_of(receive);
  return text;
}

MemoryKind MemoryChoice::exposed_by(const Spec& spec) const {
  return spec.one_sided.exposed == Exposed::send ? send : receive;
}

namespace {

// Reductions of GPU memory that Open MPI's component for them does not implement: nonblocking and persistent
// ones, Reduce_scatter and Reduce_local. There the host would access the memory.
bool reduces_on_host(const Spec& spec) {
  return spec.reduction && (spec.starts || spec.receive == Messages::even_share || spec.updates_receive);
}

}  // namespace

std::string why_not_in_memory(const Spec& spec, const MemoryChoice& memory, WindowKind window) {
  if (memory.is_host()) return {};
  const std::string asked = "-memory " + memory.names();
  if (spec.one_sided.loads_and_stores) {
    return asked + ": loads and stores of the CPU need memory of the host";
  }
  if (memory.limited_mpi && memory.on_device() && spec.on_windows()) {
    return asked +
           ": this MPI documents no one-sided communication with memory of GPUs; -gpu_check trust runs it";
  }
  if (memory.limited_mpi && memory.on_device() && reduces_on_host(spec)) {
    return asked +
           ": this MPI reduces memory of GPUs in Allreduce, Reduce, Reduce_scatter_block, Scan and "
           "Exscan only; -gpu_check trust runs it";
  }
  if (spec.one_sided.exposed == Exposed::nothing) return {};
  if (memory.exposed_by(spec) == MemoryKind::host) return {};
  if (!allocates(spec.one_sided.window_kind(window))) return {};
  return asked + ": MPI allocates the memory of this window, on the host; use -window create or dynamic";
}

}  // namespace openimb
