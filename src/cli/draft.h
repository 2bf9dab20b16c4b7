// The command line while it is read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/command_line.h"
#include "cli/selection.h"

namespace openimb {

struct Draft {
  const Program& program;
  int world;
  const ReadFile& read_file;
  SameFile same_file = {};
  std::int64_t wanted_processes = 0;  ///< -npmin as given
  bool by_exponents = false;          ///< lengths are powers of two that were asked for
  Options options{};
  std::optional<std::uint64_t> seed{};  ///< -seed
  NameLists names{};
  std::vector<std::string_view> given{};  ///< names of the options, each as often as it was given

  bool has(std::string_view name) const { return std::ranges::find(given, name) != given.end(); }
};

}  // namespace openimb
