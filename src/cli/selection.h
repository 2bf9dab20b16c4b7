// Which benchmarks run: those named, those added (-include), without those removed (-exclude).
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

/// "A,B" is two names.
void add_names(std::vector<NamedBenchmark>& list, std::string_view word, const std::string& where = "");

/// Throws UsageError. With `ignored`, messages about unknown names go there instead, unless all names are
/// unknown.
std::vector<Selected> select_benchmarks(const Program& program, const NameLists& lists,
                                        std::vector<std::string>* ignored);

/// The benchmark of this name, in any case and with or without Multi-; nullptr where there is none.
const Spec* find_benchmark(const Program& program, std::string_view name);

/// Its name in the catalog where `word` looks like a misspelled benchmark, or an empty text.
std::string_view nearest_benchmark(const Program& program, std::string_view word);

}  // namespace openimb
