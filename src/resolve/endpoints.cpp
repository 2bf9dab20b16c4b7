#include "resolve/endpoints.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "cli/command_line.h"
#include "cli/values.h"
#include "engine/timeout_process_group.h"
#include "mpi/optional.h"
#include "plan/rounds.h"
#include "resolve/gathered_text.h"
#include "system/cpu_list.h"
#include "system/machine.h"
#include "system/placement.h"
#include "system/threads.h"

namespace openimb {

namespace {

constexpr int unknown = -1;

/// The CPUs on which one rank may run. `socket`, `numa`, `core`: where these CPUs are, or `unknown` if they
/// differ.
struct RankSite {
  std::string host;
  int socket = unknown, numa = unknown, core = unknown;
  std::vector<int> cpus;
};

std::string site_of_this_rank() {
  const std::vector<int> cpus = system::usable_cpus();
  system::CpuPlace common;
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    const system::CpuPlace place = system::place_of_cpu(cpus[i]);
    if (i == 0) common = place;
    if (place.socket != common.socket) common.socket = unknown;
    if (place.numa != common.numa) common.numa = unknown;
    if (place.core != common.core) common.core = unknown;
  }
  return join_words(std::array{system::host_name(), std::to_string(common.socket),
                               std::to_string(common.numa), std::to_string(common.core),
                               system::format_cpu_list(cpus)});
}

RankSite parse_site(const std::string& text) {
  const std::vector<std::string> words = split_words(text);
  return {.host = words[0],
          .socket = std::stoi(words[1]),
          .numa = std::stoi(words[2]),
          .core = std::stoi(words[3]),
          .cpus = system::parse_cpu_list(words[4])};
}

// Ranks with the same key belong to one endpoint. The key is empty if the rank may run on several endpoints.
std::string endpoint_key(const RankSite& site, EndpointKind kind, int rank) {
  const auto on_host = [&](int number) {
    return number == unknown ? "" : site.host + separator + std::to_string(number);
  };
  switch (kind) {
    case EndpointKind::host:
      return site.host;
    case EndpointKind::socket:
      return on_host(site.socket);
    case EndpointKind::numa:
      return on_host(site.numa);
    case EndpointKind::core:
      return on_host(site.core).empty() ? "" : on_host(site.socket) + separator + std::to_string(site.core);
    case EndpointKind::rank:
      return std::to_string(rank);
  }
  return {};
}

std::optional<int> known_number(int number) {
  return number == unknown ? std::nullopt : std::optional(number);
}

/// The endpoints, each with its first rank, or why they cannot be used.
struct Choice {
  std::vector<EndpointFacts> endpoints;
  std::string error;
};

Choice choose(const std::vector<std::string>& sites, EndpointKind kind) {
  const std::string option = std::string("-endpoint ") + name_of(kind) + ": ";
  Choice choice;
  std::set<std::string> seen;
  for (int rank = 0; rank < static_cast<int>(sites.size()); ++rank) {
    const RankSite site = parse_site(sites[static_cast<std::size_t>(rank)]);
    const std::string key = endpoint_key(site, kind, rank);
    if (key.empty()) {
      choice.error = option + "rank " + std::to_string(rank) + " on " + site.host +
                     " may run on more than one " +
                     (kind == EndpointKind::numa ? "NUMA node" : name_of(kind)) +
                     ", or this system does not report it; bind ranks with the launcher's options";
      return choice;
    }
    if (!seen.insert(key).second) continue;
    choice.endpoints.push_back(
        {rank, site.host, site.cpus, known_number(site.numa), known_number(site.socket)});
  }
  if (choice.endpoints.size() < 2) {
    const std::string ranks =
        sites.size() == 1 ? "1 rank makes" : std::to_string(sites.size()) + " ranks make";
    choice.error = option + ranks + " only 1 endpoint of at least 2; launch more ranks, or on more hosts";
  }
  return choice;
}

// Returns, for each endpoint, the first rank on its host.
std::vector<int> readers_of(const std::vector<std::string>& sites,
                            const std::vector<EndpointFacts>& endpoints) {
  std::map<std::string, int> first;
  for (std::size_t rank = 0; rank < sites.size(); ++rank) {
    first.try_emplace(parse_site(sites[rank]).host, static_cast<int>(rank));
  }
  std::vector<int> readers;
  for (const EndpointFacts& endpoint : endpoints) readers.push_back(first.at(endpoint.host));
  return readers;
}

// Returns why the requested rounds are not possible with these endpoints, or an empty text.
std::string rounds_error(const FabricOptions& fabric) {
  const int endpoints = static_cast<int>(fabric.ranks.size());
  const std::string count = std::to_string(endpoints) + " endpoints";
  if (fabric.rounds == RoundKind::some && fabric.requested_rounds > circle_rounds(endpoints)) {
    return "-rounds " + std::to_string(fabric.requested_rounds) + ": with " + count + ", give at most " +
           std::to_string(circle_rounds(endpoints)) + ", or leave it out";
  }
  for (const EndpointPairs& pairs : fabric.listed) {
    for (const EndpointPair& pair : pairs) {
      if (std::max(pair.a, pair.b) < endpoints) continue;
      return "-pairs_file: pair " + std::to_string(pair.a) + "-" + std::to_string(pair.b) + ": with " +
             count + ", give numbers from 0 to " + std::to_string(endpoints - 1);
    }
  }
  return {};
}

}  // namespace

std::vector<EndpointFacts> choose_endpoints(ProcessGroup& world, Options& options) {
  if (!options.fabric) return {};
  FabricOptions& fabric = *options.fabric;
  const std::vector<std::string> sites = world.gather(site_of_this_rank());
  Choice choice;
  if (world.rank() == 0) choice = choose(sites, fabric.endpoint);
  if (const std::string why = world.broadcast(choice.error); !why.empty()) throw UsageError(why);
  if (world.rank() == 0) fabric.readers = readers_of(sites, choice.endpoints);
  std::vector<std::string> ranks;
  for (const EndpointFacts& endpoint : choice.endpoints) ranks.push_back(std::to_string(endpoint.rank));
  for (const std::string& rank : split_words(world.broadcast(join_words(ranks)))) {
    fabric.ranks.push_back(std::stoi(rank));
  }
  if (const std::string why = rounds_error(fabric); !why.empty()) throw UsageError(why);
  return choice.endpoints;
}

void require_timeout_calls(const Options& options) {
  if (!options.fabric || options.fabric->timeout_seconds <= 0) return;
  for (const std::string_view call : TimeoutProcessGroup::needs) {
    if (const std::string_view why = call::unusable_reason(call); !why.empty()) {
      throw UsageError("-pair_timeout: " + std::string(why) + "; use -pair_timeout 0, which waits forever");
    }
  }
}

}  // namespace openimb
