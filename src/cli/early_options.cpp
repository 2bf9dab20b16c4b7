#include "cli/early_options.h"

#include <algorithm>
#include <initializer_list>

#include "cli/command_line.h"
#include "cli/draft.h"
#include "cli/option_table.h"
#include "cli/values.h"

namespace openimb {

namespace {

// Values of these options before parse(), which reports bad ones, once for all ranks, when MPI is up: false.
bool apply_early(Draft& draft, std::span<const std::string> arguments,
                 std::initializer_list<std::string_view> names) {
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    const Option* const option = find_option(arguments[i]);
    if (std::ranges::none_of(names, [option](std::string_view name) { return is(option, name); })) continue;
    try {
      option->apply(draft, arguments[i + 1]);
    } catch (const BadValue&) {
      return false;
    }
  }
  return true;
}

const Program no_program{};
const ReadFile no_files = [](const std::string&) { return FileText{}; };

}  // namespace

void settle_level(bool given, Options& options) {
  if (options.threads.asked.value_or(1) > 1 && !given) options.thread_level = ThreadLevel::multiple;
}

ThreadLevel requested_thread_level(std::span<const std::string> arguments) {
  Draft draft{.program = no_program, .world = 1, .read_file = no_files};
  if (!apply_early(draft, arguments, {"thread_level", "threads"})) return ThreadLevel::single;
  const auto is_level = [](const std::string& word) { return is(find_option(word), "thread_level"); };
  settle_level(std::ranges::any_of(arguments, is_level), draft.options);
  return draft.options.thread_level;
}

double requested_pair_timeout(std::span<const std::string> arguments) {
  Draft draft{.program = no_program, .world = 1, .read_file = no_files};
  const FabricOptions& fabric = draft.options.fabric.emplace();
  return apply_early(draft, arguments, {"pair_timeout"}) ? fabric.timeout_seconds : 0;
}

}  // namespace openimb
