#include "cli/selection.h"

#include <algorithm>
#include <optional>

#include "cli/option_table.h"
#include "cli/suggestion.h"
#include "cli/values.h"

namespace openimb {

namespace {

constexpr std::string_view multi_prefix = "multi-";

bool has_multi_prefix(std::string_view name) {
  return same_name(name.substr(0, multi_prefix.size()), multi_prefix);
}
std::string_view without_multi(std::string_view name) {
  return has_multi_prefix(name) ? name.substr(multi_prefix.size()) : name;
}

std::optional<Selected> find(const Program& program, std::string_view name) {
  const Spec* const spec = find_benchmark(program, name);
  if (spec == nullptr) return std::nullopt;
  return Selected{static_cast<int>(spec - program.catalogue.data()), has_multi_prefix(name)};
}

struct Component {
  std::string_view program;
  std::string_view names;  ///< blank-separated
};
constexpr Component components[] = {
    {"IMB-MPI1",
     "PingPong PingPing Sendrecv Exchange Allreduce Reduce Reduce_local Reduce_scatter Reduce_scatter_block "
     "Allgather "
     "Allgatherv Gather Gatherv Scatter Scatterv Alltoall Alltoallv Bcast Barrier Uniband Biband"},
    {"IMB-EXT", "Window Unidir_Get Unidir_Put Bidir_Get Bidir_Put Accumulate"},
    {"IMB-NBC",
     "Ibcast Iallgather Iallgatherv Igather Igatherv Iscatter Iscatterv Ialltoall Ialltoallv Ireduce "
     "Ireduce_scatter "
     "Iallreduce Ibarrier"},
    {"IMB-RMA",
     "Unidir_put Bidir_put Unidir_get Bidir_get Put_local Put_all_local Get_local Get_all_local One_put_all "
     "All_put_all One_get_all All_get_all Exchange_put Exchange_get Accumulate Get_accumulate Fetch_and_op "
     "Compare_and_swap Truly_passive_put"},
};

/// The other executable that has this benchmark, or an empty text.
std::string_view component_of(const Program& program, std::string_view name) {
  std::string_view word = without_multi(name);
  const std::string lower = lower_case(word);
  const bool action = lower.find("read") != std::string::npos || lower.find("write") != std::string::npos;
  const bool on_files = lower == "open_close" || (action && lower.find('_') == 1);
  if (on_files && program.name != "IMB-IO") return "IMB-IO";
  if (lower.ends_with("_pure")) word.remove_suffix(5);
  // Unidir_Put and Unidir_put are different benchmarks: exact spelling first.
  for (const bool exact : {true, false}) {
    for (const Component& component : components) {
      if (component.program == program.name) continue;
      for (const std::string_view known : split(component.names, ' ')) {
        if (exact ? known == word : same_name(known, word)) return component.program;
      }
    }
  }
  return {};
}

std::string unknown(const Program& program, const Name& name) {
  const std::string message = name.where + "unknown benchmark " + quoted(name.text) + ": ";
  if (const std::string_view other = component_of(program, name.text); !other.empty()) {
    return message + "it is one of " + std::string(other);
  }
  if (const std::string_view meant = nearest_benchmark(program, name.text); !meant.empty()) {
    return message + "did you mean " + std::string(meant) + "?";
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

  std::vector<Selected> resolve(const std::vector<Name>& names) const {
    std::vector<Selected> found;
    for (const Name& name : names) {
      if (const auto selected = find(program_, name.text)) {
        found.push_back(*selected);
      } else if (ignored_ != nullptr) {
        ignored_->push_back("ignored: " + unknown(program_, name));
      } else {
        throw UsageError(unknown(program_, name));
      }
    }
    return found;
  }

 private:
  const Program& program_;
  std::vector<std::string>* ignored_;
};

void add(std::vector<Selected>& selection, const Selected& one) {
  const bool present = std::ranges::any_of(
      selection, [&](const Selected& other) { return other.index == one.index && other.multi == one.multi; });
  if (!present) selection.push_back(one);
}

std::vector<Selected> default_selection(const Program& program) {
  std::vector<Selected> selection;
  for (std::size_t index = 0; index < program.catalogue.size(); ++index) {
    if (program.catalogue[index].in_default_list) selection.push_back({static_cast<int>(index), false});
  }
  return selection;
}

}  // namespace

void add_names(std::vector<Name>& list, std::string_view word, const std::string& where) {
  const std::size_t before = list.size();
  for (const std::string_view piece : split(word, ',')) {
    if (const std::string_view name = trimmed(piece); !name.empty())
      list.push_back({std::string(name), where});
  }
  // A word of commas only is a mistake that must not vanish.
  if (list.size() == before) list.push_back({std::string(word), where});
}

const Spec* find_benchmark(const Program& program, std::string_view name) {
  const auto spec = std::ranges::find_if(
      program.catalogue, [&](const Spec& one) { return same_name(one.name, without_multi(name)); });
  return spec == program.catalogue.end() ? nullptr : &*spec;
}

std::string_view nearest_benchmark(const Program& program, std::string_view word) {
  std::vector<std::string_view> names;
  for (const Spec& spec : program.catalogue) names.push_back(spec.name);
  return nearest(without_multi(word), names);
}

std::vector<Selected> select_benchmarks(const Program& program, const NameLists& lists,
                                        std::vector<std::string>* ignored) {
  const Selector selector(program, ignored);
  std::vector<Selected> selection;
  for (const Selected& one : selector.resolve(lists.named)) add(selection, one);
  if (!lists.named.empty() && selection.empty()) throw UsageError(unknown(program, lists.named.front()));
  if (lists.named.empty()) selection = default_selection(program);
  for (const Selected& one : selector.resolve(lists.included)) add(selection, one);
  for (const Selected& one : selector.resolve(lists.excluded)) {
    std::erase_if(selection, [&](const Selected& other) {
      return other.index == one.index && (other.multi || !one.multi);  // NAME means both its forms
    });
  }
  if (selection.empty()) throw UsageError("-exclude leaves no benchmark to run; exclude fewer or name some");
  return selection;
}

}  // namespace openimb
