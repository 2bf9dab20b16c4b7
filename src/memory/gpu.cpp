#include "memory/gpu.h"

#include <cstdint>
#include <cstring>
#include <utility>

namespace openimb {

namespace {

DeviceMemory driver_memory_kind(MemoryKind kind) {
  if (is_device_memory(kind)) return DeviceMemory::device;
  return is_managed(kind) ? DeviceMemory::managed : DeviceMemory::pinned;
}

// Bytes from `address` to the next aligned address.
std::int64_t distance_to_aligned(const std::byte* address, std::int64_t alignment) {
  const auto at = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address));
  return (alignment - at % alignment) % alignment;
}

// Owns an allocation of the driver.
class Allocation {
 public:
  Allocation(DeviceMemory kind, std::int64_t bytes, Device& device)
      : kind_(kind), device_(&device), address_(device.allocate(kind, bytes)) {}
  Allocation(Allocation&& other) noexcept
      : kind_(other.kind_), device_(other.device_), address_(std::exchange(other.address_, nullptr)) {}
  Allocation& operator=(Allocation&&) = delete;
  ~Allocation() {
    if (address_ != nullptr) device_->deallocate(kind_, address_);
  }
  std::byte* address() const { return address_; }

 private:
  DeviceMemory kind_;
  Device* device_;
  std::byte* address_;
};

// Memory that the driver allocated. The driver also copies to and from managed memory, because pages that the
// CPU touches would move to the host.
class GpuMemory : public Memory {
 public:
  GpuMemory(MemoryKind kind, std::byte* address, std::int64_t bytes, Device& device)
      : kind_(kind), address_(address), bytes_(bytes), device_(device) {}
  MemoryKind kind() const override { return kind_; }
  std::byte* address() const override { return address_; }
  std::int64_t bytes() const override { return bytes_; }
  void write(std::int64_t offset, std::span<const std::byte> image) override {
    if (image.empty()) return;
    if (kind_ == MemoryKind::pinned) {
      std::memcpy(address_ + offset, image.data(), image.size());
    } else {
      device_.copy_in(address_ + offset, image.data(), static_cast<std::int64_t>(image.size()));
    }
  }
  void read(std::int64_t offset, std::span<std::byte> image) const override {
    if (image.empty()) return;
    if (kind_ == MemoryKind::pinned) {
      std::memcpy(image.data(), address_ + offset, image.size());
    } else {
      device_.copy_out(image.data(), address_ + offset, static_cast<std::int64_t>(image.size()));
    }
  }

 private:
  const MemoryKind kind_;
  std::byte* const address_;
  const std::int64_t bytes_;
  Device& device_;
};

class OwnedGpuMemory final : private Allocation, public GpuMemory {
 public:
  OwnedGpuMemory(Allocation allocation, std::int64_t offset, MemoryKind kind, std::int64_t bytes,
                 Device& device)
      : Allocation(std::move(allocation)), GpuMemory(kind, Allocation::address() + offset, bytes, device) {}
  std::byte* address() const override { return GpuMemory::address(); }
};

}  // namespace

// Drivers align to at least some hundred bytes, usually to a page. If that is not enough, this allocates a
// larger block and leaves its first bytes unused.
std::unique_ptr<Memory> allocate_on_device(MemoryKind kind, std::int64_t bytes, std::int64_t alignment,
                                           Device& device) {
  const DeviceMemory device_memory = driver_memory_kind(kind);
  {
    Allocation exact(device_memory, bytes, device);
    if (distance_to_aligned(exact.address(), alignment) == 0) {
      return std::make_unique<OwnedGpuMemory>(std::move(exact), 0, kind, bytes, device);
    }
  }
  Allocation larger(device_memory, bytes + alignment - 1, device);
  const std::int64_t offset = distance_to_aligned(larger.address(), alignment);
  return std::make_unique<OwnedGpuMemory>(std::move(larger), offset, kind, bytes, device);
}

std::unique_ptr<Memory> adopt_on_device(MemoryKind kind, std::byte* address, std::int64_t bytes,
                                        Device& device) {
  return std::make_unique<GpuMemory>(kind, address, bytes, device);
}

}  // namespace openimb
