#include "cli/selection.h"

#include <algorithm>
#include <optional>

#include "cli/option_table.h"
#include "cli/suggestion.h"
#include "cli/values.h"

namespace openimb {

namespace {

bool has_multi_prefix(std::string_view name) {
  return same_name(name.substr(0, multi_prefix.size()), multi_prefix);
}
std::string_view strip_multi_prefix(std::string_view name) {
  return has_multi_prefix(name) ? name.substr(multi_prefix.size()) : name;
}

std::optional<SelectedBenchmark> find(const Program& program, std::string_view name) {
  const Spec* const spec = find_benchmark(program, name);
  if (spec == nullptr) return std::nullopt;
  return SelectedBenchmark{static_cast<int>(spec - program.catalog.data()), has_multi_prefix(name)};
}

/// The other executable that has this benchmark, or an empty string.
std::string component_of(const Program& program, std::string_view name) {
  const std::string_view word = strip_multi_prefix(name);
  // The exact spelling is tried first: Unidir_Put and Unidir_put are different benchmarks.
  for (const bool exact : {true, false}) {
    for (const ComponentList& component : program.suite) {
      const std::string executable = executable_of(component.facts.name);
      if (executable == program.name) continue;
      for (const Spec& spec : component.benchmarks) {
        if (exact ? spec.name == word : same_name(spec.name, word)) return executable;
      }
    }
  }
  return {};
}

std::string unknown_benchmark_message(const Program& program, const NamedBenchmark& name) {
  const std::string message = name.where + "unknown benchmark " + openimb::quoted(name.text) + ": ";
  if (const std::string executable = component_of(program, name.text); !executable.empty()) {
    return message + "it is in " + executable;
  }
  if (const std::string_view suggestion = nearest_benchmark(program, name.text); !suggestion.empty()) {
    return message + "did you mean " + std::string(suggestion) + "?";
  }
  if (const Option* const option = find_option("-" + name.text); option != nullptr) {
    return message + "did you mean -" + std::string(option->name) + "?";
  }
  return message + "-list shows the names";
}

class Selector {
 public:
  Selector(const Program& program, std::vector<std::string>* ignored)
      : program_(program), ignored_(ignored) {}

  std::vector<SelectedBenchmark> resolve(const std::vector<NamedBenchmark>& names) const {
    std::vector<SelectedBenchmark> resolved;
    for (const NamedBenchmark& name : names) {
      if (const auto selected = find(program_, name.text)) {
        resolved.push_back(*selected);
      } else if (ignored_ != nullptr) {
        ignored_->push_back("ignored: " + unknown_benchmark_message(program_, name));
      } else {
        throw UsageError(unknown_benchmark_message(program_, name));
      }
    }
    return resolved;
  }

 private:
  const Program& program_;
  std::vector<std::string>* ignored_;
};

void add(std::vector<SelectedBenchmark>& selection, const SelectedBenchmark& selected) {
  const bool present = std::ranges::any_of(selection, [&](const SelectedBenchmark& other) {
    return other.index == selected.index && other.multi == selected.multi;
  });
  if (!present) selection.push_back(selected);
}

std::vector<SelectedBenchmark> default_selection(const Program& program) {
  std::vector<SelectedBenchmark> selection;
  for (std::size_t index = 0; index < program.catalog.size(); ++index) {
    if (program.catalog[index].in_default_list)
      selection.push_back({.index = static_cast<int>(index), .by_default = true});
  }
  return selection;
}

}  // namespace

void add_names(std::vector<NamedBenchmark>& list, std::string_view word, const std::string& where) {
  const std::size_t before = list.size();
  for (const std::string_view part : split(word, ',')) {
    if (const std::string_view name = trimmed(part); !name.empty())
      list.push_back({std::string(name), where});
  }
  // Keeps a word that has only commas, so that it is reported as an error.
  if (list.size() == before) list.push_back({std::string(word), where});
}

const Spec* find_benchmark(const Program& program, std::string_view name) {
  const auto spec = std::ranges::find_if(program.catalog, [&](const Spec& candidate) {
    return same_name(candidate.name, strip_multi_prefix(name));
  });
  return spec == program.catalog.end() ? nullptr : &*spec;
}

std::string_view nearest_benchmark(const Program& program, std::string_view word) {
  std::vector<std::string_view> names;
  for (const Spec& spec : program.catalog) names.push_back(spec.name);
  return nearest(strip_multi_prefix(word), names);
}

std::vector<SelectedBenchmark> select_benchmarks(const Program& program, const NameLists& lists,
                                                 std::vector<std::string>* ignored) {
  const Selector selector(program, ignored);
  std::vector<SelectedBenchmark> selection;
  for (const SelectedBenchmark& selected : selector.resolve(lists.named)) add(selection, selected);
  if (!lists.named.empty() && selection.empty())
    throw UsageError(unknown_benchmark_message(program, lists.named.front()));
  if (lists.named.empty()) selection = default_selection(program);
  for (const SelectedBenchmark& selected : selector.resolve(lists.included)) add(selection, selected);
  for (const SelectedBenchmark& selected : selector.resolve(lists.excluded)) {
    std::erase_if(selection, [&](const SelectedBenchmark& other) {
      // NAME excludes NAME and Multi-NAME.
      return other.index == selected.index && (other.multi || !selected.multi);
    });
  }
  if (selection.empty()) throw UsageError("-exclude leaves no benchmark to run; exclude fewer or name some");
  return selection;
}

}  // namespace openimb
