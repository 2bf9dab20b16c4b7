// -help, -list and -version. Their text is derived from the option table and the catalog.
#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "cli/command_line.h"
#include "cli/option_table.h"
#include "cli/parameters.h"
#include "cli/suggestion.h"
#include "cli/values.h"
#include "model/fabric_options.h"
#include "model/random.h"
#include "model/torus.h"

namespace openimb {

namespace {

constexpr std::size_t width = 80;
constexpr std::size_t text_column = 27;

std::string indent(std::size_t columns) { return std::string(columns, ' '); }

/// The paragraphs of `text`, broken at blanks. Lines begin at `column`; `used`: columns of the first line
/// that have text already.
std::string wrapped(std::string_view text, std::size_t column, std::size_t used = 0) {
  std::string result;
  for (const std::string_view paragraph : split(text, '\n')) {
    std::size_t position = used;
    for (const std::string_view word : split(paragraph, ' ')) {
      if (position > column && position + 1 + word.size() > width) {
        result += '\n';
        position = 0;
      }
      const std::size_t gap = position > column ? 1 : column - position;
      result += indent(gap) + std::string(word);
      position += gap + word.size();
    }
    result += '\n';
    used = 0;
  }
  return result;
}

std::string usage_line(const Program& program) {
  return "mpirun -np P " + std::string(program.name) + " [options] [benchmark ...]\n";
}

/// The syntax after an option's name: from its row, or derived from its value.
std::string syntax_of(const Option& option) {
  if (!option.syntax.empty() || option.values == Values::none) return std::string(option.syntax);
  if (option.field == nullptr) return {};
  if (option.field->is_switch) return option.values == Values::optional_switch ? "[on|off]" : "on|off";
  std::string text;
  for (const char* const word : option.field->words) (text += text.empty() ? "" : "|") += word;
  return text;
}

std::string option_with_syntax(const Option& option) {
  const std::string syntax = syntax_of(option);
  return "-" + std::string(option.name) + (syntax.empty() ? "" : " " + syntax);
}

std::string help_of(const Option& option) {
  std::string text = option.help.empty() ? listed(option.field->words) : std::string(option.help);
  if (!option.alias.empty()) text += "; also -" + std::string(option.alias);
  return text;
}

std::string help_line(const Program& program, const Option& option) {
  std::string text = help_of(option);
  const std::string default_text = default_value(option, program.defaults);
  if (!default_text.empty()) text += " [" + default_text + "]";
  const std::string left = "  " + option_with_syntax(option);
  if (left.size() + 2 > text_column) return left + "\n" + wrapped(text, text_column);
  return left + wrapped(text, text_column, left.size());
}

std::string_view processes_of(Kind kind) {
  return kind == Kind::single_transfer ? "two ranks are active" : "all ranks of the group are active";
}

std::string comma_separated(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// The benchmarks of the program that use an option; empty if all do.
std::string users_of(const Program& program, const Option& option) {
  if (option.used_by == nullptr) return {};
  std::vector<std::string> names;
  for (const Spec& spec : program.catalog) {
    if (option.used_by->matches(spec)) names.emplace_back(spec.name);
  }
  return names.size() < program.catalog.size() ? comma_separated(names) : std::string();
}

/// The details of an option, with {NAME} of a constant replaced by its value.
std::string details_of(const Option& option) {
  const std::pair<std::string_view, std::string> constants[] = {
      {"default_budget", to_text(default_budget)},
      {"default_passes", std::to_string(default_passes)},
      {"max_exponent", std::to_string(max_exponent)},
      {"max_dimensions", std::to_string(max_dimensions)},
      {"partner_rounds", std::to_string(partner_rounds)},
      {"start_timeout_factor", std::to_string(start_timeout_factor)},
  };
  std::string text(option.details);
  for (const auto& [name, value] : constants) {
    const std::string placeholder = "{" + std::string(name) + "}";
    for (std::size_t at = 0; (at = text.find(placeholder, at)) != std::string::npos; at += value.size()) {
      text.replace(at, placeholder.size(), value);
    }
  }
  return text;
}

std::string option_topic(const Program& program, const Option& option) {
  std::string text = option_with_syntax(option) + "\n" + wrapped(help_of(option), 2);
  if (!option.details.empty()) text += "\n" + wrapped(details_of(option), 2);
  if (option.lists_parameters) {
    const Options defaults = default_options(program.defaults);
    for (const Parameter& parameter : parameters()) {
      const std::string left = "    " + std::string(parameter.name) + "=" +
                               to_text(parameter.field->get(defaults), parameter.range);
      const std::string also = parameter.option.empty() ? "" : " (-" + std::string(parameter.option) + ")";
      text += left + wrapped(std::string(parameter.help) + also, text_column + 2, left.size());
    }
  }
  text += "\n";
  const std::vector<std::string> executables = executables_with(program, option);
  if (executables.size() < program.suite.size() && !executables.empty()) {
    text += wrapped("Used by: " + comma_separated(executables), 2);
  }
  const std::string users = users_of(program, option);
  if (!users.empty()) text += wrapped(std::string(program.name) + ": " + users, 2);
  const std::string default_text = default_value(option, program.defaults);
  if (!default_text.empty()) text += "  Default: " + default_text + "\n";
  return text + "  Example: mpirun -np 4 " + std::string(program.name) + " " + std::string(option.example) +
         "\n";
}

std::string benchmark_topic(const Program& program, const Spec& spec) {
  std::string facts(spec.measures);
  if (!facts.empty()) facts += "\n";
  facts += std::string(kind_title(spec.kind)) + ": " + std::string(processes_of(spec.kind)) + ".";
  if (spec.rooted) facts += " Has a root, which changes with each repetition (-root_shift).";
  if (spec.reduction) facts += " Reduces elements of -red_data_type with MPI_SUM.";
  if (spec.message_rate) facts += " Sends -window_size messages per repetition and shows their rate.";
  if (spec.in_pairs) facts += " With an odd number of ranks, the last one is idle.";
  if (spec.random_partners) facts += " Partners are drawn at random (-seed).";
  if (spec.stencil.dimensions > 0) facts += " Each rank exchanges with its neighbors in a periodic grid.";
  if (spec.topology.exists()) {
    facts += " Ranks exchange with their neighbors in a periodic grid, or in another topology (-topo).";
  }
  if (spec.sent > 0) {
    facts += " The time shown is the mean over ranks; Mbytes/sec and Msg/sec count all ranks together.";
  }
  if (spec.time_factor != 1.0) {
    facts += " The time shown is the time of one repetition multiplied by " + to_text(spec.time_factor) + ".";
  }
  if (spec.messages_per_process > 1) {
    facts += " Mbytes/sec counts " + std::to_string(spec.messages_per_process) +
             " messages per repetition and rank.";
  }
  facts += spec.in_default_list ? "" : " Runs only when named or added with -include.";
  return std::string(spec.name) + "\n" + wrapped(facts, 2) + "\n  Example: mpirun -np 4 " +
         std::string(program.name) + " " + std::string(spec.name) + "\n";
}

std::string introduction(const Program& program) {
  return usage_line(program) + "\n" +
         wrapped(
             "Without names the default list runs (see -list); names replace it, in any case, separated by "
             "blanks or commas. Options may be in any order, with one dash or two; the last of a repeated "
             "option counts. Sizes take k, m or g: powers of 1024. Defaults are in brackets.",
             0);
}

// Also read by tools/manual_pages.py.
std::string details_of_all(const Program& program) {
  std::string text = introduction(program);
  for (const OptionGroup& group : option_groups()) {
    text += "\n" + std::string(group.title) + "\n";
    for (const Option& option : group.options) text += "\n" + option_topic(program, option);
  }
  return text;
}

std::string unknown_topic(const Program& program, std::string_view topic) {
  const std::string message = "unknown help topic " + quoted(topic) + ": ";
  if (const auto option = nearest_option(topic); !option.empty()) {
    return message + "did you mean -" + std::string(option) + "?";
  }
  if (const auto name = nearest_benchmark(program, topic); !name.empty()) {
    return message + "did you mean " + std::string(name) + "?";
  }
  return message + "-help all shows the options, -list the benchmarks";
}

}  // namespace

std::string help_text(const Program& program, std::string_view topic) {
  if (same_name(topic, "full")) return details_of_all(program);
  const bool all = same_name(topic, "all");
  if (!topic.empty() && !all) {
    const Option* option = find_option(topic);
    if (option == nullptr) option = find_option("-" + std::string(topic));
    if (option != nullptr) return option_topic(program, *option);
    if (const Spec* const spec = find_benchmark(program, topic)) return benchmark_topic(program, *spec);
    throw UsageError(unknown_topic(program, topic));
  }
  std::string text = introduction(program);
  const auto add = [&](std::string_view title, std::span<const Option> options, bool common) {
    text += title;
    for (const Option& option : options) {
      if (option.common == common) text += help_line(program, option);
    }
  };
  text += "\nCommon options\n";
  for (const OptionGroup& group : option_groups()) add("", group.options, true);
  if (all) {
    for (const OptionGroup& group : option_groups()) {
      add("\n" + std::string(group.title) + "\n", group.options, false);
    }
  }
  const std::string more = all ? "" : "-help all shows all options. ";
  return text + "\n" +
         wrapped(more +
                     "-help NAME shows details of an option or a benchmark, -help full the details of all "
                     "options.",
                 0);
}

std::string list_text(const Program& program, std::span<const SelectedBenchmark> selection) {
  std::string text =
      std::string(program.name) + ", " + std::string(program.part) + ", in the order of running:\n";
  for (std::size_t index = 0; index < program.catalog.size(); ++index) {
    const bool wanted =
        selection.empty() || std::ranges::any_of(selection, [&](const SelectedBenchmark& selected) {
          return static_cast<std::size_t>(selected.index) == index;
        });
    if (!wanted) continue;
    const Spec& spec = program.catalog[index];
    const std::string left = "  " + std::string(spec.name);
    text += left + indent(left.size() < text_column ? text_column - left.size() : 1) +
            std::string(kind_title(spec.kind)) + (spec.in_default_list ? "" : " (off by default)") +
            (spec.unavailable.empty() ? "" : " (unavailable: " + std::string(spec.unavailable) + ")") + "\n";
  }
  return text;
}

std::string version_text(const Program& program) {
  return "OpenIMB " OPENIMB_VERSION " (" + std::string(program.name) +
         "), compatible with Intel(R) MPI Benchmarks 4.0\n";
}

}  // namespace openimb
