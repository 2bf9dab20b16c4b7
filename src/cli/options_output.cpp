// Rows of the option table: what is printed and written, and what IMB does not have.
#include <algorithm>
#include <string>
#include <utility>

#include "cli/option_table.h"
#include "cli/parameters.h"
#include "cli/text_file.h"
#include "cli/values.h"

namespace openimb {

namespace {

void read_parameters(Draft& draft, std::string_view path) {
  draft.inputs.emplace_back(path);
  for (const TextEntry& entry : read_entries(draft.read_file, std::string(path), "set", "settings")) {
    try {
      set_parameter(draft.options.settings, entry.text);
    } catch (const BadValue& problem) {
      throw UsageError(entry.where + problem.what() + "; a setting is a line such as MSGSPERSAMPLE=20");
    }
  }
}

void set(Draft& draft, std::string_view word) {
  if (word == "@") throw BadValue("the file's name is missing behind @");
  if (word.starts_with('@')) return read_parameters(draft, word.substr(1));
  set_parameter(draft.options.settings, word);
}

constexpr Option output_rows[] = {
    {.name = "show_tail",
     .syntax = "on|off",
     .help = "under each row, the quantiles of its repetitions",
     .standard = "off",
     .example = "-show_tail on",
     .details = "Each repetition is timed, and its slowest process counts. t_min, t_avg and t_max in the row "
                "are not over repetitions but over processes, of each one's mean.",
     .apply = [](Draft& draft, std::string_view word) { draft.options.show_tail = on_or_off(word); }},
    {.name = "dumpfile",
     .syntax = "FILE",
     .help = "write the time of each repetition to FILE",
     .example = "-dumpfile times.txt",
     .details = "One line for each: bytes and microseconds.",
     .apply = [](Draft& draft, std::string_view word) { draft.options.dump_file = word; }},
    {.name = "help",
     .values = Values::optional_one,
     .syntax = "[TOPIC]",
     .help = "show this, or the details of one option or benchmark; also -h",
     .example = "-help iter",
     .action = Options::Action::help},
    {.name = "version",
     .values = Values::none,
     .help = "show the version and stop",
     .example = "-version",
     .action = Options::Action::version},
};

void add_info(Draft& draft, std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == word.size()) {
    throw BadValue(quoted(word) + " is not KEY=VALUE");
  }
  const std::string key(word.substr(0, equals));
  const std::string value(word.substr(equals + 1));
  auto& info = draft.options.info;
  const auto known = std::ranges::find(info, key, &std::pair<std::string, std::string>::first);
  if (known != info.end()) {
    known->second = value;
  } else {
    info.emplace_back(key, value);
  }
}

Interleaving interleaving_of(std::string_view word) {
  const std::vector<std::string_view> pieces = split(word, ',');
  const std::size_t colon = pieces.size() == 3 ? pieces[1].rfind(':') : std::string_view::npos;
  if (colon == std::string_view::npos || colon == 0 || pieces[2].empty()) {
    throw BadValue(quoted(word) + " is not PARTS,HOST:PORT,TOKEN");
  }
  whole_number(pieces[1].substr(colon + 1), 1, 65535);
  return {.segments = static_cast<int>(whole_number(pieces[0], 1, 1000)),
          .host = std::string(pieces[1].substr(0, colon)),
          .port = std::string(pieces[1].substr(colon + 1)),
          .token = std::string(pieces[2])};
}

Passes& passes_of(Draft& draft) {
  std::optional<Passes>& passes = draft.options.passes;
  return passes ? *passes : passes.emplace();
}

constexpr Option own_rows[] = {
    {.name = "window",
     .syntax = "KIND",
     .help = "create, allocate, shared or dynamic",
     .standard = "create",
     .example = "-window allocate",
     .details =
         "How windows of one-sided benchmarks are made. create: of our memory. allocate: MPI allocates "
         "it, as most programs do. shared: the same for processes that share memory; others make "
         "failure rows. dynamic: our memory is attached to a window without any.",
     .apply =
         [](Draft& draft, std::string_view word) {
           constexpr WindowKind kinds[] = {WindowKind::create, WindowKind::allocate, WindowKind::shared,
                                           WindowKind::dynamic};
           draft.options.window_kind = choice(kinds, [](WindowKind kind) { return name_of(kind); }, word);
         }},
    {.name = "progress",
     .syntax = "N",
     .help = "call MPI_Test N times while computing",
     .standard = "0",
     .example = "-progress 10",
     .details =
         "For benchmarks of overlap: the computation of a repetition is cut into N + 1 parts with a call of "
         "MPI_Test between two. Many MPIs advance a nonblocking operation only inside such calls.",
     .apply =
         [](Draft& draft, std::string_view word) {
           draft.options.progress = static_cast<int>(whole_number(word, 0, 1000000));
         }},
    {.name = "info",
     .syntax = "KEY=VALUE",
     .help = "a hint for MPI when it makes a window or opens a file",
     .example = "-info no_locks=true",
     .details = "May be repeated. What the guide does by editing User_Set_Info. MPI ignores keys that it "
                "does not know.",
     .apply = add_info},
    {.name = "file",
     .syntax = "PATH",
     .help = "IMB-IO: the folder, or the name, of its files",
     .standard = "IMB_out here",
     .example = "-file /scratch/me",
     .details =
         "A folder that exists: IMB_out in there, or IMB_out.2 while another IMB-IO uses that. Otherwise the "
         "name of a file that does not exist yet, in a folder that does. Files of groups end in _g and the "
         "group, those of single processes in _ and the rank. All are deleted, however the run ends.",
     .apply =
         [](Draft& draft, std::string_view word) {
           if (word.empty()) throw BadValue("the name is empty");
           draft.options.file = word;
         }},
    {.name = "fsync",
     .syntax = "WHEN",
     .help = "IMB-IO: standard or never",
     .standard = "standard",
     .example = "-fsync never",
     .details =
         "standard: what is written is complete only after MPI_File_sync, MPI_Barrier, MPI_File_sync: after "
         "each transfer, or after all of them in aggregate mode. never: MPI_Barrier alone, so that writes to "
         "the page cache are measured and not storage.",
     .apply =
         [](Draft& draft, std::string_view word) {
           constexpr FileSync policies[] = {FileSync::standard, FileSync::never};
           draft.options.file_sync = choice(policies, [](FileSync sync) { return name_of(sync); }, word);
         }},
    {.name = "reorder",
     .syntax = "N",
     .help = "IMB-IO: ranks read what the rank N further on wrote",
     .standard = "0",
     .example = "-reorder 4",
     .details = "0: each rank reads what it wrote, which the page cache may still hold. "
                "With N processes on each host, -reorder N makes another host the writer. Through a shared "
                "pointer, the order of reading decides which rank reads what.",
     .apply =
         [](Draft& draft, std::string_view word) {
           draft.options.reorder = static_cast<int>(whole_number(word, 0, 1 << 30));
         }},
    {.name = "check",
     .values = Values::none,
     .help = "verify what is received; adds the column defects",
     .example = "-check",
     .details = "In a pass of its own before the timing, so that times stay comparable. A defect is a "
                "received byte that differs from what a correct MPI delivers.",
     .apply = [](Draft& draft, std::string_view) { draft.options.check = true; }},
    {.name = "json",
     .syntax = "FILE",
     .help = "write results to FILE as JSON lines too",
     .example = "-json run.jsonl",
     .apply = [](Draft& draft, std::string_view word) { draft.options.json_file = word; }},
    {.name = "passes",
     .syntax = "N",
     .help = "measure in N passes: rows are medians over them",
     .standard = "one burst per row",
     .example = "-passes 20",
     .details = "The whole selection is walked N times, one short sample of each row a pass, each between "
                "two probes of "
                "the machine. Tables come at the end, with a column +-[%]: half of the median's 95 % "
                "interval. A machine "
                "that changes its speed is found out by the probes; figures are those of its fastest usual "
                "state. With "
                "-precision or -budget, N is the most.",
     .apply =
         [](Draft& draft, std::string_view word) {
           passes_of(draft).most = static_cast<int>(whole_number(word, 1, 1000000));
         }},
    {.name = "precision",
     .syntax = "PERCENT",
     .help = "pass after pass until each row is known so well",
     .example = "-precision 2",
     .details = "Until the 95 % interval of each row's median is within so many percent of it; rows that are "
                "done are "
                "left out. Alone it has a budget of 60 seconds. See -passes.",
     .apply =
         [](Draft& draft, std::string_view word) {
           passes_of(draft).precision = real_number(word, 0.001, 100) / 100;
         }},
    {.name = "budget",
     .syntax = "SECONDS",
     .help = "pass after pass until the launch has lasted so long",
     .example = "-budget 30",
     .details = "Sizes of samples follow from it. With -precision the launch ends earlier where all rows are "
                "done. See -passes.",
     .apply = [](Draft& draft,
                 std::string_view word) { passes_of(draft).budget = real_number(word, 0.1, 1e7); }},
    {.name = "turns",
     .syntax = "PARTS,HOST:PORT,TOKEN",
     .help = "interleave with other launches",
     .example = "-turns 10,127.0.0.1:40000,abc",
     .details =
         "For imb ab --parts and campaigns. Before each row, and PARTS - 1 times within it, all ranks sleep "
         "until the interleaving server at HOST:PORT gives this launch its turn. The time of a row is the "
         "mean over its parts without the slowest and the fastest tenth. Files and aggregate mode are "
         "measured in one part. In passes a turn has one sample or several.",
     .apply = [](Draft& draft,
                 std::string_view word) { draft.options.interleaving = interleaving_of(word); }},
    {.name = "set",
     .syntax = "NAME=VALUE",
     .help = "set a parameter of IMB_settings.h; @FILE reads many",
     .example = "-set MSGSPERSAMPLE=20",
     .details = "May be repeated, and comes before all other options wherever it stands. FILE has one "
                "NAME=VALUE per "
                "line; a comment begins with #. The parameters, with their values in standard mode:",
     .apply = set},
    {.name = "mbyte",
     .syntax = "BYTES",
     .help = "what Mbytes/sec counts as a megabyte",
     .standard = "1048576",
     .example = "-mbyte 1e6",
     .details = "1048576 is that of the user guide, 1e6 that of IMB 2021.",
     .apply =
         [](Draft& draft, std::string_view word) {
           draft.options.bytes_per_megabyte = static_cast<double>(byte_count(word, 1, 1, gibibyte));
         }},
    {.name = "ignore_unknown",
     .values = Values::none,
     .help = "warn of unknown options and names, do not stop",
     .example = "-ignore_unknown",
     .details =
         "For wrappers that rely on it. An unknown option is dropped with the arguments after it, up to the "
         "next option or benchmark. Where every benchmark named is unknown, that is an error nevertheless.",
     .apply = [](Draft& draft, std::string_view) { draft.ignore_unknown = true; }},
};

}  // namespace

std::span<const Option> output_options() { return output_rows; }
std::span<const Option> own_options() { return own_rows; }

}  // namespace openimb
