#include "cli/option_effect.h"

#include <algorithm>
#include <string>

#include "plan/geometry.h"

namespace openimb {

namespace {

/// An option of OpenIMB that only some benchmarks can use; `home`: a component with such benchmarks.
struct Purpose {
  std::string_view option;
  bool (*serves)(const Spec& spec);
  std::string_view home;
};
constexpr Purpose purposes[] = {
    {"in_place", [](const Spec& spec) { return spec.in_place != InPlace::no; }, "IMB-MPI1"},
    {"progress", [](const Spec& spec) { return spec.overlaps(); }, "IMB-NBC"},
    {"partitions", [](const Spec& spec) { return spec.partitioned; }, "IMB-MPI4"},
    {"load", [](const Spec& spec) { return spec.overlaps(); }, "IMB-NBC"},
    {"seed",
     [](const Spec& spec) { return spec.random_partners || spec.in_rounds || spec.topology.exists(); },
     "IMB-P2P"},
    {"send_mode", [](const Spec& spec) { return spec.send_modes.any; }, "IMB-MPI1"},
    {"layout", takes_layout, "IMB-MPI1"},
    {"packing", [](const Spec& spec) { return spec.packs; }, "IMB-MPI1 or IMB-P2P"},
    {"sync_mode", [](const Spec& spec) { return spec.on_windows(); }, "IMB-RMA or IMB-EXT"},
    {"topo", [](const Spec& spec) { return spec.topology.exists(); }, "IMB-MPI1 or IMB-NBC"},
    {"halo", [](const Spec& spec) { return spec.any_torus; }, "IMB-P2P"},
    {"pairs", [](const Spec& spec) { return spec.in_pairs && spec.message_rate; }, "IMB-P2P"},
    {"window", [](const Spec& spec) { return spec.on_windows() && !spec.one_sided.window; }, "IMB-RMA"},
    {"info", [](const Spec& spec) { return spec.on_windows() || spec.on_files(); }, "IMB-RMA or IMB-IO"},
};

}  // namespace

void check_effect(const Program& program, const Option& option, std::span<const Selected> selection) {
  const auto known = std::ranges::find(purposes, option.name, &Purpose::option);
  if (known == std::end(purposes)) return;
  const std::string name = "-" + std::string(option.name);
  const auto first = std::ranges::find_if(program.catalogue, known->serves);
  if (first == program.catalogue.end()) {
    throw UsageError(name + ": " + std::string(program.name) +
                     " has no benchmark for it; leave it out, or run " + std::string(known->home));
  }
  const auto serves = [&](const Selected& one) {
    return known->serves(program.catalogue[static_cast<std::size_t>(one.index)]);
  };
  if (std::ranges::none_of(selection, serves)) {
    throw UsageError(name + ": no effect on the selected benchmarks; leave it out, or add " +
                     std::string(first->name));
  }
}

}  // namespace openimb
