#include "engine/buffers.h"

#include <algorithm>
#include <vector>

#include "plan/schedule.h"

namespace openimb {

void fill_for_timing(Memory& memory, std::int64_t bytes, const Element& element, const Spec& spec, int rank) {
  std::vector<std::byte> chunk(static_cast<std::size_t>(std::min(bytes, image_chunk)));
  for_each_chunk(chunk, bytes, [&](std::int64_t at, std::span<std::byte> part) {
    fill_for_timing(part, at, element, spec, rank);
    memory.write(at, part);
  });
}

}  // namespace openimb
