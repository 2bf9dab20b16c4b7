#include "cli/data_layout.h"

#include <string>
#include <vector>

#include "cli/values.h"
#include "plan/data_layout.h"

namespace openimb {

void set_layout(Draft& draft, std::string_view word) {
  constexpr std::int64_t most = 1 << 20;
  constexpr Placement all[] = {Placement::contiguous, Placement::vector, Placement::indexed,
                               Placement::structure};
  const std::vector<std::string_view> pieces = split(word, ':');
  const auto name = [](Placement placement) { return name_of(placement); };
  DataLayout layout{.placement = choice(all, name, pieces.front())};
  if (layout.placement != Placement::vector) {
    if (pieces.size() > 1) throw BadValue(quoted(word) + ": only a vector has numbers, as vector:1:8");
  } else if (pieces.size() != 3) {
    throw BadValue(quoted(word) + ": a vector has a block and a stride, as vector:1:8");
  } else {
    layout.block = whole_number(pieces[1], 1, most);
    layout.stride = whole_number(pieces[2], 1, most);
    if (layout.stride < layout.block) {
      throw BadValue(quoted(word) + ": the stride is less than the block, so that blocks would overlap");
    }
    if (layout.stride == layout.block) layout = {};
  }
  draft.options.layout = layout;
}

void set_packing(Draft& draft, std::string_view word) {
  constexpr Packing all[] = {Packing::none, Packing::mpi, Packing::hand};
  draft.options.packing = choice(all, [](Packing packing) { return name_of(packing); }, word);
}

void check_layout(const Options& options) {
  const std::string layout = "-layout " + name_of(options.layout);
  const std::string packing = std::string("-packing ") + name_of(options.packing);
  if (!options.layout.has_gaps()) {
    if (options.packing == Packing::none) return;
    throw UsageError(packing + ": there are no gaps to pack; give -layout, too, as -layout vector:1:8");
  }
  if (options.data.contiguity != Contiguity::base) {
    throw UsageError(layout + " and -contig_type exclude each other; leave one out");
  }
  if (options.layout.placement == Placement::structure && options.data.type != DataType::byte) {
    throw UsageError(layout + " is a record of several types, counted in bytes; give -data_type byte");
  }
  if (options.packing != Packing::none && options.send_mode != SendMode::standard) {
    throw UsageError(packing + " and -send_mode exclude each other; leave one out");
  }
  if (options.packing != Packing::none && options.in_place) {
    throw UsageError(packing + " and -in_place exclude each other; leave one out");
  }
}

}  // namespace openimb
