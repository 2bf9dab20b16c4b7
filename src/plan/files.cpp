#include "plan/files.h"

#include <algorithm>

#include "plan/geometry.h"

namespace openimb {

std::string file_name(const std::string& base, const Spec& spec, const Grouping& grouping, int group,
                      int rank) {
  std::string name = base;
  if (grouping.group_count() > 1) name += "_g" + std::to_string(group);
  if (spec.file.own) name += "_" + std::to_string(rank);
  return name;
}

std::int64_t first_content_position(const Spec& spec, int rank) {
  constexpr int max_file_bits = 40;
  return spec.file.own ? std::int64_t{rank} << max_file_bits : 0;
}

Tile tile_of(const Spec& spec, std::int64_t bytes, int processes, int rank) {
  const std::int64_t mine = share(Messages::even_share, bytes, processes, rank);
  if (spec.file.own) return {.portion = mine, .first = 0, .share = mine};
  const std::int64_t even = bytes / processes, rest = bytes % processes;
  return {.portion = bytes, .first = rank * even + std::min<std::int64_t>(rank, rest), .share = mine};
}

}  // namespace openimb
