#include "model/memory_kind.h"

namespace openimb {

MemoryKind kind_for_api(MemoryKind kind, GpuApi api) {
  const bool cuda = api == GpuApi::cuda;
  if (is_device_memory(kind)) return cuda ? MemoryKind::cuda : MemoryKind::rocm;
  if (is_managed(kind)) return cuda ? MemoryKind::cuda_managed : MemoryKind::rocm_managed;
  return kind;
}

std::string MemoryChoice::names() const {
  std::string text = name_of(send);
  if (receive != send) (text += ",") += name_of(receive);
  return text;
}

MemoryKind MemoryChoice::window_memory(const Spec& spec) const {
  return spec.one_sided.exposed == ExposedBuffer::send ? send : receive;
}

}  // namespace openimb
