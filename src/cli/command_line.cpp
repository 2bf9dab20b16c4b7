#include "cli/command_line.h"

#include <algorithm>
#include <optional>

#include "cli/option_table.h"
#include "cli/values.h"

namespace openimb {

namespace {

using Arguments = std::span<const std::string>;

/// An option with its values; without an option, benchmark names.
struct ParsedOption {
  const Option* option = nullptr;
  std::vector<std::string> words;
};

std::string dashed(const Option& option) { return "-" + std::string(option.name); }

std::string unknown_option_message(std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  if (same_name(name, "-packing") || same_name(name, "--packing")) {
    return "unknown option " + openimb::quoted(word) +
           ": it was removed; give -layout alone, which sends the derived datatype";
  }
  const std::string_view suggestion = nearest_option(word);
  return "unknown option " + openimb::quoted(word) +
         (suggestion.empty() ? ": -help all shows the options"
                             : ": did you mean -" + std::string(suggestion) + "?");
}

/// Reads the command line, one option with its values at a time.
class Reader {
 public:
  Reader(const Program& program, Arguments arguments) : program_(program), rest_(arguments) {}

  bool done() const { return rest_.empty(); }

  /// Reads the next option or benchmark name. Messages about unknown options go to `ignored`; without it,
  /// unknown options throw.
  ParsedOption next(std::vector<std::string>* ignored) {
    const std::string word = take();
    if (!word.starts_with('-')) return {nullptr, {word}};
    const Option* const option = find_option(word);
    if (option == nullptr) {
      if (ignored == nullptr) throw UsageError(unknown_option_message(word));
      ignored->push_back("ignored: " + unknown_option_message(word) + drop_words());
      return {};
    }
    return {option, take_values(*option)};
  }

 private:
  std::string take() {
    std::string word = rest_.front();
    rest_ = rest_.subspan(1);
    return word;
  }
  /// Whether the next argument is a value or a name.
  bool at_word() const { return !rest_.empty() && !looks_like_option(rest_.front()); }

  std::vector<std::string> take_values(const Option& option) {
    std::vector<std::string> words;
    if (option.values == Values::none || option.values == Values::optional_one) return words;
    if (option.values == Values::optional_switch) {
      if (at_word() && is_switch(rest_.front())) words.push_back(take());
      return words;
    }
    if (!at_word() || rest_.front().empty()) {
      throw UsageError(dashed(option) + ": value missing; for example: " + std::string(option.example));
    }
    words.push_back(take());
    if (option.values == Values::one_or_two && at_word() && option.is_second(rest_.front())) {
      words.back() += "," + take();
    }
    if (option.values == Values::list) {
      // "A,B" is a whole list; "A, B" continues after the blank.
      const bool has_comma = words.front().find(',') != std::string::npos;
      while (at_word() && (!has_comma || words.back().ends_with(','))) words.push_back(take());
    }
    return words;
  }

  // Drops the words after an unknown option. A word that may be a benchmark is kept: without it, the default
  // list would run.
  std::string drop_words() {
    std::string dropped;
    while (at_word() && find_benchmark(program_, rest_.front()) == nullptr &&
           nearest_benchmark(program_, rest_.front()).empty()) {
      dropped += (dropped.empty() ? "; with it " : ", ") + openimb::quoted(take());
    }
    return dropped;
  }

  const Program& program_;
  Arguments rest_;
};

bool is_lenient(Arguments arguments) {
  return std::ranges::any_of(arguments, [](const std::string& word) {
    const Option* const option = find_option(word);
    return option != nullptr && option->stage == Stage::lenient;
  });
}

/// Reads what -list prints: json, or the benchmarks that are named anywhere on the command line. Other
/// options have no effect.
void read_list_words(const Program& program, Arguments arguments, Options& options) {
  NameLists names;
  std::vector<std::string> ignored;
  const bool lenient = is_lenient(arguments);
  for (Reader reader(program, arguments); !reader.done();) {
    const ParsedOption parsed = reader.next(lenient ? &ignored : nullptr);
    if (parsed.option != nullptr) continue;
    for (const std::string& word : parsed.words) {
      if (same_name(word, "json")) {
        options.list_as_json = true;
      } else {
        add_names(names.named, word);
      }
    }
  }
  if (names.named.empty()) return;
  if (options.list_as_json) {
    throw UsageError("-list json: no benchmark can be named with it: " +
                     openimb::quoted(names.named.front().text) + "; leave out the name or json");
  }
  options.selection = select_benchmarks(program, names, nullptr);
}

/// The options for the first of -help, -list and -version, if there is one. All other options are ignored.
std::optional<Options> find_action(const Program& program, Arguments arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Option* const option = find_option(arguments[i]);
    if (option == nullptr || option->action == Options::Action::run) continue;
    Options options;
    options.action = option->action;
    const bool has_value = option->values == Values::optional_one && i + 1 < arguments.size();
    if (option->action == Options::Action::list) {
      read_list_words(program, arguments, options);
    } else if (has_value) {
      options.help_topic = arguments[i + 1];
      help_text(program, options.help_topic);  // throws if the topic is unknown
    }
    return options;
  }
  return std::nullopt;
}

void apply(ParseState& state, const ParsedOption& parsed) {
  if (parsed.option == nullptr) {
    for (const std::string& word : parsed.words) add_names(state.names.named, word);
    return;
  }
  state.given.push_back(parsed.option->name);
  try {
    if (parsed.words.empty()) openimb::apply(*parsed.option, state, {});
    for (const std::string& word : parsed.words) openimb::apply(*parsed.option, state, word);
  } catch (const BadValue& error) {
    const std::string message = dashed(*parsed.option) + ": " + error.what();
    if (message.ends_with('?')) throw UsageError(message);
    throw UsageError(message + "; for example: " + std::string(parsed.option->example));
  }
}

/// Calls `call` for each option that was given, in the order of the table.
template <class Call>
void for_each_given(const ParseState& state, Call call) {
  for (const OptionGroup& group : option_groups()) {
    for (const Option& option : group.options) {
      if (state.has(option.name)) call(option);
    }
  }
}

void apply_implied(ParseState& state) {
  for_each_given(state, [&](const Option& option) {
    if (option.imply != nullptr) option.imply(state);
  });
}

void check(const ParseState& state) {
  for_each_given(state, [&](const Option& option) {
    for (const std::string_view other : split(option.excludes, ' ')) {
      if (!state.has(other)) continue;
      throw UsageError(cannot_combine(dashed(option), "-" + std::string(other)));
    }
  });
  for_each_given(state, [&](const Option& option) {
    if (option.check != nullptr) option.check(state);
  });
}

/// Advice for an option that no benchmark of the component uses.
std::string alternatives(const Option& option, const Program& program) {
  const std::vector<std::string> executables = executables_with(program, option);
  const std::string text = option.instead.empty() ? "leave it out" : "give " + std::string(option.instead);
  const bool all_others = executables.size() + 1 >= program.suite.size();
  return executables.empty() || all_others ? text : text + ", or run " + listed(executables);
}

/// Adds a note about an option, unless it has its default value.
void note(ParseState& state, const Option& option, const std::string& what) {
  const Options& options = state.options;
  const Options initial = default_options(options.defaults);
  if (option.field != nullptr && option.field->get(options) == option.field->get(initial)) return;
  state.options.warnings.push_back(dashed(option) + ": " + what);
}

/// Refuses options that no benchmark of the component uses, or adds a note; called before their values are
/// checked.
void check_component(ParseState& state) {
  const Program& program = state.program;
  for_each_given(state, [&](const Option& option) {
    const BenchmarkFilter* const users = option.used_by;
    if (users == nullptr || std::ranges::any_of(program.catalog, users->matches)) return;
    const std::string why = std::string(program.name) + " " + std::string(users->why);
    if (users->unused == UnusedOption::refused) {
      throw UsageError(dashed(option) + ": " + why + "; " + alternatives(option, program));
    }
    note(state, option, "no effect; " + why);
  });
}

/// Refuses options that no selected benchmark uses, or adds a note.
void check_selection(ParseState& state) {
  const Program& program = state.program;
  for_each_given(state, [&](const Option& option) {
    const BenchmarkFilter* const users = option.used_by;
    if (users == nullptr) return;
    const auto first = std::ranges::find_if(program.catalog, users->matches);
    const auto is_user = [&](const SelectedBenchmark& selected) {
      return users->matches(program.catalog[static_cast<std::size_t>(selected.index)]);
    };
    if (first == program.catalog.end() || std::ranges::any_of(state.options.selection, is_user)) return;
    const std::string message = "no effect on the selected benchmarks";
    if (users->unused == UnusedOption::refused) {
      throw UsageError(dashed(option) + ": " + message + "; leave it out, or add " +
                       std::string(first->name));
    }
    note(state, option, message);
  });
}

Options default_options_of(const Program& program, int world) {
  Options options = default_options(program.defaults);
  if (options.defaults.min_processes == all_processes) options.defaults.min_processes = world;
  if (program.defaults.random_partners) options.pairs.emplace();
  if (program.defaults.fabric) options.fabric.emplace();
  return options;
}

void check_multi(const Options& options) {
  if (!options.fabric || std::ranges::none_of(options.selection, &SelectedBenchmark::multi)) return;
  throw UsageError(std::string(multi_prefix) +
                   ": IMB-FABRIC measures pairs of endpoints in rounds; name the benchmark without it");
}

/// The options that are needed before MPI_Init, or nothing if one has a bad value: parse() reports it later,
/// once for all ranks.
std::optional<Options> early_options(Arguments arguments) {
  const Program no_program{};
  const ReadFile no_files = [](const std::string&) { return FileText{}; };
  ParseState state{.program = no_program, .world = 1, .read_file = no_files};
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    const Option* const option = find_option(arguments[i]);
    if (option == nullptr || !option->early) continue;
    try {
      apply(state, {option, {arguments[i + 1]}});
    } catch (const UsageError&) {
      return std::nullopt;
    }
  }
  apply_implied(state);
  return state.options;
}

}  // namespace

ThreadLevel requested_thread_level(std::span<const std::string> arguments) {
  return early_options(arguments).value_or(Options{}).thread_level;
}

double requested_pair_timeout(std::span<const std::string> arguments) {
  const std::optional<Options> options = early_options(arguments);
  return options ? options->fabric.value_or(FabricOptions{}).timeout_seconds : 0;
}

Options parse(const Program& program, std::span<const std::string> arguments, int world,
              const ReadFile& read_file, const SameFile& same_file) {
  if (auto action = find_action(program, arguments)) return *action;

  ParseState state{.program = program,
                   .world = world,
                   .read_file = read_file,
                   .same_file = same_file,
                   .options = default_options_of(program, world)};
  std::vector<std::string>* const ignored = is_lenient(arguments) ? &state.options.warnings : nullptr;
  std::vector<ParsedOption> all_parsed;
  for (Reader reader(program, arguments); !reader.done();) all_parsed.push_back(reader.next(ignored));
  // -set is applied first, as other options change the same settings.
  for (const bool settings : {true, false}) {
    for (const ParsedOption& parsed : all_parsed) {
      if ((parsed.option != nullptr && parsed.option->stage == Stage::settings) == settings)
        apply(state, parsed);
    }
  }
  check_component(state);
  apply_implied(state);
  check(state);
  state.options.selection = select_benchmarks(program, state.names, ignored);
  check_multi(state.options);
  check_selection(state);
  return state.options;
}

}  // namespace openimb
