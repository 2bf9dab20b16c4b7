// Rows of the option table: those of IMB-FABRIC, which measures pairs of endpoints in rounds.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "cli/option_table.h"
#include "cli/text_file.h"
#include "cli/values.h"

namespace openimb {

namespace {

constexpr int most_endpoints = 1 << 24;

// Other components have none, and refuse these options once all are read.
FabricOptions& fabric_of(Draft& draft) {
  static thread_local FabricOptions unused;
  return draft.options.fabric ? *draft.options.fabric : unused;
}

void set_endpoint(Draft& draft, std::string_view word) {
  constexpr EndpointKind kinds[] = {EndpointKind::host, EndpointKind::socket, EndpointKind::numa,
                                    EndpointKind::core, EndpointKind::rank};
  fabric_of(draft).endpoint = choice(kinds, [](EndpointKind kind) { return name_of(kind); }, word);
}

void set_rounds(Draft& draft, std::string_view word) {
  FabricOptions& fabric = fabric_of(draft);
  for (const RoundKind kind : {RoundKind::one_to_all, RoundKind::all_to_one}) {
    if (same_name(word, name_of(kind))) {
      fabric.rounds = kind;
      return;
    }
  }
  if (!word.empty() && word.front() > '9') {
    throw BadValue(quoted(word) + " is neither a number nor one_to_all nor all_to_one");
  }
  fabric.each_meets = static_cast<int>(whole_number(word, 1, most_endpoints));
  fabric.rounds = RoundKind::some;
}

EndpointPair pair_of(std::string_view word) {
  const std::size_t dash = word.find('-');
  if (dash == std::string_view::npos) throw BadValue(quoted(word) + " is not A-B");
  const EndpointPair pair{static_cast<int>(whole_number(word.substr(0, dash), 0, most_endpoints)),
                          static_cast<int>(whole_number(word.substr(dash + 1), 0, most_endpoints))};
  if (pair.a == pair.b) throw BadValue(quoted(word) + " pairs an endpoint with itself");
  return pair;
}

EndpointPairs round_of(std::string text) {
  std::ranges::replace(text, '\t', ' ');
  EndpointPairs pairs;
  std::set<int> busy;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    const EndpointPair pair = pairs.emplace_back(pair_of(word));
    for (const int endpoint : {pair.a, pair.b}) {
      if (busy.insert(endpoint).second) continue;
      throw BadValue("endpoint " + std::to_string(endpoint) + " is in two pairs of one round");
    }
  }
  return pairs;
}

void read_pairs(Draft& draft, std::string_view path) {
  draft.options.input_files.emplace_back(path);
  FabricOptions& fabric = fabric_of(draft);
  fabric.rounds = RoundKind::listed;
  fabric.listed.clear();
  for (const TextEntry& entry : read_entries(draft.read_file, std::string(path), "pairs_file", "rounds")) {
    try {
      fabric.listed.push_back(round_of(entry.text));
    } catch (const BadValue& problem) {
      throw UsageError(entry.where + problem.what() + "; a round is a line such as 0-1 2-3");
    }
  }
}

constexpr Option fabric_rows[] = {
    {.name = "endpoint",
     .syntax = "WHAT",
     .help = "host, socket, numa, core or rank",
     .standard = "rank",
     .example = "-endpoint host",
     .details =
         "What is measured. One rank stands for each: the first one on it; others are idle. socket, numa and "
         "core need ranks that are bound to CPUs of one. rank: each rank is an endpoint.",
     .apply = set_endpoint},
    {.name = "rounds",
     .syntax = "K|one_to_all|all_to_one",
     .help = "not all pairs: each endpoint meets K others",
     .standard = "all pairs",
     .example = "-rounds 3",
     .details =
         "Without it, N endpoints meet in N - 1 rounds of disjoint pairs. K: in K such rounds, of endpoints "
         "in "
         "random order (-seed). one_to_all, all_to_one: N rounds, in each of which one endpoint sends to all "
         "others at once, or all others to it; Pair_Bidirectional goes both ways in both.",
     .apply = set_rounds},
    {.name = "halves",
     .values = Values::none,
     .help = "only pairs of the first half with the second",
     .example = "-halves",
     .details = "Every pair that crosses the middle of the list of endpoints, in N/2 rounds that load the "
                "bisection.",
     .apply = [](Draft& draft, std::string_view) { fabric_of(draft).rounds = RoundKind::halves; }},
    {.name = "pairs_file",
     .syntax = "FILE",
     .help = "the rounds listed in FILE",
     .example = "-pairs_file rounds.txt",
     .details =
         "One round per line: pairs of numbers of endpoints, as 0-1 2-3, of which the first one sends. "
         "A comment begins with #.",
     .apply = read_pairs},
    {.name = "serial",
     .values = Values::none,
     .help = "one pair after the other, not a round at once",
     .example = "-serial",
     .apply = [](Draft& draft, std::string_view) { fabric_of(draft).serial = true; }},
    {.name = "matrix",
     .values = Values::none,
     .help = "print a line for each pair",
     .example = "-matrix",
     .details = "As soon as it is measured. -json has them, too.",
     .apply = [](Draft& draft, std::string_view) { fabric_of(draft).matrix = true; }},
    {.name = "pair_timeout",
     .syntax = "SECONDS",
     .help = "a rank silent for so long is left out",
     .standard = "30",
     .example = "-pair_timeout 5",
     .details =
         "Beyond twice the time of a sample (-time). Its pairs have failure rows, the others are "
         "measured, and "
         "the run ends with exit status 3. A rank that waits for it within an exchange is left out, "
         "too, and if "
         "that is rank 0, the run is aborted with exit status 5. So is a start that takes ten times as "
         "long. 0: wait forever.",
     .apply = [](Draft& draft,
                 std::string_view word) { fabric_of(draft).timeout_seconds = real_number(word, 0, 1e6); }},
};

}  // namespace

std::span<const Option> fabric_options() { return fabric_rows; }

}  // namespace openimb
