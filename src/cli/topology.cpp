#include "cli/topology.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/values.h"
#include "plan/layout.h"
#include "plan/topology.h"

namespace openimb {

namespace {

// "4x2" or "3d".
void set_grid(Topology& topology, std::string_view word) {
  const std::vector<std::string_view> pieces = split(word, 'x');
  if (pieces.size() == 1) {
    if (!word.ends_with('d') && !word.ends_with('D')) {
      throw BadValue(quoted(word) + " is no grid: give its extents, as 4x2, or its dimensions, as 3d");
    }
    topology.dimensions = static_cast<int>(whole_number(word.substr(0, word.size() - 1), 1, most_dimensions));
    return;
  }
  if (pieces.size() > most_dimensions) {
    throw BadValue(quoted(word) + " has more than " + std::to_string(most_dimensions) + " dimensions");
  }
  topology.dimensions = static_cast<int>(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    topology.extents[i] = static_cast<int>(whole_number(pieces[i], 1, most_extent));
  }
}

bool has_neighborhoods(const Program& program) {
  return std::ranges::any_of(program.catalogue, [](const Spec& spec) { return spec.topology.exists(); });
}

void check_degree(const Topology& topology, int world) {
  const int most = topology.neighbors(world);
  if (topology.degree <= most) return;
  throw UsageError("-topo random:" + std::to_string(topology.degree) + ": with " + std::to_string(world) +
                   (world == 1 ? " process" : " processes") +
                   ", give at most random:" + std::to_string(most));
}

// A grid that no group can have is a usage error, not one that some groups cannot.
void check_extents(const Topology& topology, const Options& options, int world) {
  if (!topology.has_extents()) return;
  const int available = static_cast<int>(rank_order(world, options.map).size());
  const int least = std::min(options.min_processes.value_or(options.standard.min_processes), available);
  const std::vector<int> counts = process_counts({}, available, least);
  if (std::ranges::find(counts, topology.size()) != counts.end()) return;
  std::string groups;
  for (const int count : counts) groups += (groups.empty() ? "" : ", ") + std::to_string(count);
  throw UsageError("-topo: a grid of " + std::to_string(topology.size()) + " processes, but groups have " +
                   groups + "; give other extents, or " + std::to_string(topology.dimensions) +
                   "d for any number of processes");
}

}  // namespace

void set_topology(Draft& draft, std::string_view word) {
  constexpr std::string_view graph = "graph", random = "random";
  const std::size_t colon = word.find(':');
  const std::string_view kind = word.substr(0, colon);
  const std::string_view rest = colon == std::string_view::npos ? std::string_view{} : word.substr(colon + 1);
  Topology topology;
  if (same_name(kind, random)) {
    if (rest.empty()) throw BadValue("random needs a number of neighbors, as random:3");
    topology.kind = TopologyKind::random;
    topology.degree = static_cast<int>(whole_number(rest, 1, most_int));
  } else if (same_name(kind, graph)) {
    topology.kind = TopologyKind::graph;
    topology.dimensions = 2;
    if (colon != std::string_view::npos) set_grid(topology, rest);
  } else if (colon != std::string_view::npos) {
    throw BadValue(quoted(kind) + " is neither graph nor random");
  } else {
    set_grid(topology, word);
  }
  draft.options.topology = topology;
}

void settle_topology(Draft& draft) {
  const std::string name(draft.program.name);
  std::optional<Topology>& topology = draft.options.topology;
  if (topology) {
    check_degree(*topology, draft.world);
    check_extents(*topology, draft.options, draft.world);
  }
  if (!draft.seed) return;
  const bool drawn = topology && topology->kind == TopologyKind::random;
  if (!drawn && has_neighborhoods(draft.program)) {
    throw UsageError("-seed: " + name + " uses it with -topo random:N only; leave it out");
  }
  if (drawn) topology->seed = *draft.seed;
  if (draft.options.fabric) draft.options.fabric->seed = *draft.seed;
  if (draft.options.pairs) draft.options.pairs->seed = *draft.seed;
}

}  // namespace openimb
