// Rows of the option table: which benchmarks run, on which processes.
#include <algorithm>
#include <string>

#include "cli/option_table.h"
#include "cli/text_file.h"
#include "cli/values.h"

namespace openimb {

namespace {

void set_multi(Draft& draft, std::string_view word) {
  if (word != "0" && word != "1") throw BadValue(quoted(word) + " is neither 0 nor 1");
  draft.options.multi = word == "0" ? Multi::summary : Multi::each_group;
}

void set_map(Draft& draft, std::string_view word) {
  const std::size_t cross = word.find_first_of("xX");
  if (cross == std::string_view::npos) throw BadValue(quoted(word) + " is not PxQ");
  const std::int64_t rows = whole_number(word.substr(0, cross), 1, most_int);
  const std::int64_t columns = whole_number(word.substr(cross + 1), 1, most_int);
  if (rows * columns > draft.world) {
    throw BadValue(shown(word) + " needs " + std::to_string(rows * columns) + " processes, the launch has " +
                   std::to_string(draft.world));
  }
  draft.options.map = Map{static_cast<int>(rows), static_cast<int>(columns)};
}

void read_benchmarks(Draft& draft, std::string_view path) {
  draft.options.input_files.emplace_back(path);
  for (const TextEntry& entry :
       read_entries(draft.read_file, std::string(path), "input", "benchmark names")) {
    draft.names.named.push_back({entry.text, entry.where});
  }
}

constexpr Option selection_rows[] = {
    {.name = "input",
     .syntax = "FILE",
     .help = "run the benchmarks that FILE names",
     .example = "-input chosen.txt",
     .details = "FILE has one name per line; a comment begins with #, blank lines are skipped. The names "
                "replace this "
                "option on the command line.",
     .apply = read_benchmarks},
    {.name = "include",
     .values = Values::list,
     .syntax = "NAME...",
     .help = "run these too, after the others",
     .example = "-include PingPongSpecificSource Uniband",
     .details = "Names are separated by blanks or by commas. If the first word has a comma, it is the whole "
                "list; otherwise all words up to the next option belong to the list.",
     .apply = [](Draft& draft, std::string_view word) { add_names(draft.names.included, word); }},
    {.name = "exclude",
     .values = Values::list,
     .syntax = "NAME...",
     .help = "do not run these",
     .example = "-exclude Alltoall,Alltoallv",
     .details =
         "Names are separated by blanks or by commas, as for -include. Excluding a benchmark that would "
         "not run is allowed; excluding all is an error.",
     .apply = [](Draft& draft, std::string_view word) { add_names(draft.names.excluded, word); }},
    {.name = "list",
     .values = Values::optional_one,
     .syntax = "[json|NAME...]",
     .help = "show the benchmarks and stop",
     .example = "-list",
     .details = "json: the benchmarks of all components, with their kinds, as one JSON object.\n"
                "NAME...: these benchmarks only. Other options have no effect.",
     .action = Options::Action::list},
};

constexpr Option process_rows[] = {
    {.name = "npmin",
     .syntax = "N",
     .help = "run on N, 2N, 4N, ... and all processes",
     .standard_of =
         [](const Standard& standard) {
           return standard.min_processes == all_processes ? "all processes"
                                                          : std::to_string(standard.min_processes);
         },
     .example = "-npmin 4",
     .details = "A launch of 10 processes with -npmin 2 runs on 2, 4, 8 and 10. If N is above the number of "
                "processes launched, all of them run, with a warning. Single transfers always run on 2.",
     .apply =
         [](Draft& draft, std::string_view word) {
           draft.wanted_processes = whole_number(word, 1, most_int);
           draft.options.min_processes =
               static_cast<int>(std::min<std::int64_t>(draft.wanted_processes, draft.world));
         }},
    {.name = "multi",
     .syntax = "0|1",
     .help = "run in as many groups as possible at once",
     .standard = "one group",
     .example = "-multi 1",
     .details = "0: one row with the extremes over all groups.\n1: one row for each group.\n"
                "The prefix Multi- before a name asks for groups for that benchmark only.",
     .apply = set_multi},
    {.name = "map",
     .syntax = "PxQ",
     .help = "number the processes along the rows of a P x Q matrix",
     .standard = "in order of rank",
     .example = "-map 4x2",
     .details = "Row r of the matrix holds the ranks r, r+P, r+2P, ...; groups are filled row by row. With "
                "two nodes of P processes each, -map Px2 -multi 0 PingPong pairs every process with its "
                "counterpart on the other node. P times Q must not exceed the number of processes "
                "launched; other ranks are idle.",
     .apply = set_map},
    {.name = "thread_level",
     .syntax = "LEVEL",
     .help = "single, funneled, serialized or multiple",
     .standard = "single",
     .example = "-thread_level multiple",
     .details =
         "Thread support requested from MPI. The benchmarks communicate from one thread at any level, but "
         "those of IMB-MT: see -threads. The banner shows what MPI granted; less than requested is a "
         "warning.",
     .apply =
         [](Draft& draft, std::string_view word) {
           constexpr ThreadLevel levels[] = {ThreadLevel::single, ThreadLevel::funneled,
                                             ThreadLevel::serialized, ThreadLevel::multiple};
           draft.options.thread_level =
               choice(levels, [](ThreadLevel level) { return name_of(level); }, word);
         }},
};

}  // namespace

std::span<const Option> selection_options() { return selection_rows; }
std::span<const Option> process_options() { return process_rows; }

}  // namespace openimb
