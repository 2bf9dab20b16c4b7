// Selects the benchmarks that run: those named and those added (-include), without those removed (-exclude).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.h"

namespace openimb {

/// A benchmark as the user wrote it.
struct NamedBenchmark {
  std::string text;
  std::string where;  ///< "FILE:LINE: " or empty for the command line
};

struct NameLists {
  std::vector<NamedBenchmark> named;     ///< replace the default list
  std::vector<NamedBenchmark> included;  ///< added to the list
  std::vector<NamedBenchmark> excluded;  ///< removed from the list
};

/// Adds the names in `word` to `list`; "A,B" is two names.
void add_names(std::vector<NamedBenchmark>& list, std::string_view word, const std::string& where = "");

/// The benchmarks that run. Throws UsageError for unknown names. If `ignored` is given, it gets the messages
/// about unknown names instead, unless all names are unknown.
std::vector<SelectedBenchmark> select_benchmarks(const Program& program, const NameLists& lists,
                                                 std::vector<std::string>* ignored);

/// The benchmark of this name, in any case and with or without Multi-, or nullptr.
const Spec* find_benchmark(const Program& program, std::string_view name);

/// The catalog name nearest to a misspelled `word`, or an empty string.
std::string_view nearest_benchmark(const Program& program, std::string_view word);

}  // namespace openimb
