// What the setters of the option table fill in while the command line is read.
#pragma once

#include "cli/command_line.h"
#include "cli/selection.h"

namespace openimb {

struct Draft {
  const Program& program;
  int world;
  const ReadFile& read_file;
  bool ignore_unknown = false;
  std::int64_t wanted_processes = 0;  ///< -npmin as given
  Options options{};
  std::optional<std::uint64_t> seed{};  ///< -seed
  NameLists names{};
};

}  // namespace openimb
