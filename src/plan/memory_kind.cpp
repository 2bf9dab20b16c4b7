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

namespace {

// One-sided, nonblocking or persistent.
bool reduces_later(const Spec& spec) {
  return spec.reduction &&
         (spec.on_windows() || spec.needs.starts_with('I') || spec.needs.ends_with("_init"));
}

}  // namespace

std::string why_not_in_memory(const Spec& spec, const MemoryChoice& memory, WindowKind window) {
  if (memory.is_host()) return {};
  const std::string asked = "-memory " + memory.names();
  if (spec.one_sided.loads_and_stores) {
    return asked + ": its processes copy by loads and stores, in memory of the host";
  }
  if (memory.blocking_reductions_only && memory.on_device() && reduces_later(spec)) {
    return asked + ": this MPI reduces memory of GPUs in blocking collectives only; -gpu_check trust runs it";
  }
  if (spec.one_sided.exposed == Exposed::nothing) return {};
  const MemoryKind exposed = spec.one_sided.exposed == Exposed::send ? memory.send : memory.receive;
  const WindowKind kind = spec.one_sided.window.value_or(window);
  if (exposed == MemoryKind::host || kind == WindowKind::create || kind == WindowKind::dynamic) return {};
  return asked + ": MPI allocates the memory of this window, on the host; use -window create or dynamic";
}

}  // namespace openimb
