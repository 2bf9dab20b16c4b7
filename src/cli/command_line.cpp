#include "cli/command_line.h"

#include <algorithm>
#include <optional>

#include "cli/data_layout.h"
#include "cli/draft.h"
#include "cli/early_options.h"
#include "cli/fabric.h"
#include "cli/file_names.h"
#include "cli/memory.h"
#include "cli/option_effect.h"
#include "cli/option_table.h"
#include "cli/topology.h"
#include "cli/values.h"
#include "plan/synchronization.h"

namespace openimb {

namespace {

using Arguments = std::span<const std::string>;

/// An option with its words, or benchmark names (no option).
struct Use {
  const Option* option = nullptr;
  std::vector<std::string> words;
};

std::string dashed(const Option& option) { return "-" + std::string(option.name); }

std::string unknown_option(std::string_view word) {
  const std::string_view meant = nearest_option(word);
  return "unknown option " + openimb::quoted(word) +
         (meant.empty() ? ": -help shows the options" : ": did you mean -" + std::string(meant) + "?");
}

/// Reads the command line, one option with its words at a time.
class Reader {
 public:
  Reader(const Program& program, Arguments arguments) : program_(program), rest_(arguments) {}

  bool done() const { return rest_.empty(); }

  /// `ignored`: takes unknown options; without it they throw.
  Use next(std::vector<std::string>* ignored) {
    const std::string word = take();
    if (!word.starts_with('-')) return {nullptr, {word}};
    const Option* const option = find_option(word);
    if (option == nullptr) {
      if (ignored == nullptr) throw UsageError(unknown_option(word));
      ignored->push_back("ignored: " + unknown_option(word) + dropped_words());
      return {};
    }
    return {option, words_of(*option)};
  }

 private:
  std::string take() {
    std::string word = rest_.front();
    rest_ = rest_.subspan(1);
    return word;
  }
  bool at_word() const { return !rest_.empty() && !looks_like_option(rest_.front()); }

  std::vector<std::string> words_of(const Option& option) {
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
      // "A,B" is a list of its own, "A, B" is one that goes on.
      const bool commas = words.front().find(',') != std::string::npos;
      while (at_word() && (!commas || words.back().ends_with(','))) words.push_back(take());
    }
    return words;
  }

  // What may be a benchmark is left to the selection, which must not become the default list unnoticed.
  std::string dropped_words() {
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

std::vector<std::string_view> names_in(const std::vector<Use>& uses) {
  std::vector<std::string_view> names;
  for (const Use& use : uses) {
    if (use.option != nullptr) names.push_back(use.option->name);
  }
  return names;
}

/// What -list is about: json, or the benchmarks that are named anywhere on the command line. Other options
/// have no effect.
void read_list_words(const Program& program, Arguments arguments, Options& options) {
  NameLists names;
  std::vector<std::string> ignored;
  const bool lenient = std::ranges::any_of(
      arguments, [](const std::string& word) { return is(find_option(word), "ignore_unknown"); });
  for (Reader reader(program, arguments); !reader.done();) {
    const Use use = reader.next(lenient ? &ignored : nullptr);
    if (use.option != nullptr) continue;
    for (const std::string& word : use.words) {
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

/// The first of -help, -list and -version, if any. It decides alone.
std::optional<Options> action_only(const Program& program, Arguments arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Option* const option = find_option(arguments[i]);
    if (option == nullptr || option->action == Options::Action::run) continue;
    Options options;
    options.action = option->action;
    const bool has_word = option->values == Values::optional_one && i + 1 < arguments.size();
    if (option->action == Options::Action::list) {
      read_list_words(program, arguments, options);
    } else if (has_word) {
      options.help_topic = arguments[i + 1];
      help_text(program, options.help_topic);  // throws where the topic is unknown
    }
    return options;
  }
  return std::nullopt;
}

void apply(Draft& draft, const Use& use) {
  if (use.option == nullptr) {
    for (const std::string& word : use.words) add_names(draft.names.named, word);
    return;
  }
  try {
    if (use.words.empty()) use.option->apply(draft, {});
    for (const std::string& word : use.words) use.option->apply(draft, word);
  } catch (const BadValue& problem) {
    const std::string message = dashed(*use.option) + ": " + problem.what();
    if (message.ends_with('?')) throw UsageError(message);
    throw UsageError(message + "; for example: " + std::string(use.option->example));
  }
}

// What a component has instead of the ordinary defaults.
void apply_standard(Options& options, int world) {
  const Standard& standard = options.standard;
  if (standard.min_processes == all_processes) options.standard.min_processes = world;
  options.data.type = standard.data;
  options.reduction.type = standard.reduction;
  options.in_flight = standard.in_flight;
  if (standard.threaded) options.counts = {1, 2, 4, 8};
}

void settle_threads(const std::vector<Use>& uses, Options& options) {
  const auto given = [&](std::string_view name) {
    return std::ranges::any_of(uses, [&](const Use& use) { return is(use.option, name); });
  };
  settle_level(given("thread_level"), options);
  const Settings& settings = options.settings;
  const Settings& standard = options.standard.settings;
  const bool by_bytes = given("msglen") || given("msgsize") || given("msgsz") || given("msglog") ||
                        settings.min_message_log != standard.min_message_log ||
                        settings.max_message_log != standard.max_message_log;
  if (by_bytes && !given("count")) options.counts.clear();
}

void check_contradictions(const std::vector<Use>& uses, const Options& options) {
  const auto given = [&](std::string_view name) {
    for (const Use& use : uses) {
      if (is(use.option, name)) return true;
    }
    return false;
  };
  struct Pair {
    std::string_view first, second;
  };
  for (const auto& [first, second] : {Pair{"msglen", "msgsize"},
                                      {"msglen", "msglog"},
                                      {"msgsize", "msglog"},
                                      {"msglen", "msgsz"},
                                      {"msgsize", "msgsz"},
                                      {"msgsz", "msglog"},
                                      {"count", "msglen"},
                                      {"count", "msgsize"},
                                      {"count", "msglog"},
                                      {"count", "msgsz"},
                                      {"repeat", "iter"},
                                      {"datatype", "data_type"},
                                      {"datatype", "red_data_type"},
                                      {"memory", "mem_alloc_type"},
                                      {"gpu", "gpu_select"}}) {
    if (given(first) && given(second)) {
      throw UsageError("-" + std::string(first) + " and -" + std::string(second) +
                       " cannot be combined; give one of them");
    }
  }
  // Whose repetitions' times would be kept of every pass, or whose pauses would come in every pass.
  for (const std::string_view option : {"show_tail", "dumpfile", "msg_pause", "pause"}) {
    if (options.passes && given(option)) {
      throw UsageError("-" + std::string(option) +
                       ": cannot be combined with -passes, -precision or -budget; leave it out");
    }
  }
  const Settings& settings = options.settings;
  if (settings.min_message_log > settings.max_message_log) {
    throw UsageError("-msglog: smallest exponent, " + std::to_string(settings.min_message_log) +
                     ", is above the largest, " + std::to_string(settings.max_message_log) +
                     "; for example: -msglog 3:7");
  }
  if (!options.zero_size && !options.lengths.empty() &&
      std::ranges::all_of(options.lengths, [](std::int64_t length) { return length == 0; })) {
    throw UsageError(
        "-zero_size off leaves no length to measure; name one above 0, for example: -msgsize 0,8");
  }
}

bool has_random_partners(const Program& program) {
  return std::ranges::any_of(program.catalogue, &Spec::random_partners);
}

void check_sync_mode(const Program& program, SyncMode mode) {
  const auto has = [&](Access access) {
    return std::ranges::any_of(program.catalogue, [&](const Spec& spec) { return spec.access == access; });
  };
  const bool active_only = has(Access::active_target) && !has(Access::passive_target);
  if (active_only && mode != SyncMode::standard && !needs_targets(mode)) {
    throw UsageError("-sync_mode " + std::string(name_of(mode)) + ": a mode of passive targets; " +
                     std::string(program.name) + " has active ones: give fence or pscw, or run IMB-RMA");
  }
}

// Pairs that so many processes do not make.
void check_pairs(const Options& options, int world) {
  const int pairs = world / 2;
  const auto refuse = [&](const std::string& option, const std::string& why, int most) {
    throw UsageError(option + ": " +
                     (world == 1 ? "1 process makes no pair; launch at least 2 processes"
                                 : why + "; give at most " + std::to_string(most)));
  };
  if (options.stride >= world) {
    refuse("-stride " + std::to_string(options.stride),
           "no pair of " + std::to_string(world) + " processes is so far apart", world - 1);
  }
  if (options.pairs && options.pairs->most_pairs > pairs) {
    refuse("-pairs " + std::to_string(options.pairs->most_pairs),
           std::to_string(world) + " processes make " +
               (pairs == 1 ? "1 pair" : std::to_string(pairs) + " pairs"),
           pairs);
  }
}

// Options of IMB-MT alone.
struct OfThreads {
  std::string_view name;
  std::string_view elsewhere = {};  ///< the option that does the same in other components
};
constexpr OfThreads of_threads[] = {{"threads"},
                                    {"comm"},
                                    {"pin_threads"},
                                    {"stride"},
                                    {"count", "-msgsize"},
                                    {"datatype", "-data_type"},
                                    {"barrier", "-imb_barrier"},
                                    {"noheader"},
                                    {"malloc_align"},
                                    {"malloc_algo"}};

// Options without effect in this executable, where ignoring them would mislead.
void check_component(const Program& program, const std::vector<Use>& uses, int world,
                     const Options& options) {
  constexpr std::string_view of_files[] = {"file", "fsync", "reorder"};
  constexpr std::string_view of_pairs[] = {"halo", "pairs", "msgwr", "msgrd"};
  constexpr std::string_view of_messages[] = {"data_type", "red_data_type", "contig_type"};
  for (const Use& use : uses) {
    if (use.option == nullptr) continue;
    if (!has_random_partners(program) &&
        std::ranges::find(of_pairs, use.option->name) != std::end(of_pairs)) {
      throw UsageError(dashed(*use.option) + ": " + std::string(program.name) +
                       " has no benchmark for it; leave it out, or run IMB-P2P");
    }
    if (!program.uses_files && std::ranges::find(of_files, use.option->name) != std::end(of_files)) {
      throw UsageError(dashed(*use.option) + ": " + std::string(program.name) +
                       " uses no files; leave it out, or run IMB-IO");
    }
    if (program.uses_files && std::ranges::find(of_messages, use.option->name) != std::end(of_messages)) {
      throw UsageError(dashed(*use.option) + ": " + std::string(program.name) +
                       " writes and reads bytes (MPI_BYTE); leave it out");
    }
  }
  check_pairs(options, world);
  check_sync_mode(program, options.sync_mode);
  const bool in_parts = std::ranges::any_of(program.catalogue, &Spec::partitioned);
  for (const Use& use : uses) {
    if (program.standard.threaded || use.option == nullptr) continue;
    if (in_parts && (is(use.option, "threads") || is(use.option, "pin_threads"))) continue;
    const auto known = std::ranges::find(of_threads, use.option->name, &OfThreads::name);
    if (known == std::end(of_threads)) continue;
    const std::string instead =
        known->elsewhere.empty() ? "leave it out" : "give " + std::string(known->elsewhere);
    throw UsageError(dashed(*use.option) + ": an option of IMB-MT; " + instead + ", or run IMB-MT");
  }
  if (options.reorder > 0 && options.reorder % world == 0) {
    throw UsageError(
        "-reorder " + std::to_string(options.reorder) + ": with " + std::to_string(world) +
        (world == 1 ? " process" : " processes") +
        ", each rank would read what it wrote; give a number from 1 to the number of processes less 1");
  }
}

}  // namespace

Options parse(const Program& program, std::span<const std::string> arguments, int world,
              const ReadFile& read_file, const SameFile& same_file) {
  if (auto action = action_only(program, arguments)) return *action;

  Draft draft{.program = program, .world = world, .read_file = read_file};
  draft.options.standard = program.standard;
  draft.options.settings = program.standard.settings;
  if (has_random_partners(program)) draft.options.pairs.emplace();
  if (program.standard.fabric) draft.options.fabric.emplace();
  apply_standard(draft.options, world);
  for (const std::string& word : arguments) {
    if (is(find_option(word), "ignore_unknown")) draft.ignore_unknown = true;
  }
  std::vector<std::string>* const ignored = draft.ignore_unknown ? &draft.options.warnings : nullptr;

  std::vector<Use> uses;
  for (Reader reader(program, arguments); !reader.done();) uses.push_back(reader.next(ignored));
  // -set is the ground that the other options stand on.
  for (const bool settings : {true, false}) {
    for (const Use& use : uses) {
      if (is(use.option, "set") == settings) apply(draft, use);
    }
  }
  if (Passes* const passes = draft.options.passes ? &*draft.options.passes : nullptr) {
    constexpr double usual_budget = 60;
    if (!passes->most && !passes->budget) passes->budget = usual_budget;
  }
  settle_threads(uses, draft.options);
  settle_topology(draft);
  check_layout(draft.options);
  if (draft.wanted_processes > world) {
    draft.options.warnings.push_back("-npmin " + std::to_string(draft.wanted_processes) +
                                     ": above the number of processes launched; -npmin " +
                                     std::to_string(world) + " is used");
  }
  check_contradictions(uses, draft.options);
  check_component(program, uses, world, draft.options);
  check_files(draft.options, same_file);
  draft.options.selection = select_benchmarks(program, draft.names, ignored);
  settle_fabric(draft, names_in(uses));
  check_memory(draft, names_in(uses));
  for (const Use& use : uses) {
    if (use.option != nullptr) check_effect(program, *use.option, draft.options.selection);
  }
  return draft.options;
}

}  // namespace openimb
