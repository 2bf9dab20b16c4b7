#include "resolve/variants.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.h"
#include "cli/suggestion.h"
#include "resolve/gathered_text.h"

namespace openimb {

std::unique_ptr<ControlVariables> try_variants(ProcessGroup& world, Options& options) {
  if (options.variants.empty()) return nullptr;
  auto variables = std::make_unique<ControlVariables>(options.variants);
  std::string why = variables->error();
  if (!variables->unknown_variable().empty()) {
    const std::vector<std::string> names = ControlVariables::names();
    const std::vector<std::string_view> views(names.begin(), names.end());
    const std::string_view suggestion = nearest(variables->unknown_variable(), views);
    if (!suggestion.empty()) why += "; did you mean " + std::string(suggestion) + "?";
  }
  why = first_message(world, why);
  if (!why.empty()) throw UsageError("-alternate: " + why);
  // Collects the warnings of all ranks, because a variable may lack an effect on some hosts only.
  std::vector<std::string>& known = options.warnings;
  for (const std::string& rank_warnings : world.gather(join_words(variables->warnings()))) {
    for (const std::string& warning : split_words(rank_warnings)) {
      if (std::ranges::find(known, warning) == known.end()) known.push_back(warning);
    }
  }
  return variables;
}

}  // namespace openimb
