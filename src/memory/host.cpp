// Ordinary host memory. gpu.cpp has the memory that GPU drivers allocate.
#include <algorithm>
#include <cstring>
#include <new>

#include "memory/gpu.h"
#include "memory/memory.h"

namespace openimb {

namespace {

class HostMemory : public Memory {
 public:
  HostMemory(std::byte* address, std::int64_t bytes) : address_(address), bytes_(bytes) {}
  MemoryKind kind() const override { return MemoryKind::host; }
  std::byte* address() const override { return address_; }
  std::int64_t bytes() const override { return bytes_; }
  void write(std::int64_t offset, std::span<const std::byte> image) override {
    if (!image.empty()) std::memcpy(address_ + offset, image.data(), image.size());
  }
  void read(std::int64_t offset, std::span<std::byte> image) const override {
    if (!image.empty()) std::memcpy(image.data(), address_ + offset, image.size());
  }

 private:
  std::byte* address_;
  std::int64_t bytes_;
};

class OwnedHostMemory final : public HostMemory {
 public:
  OwnedHostMemory(std::int64_t bytes, std::align_val_t alignment)
      : HostMemory(static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), alignment)),
                   bytes),
        alignment_(alignment) {}
  OwnedHostMemory(const OwnedHostMemory&) = delete;
  OwnedHostMemory& operator=(const OwnedHostMemory&) = delete;
  ~OwnedHostMemory() override { ::operator delete(address(), alignment_); }

 private:
  const std::align_val_t alignment_;
};

}  // namespace

std::unique_ptr<Memory> allocate_memory(MemoryKind kind, std::int64_t bytes, std::int64_t alignment,
                                        Device* device) {
  const std::int64_t aligned = std::max(buffer_alignment, alignment);
  if (kind != MemoryKind::host) return allocate_on_device(kind, bytes, aligned, *device);
  return std::make_unique<OwnedHostMemory>(bytes, std::align_val_t(aligned));
}

std::unique_ptr<Memory> adopt_memory(MemoryKind kind, std::byte* address, std::int64_t bytes,
                                     Device* device) {
  if (kind != MemoryKind::host) return adopt_on_device(kind, address, bytes, *device);
  return std::make_unique<HostMemory>(address, bytes);
}

void copy_on_cpu(void* to, const void* from, std::int64_t bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace openimb
