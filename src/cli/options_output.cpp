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
  draft.options.input_files.emplace_back(path);
  for (const TextEntry& entry : read_entries(draft.read_file, std::string(path), "set", "settings")) {
    try {
      set_parameter(draft.options.settings, entry.text);
    } catch (const BadValue& problem) {
      throw UsageError(entry.where + problem.what() + "; a setting is a line such as MSGSPERSAMPLE=20");
    }
  }
}

void set(Draft& draft, std::string_view word) {
  if (word == "@") throw BadValue("file name missing after @");
  if (word.starts_with('@')) return read_parameters(draft, word.substr(1));
  set_parameter(draft.options.settings, word);
}

constexpr Option output_rows[] = {
    {.name = "show_tail",
     .syntax = "on|off",
     .help = "print quantiles of the repetitions below each row",
     .standard = "off",
     .example = "-show_tail on",
     .details = "Each repetition is timed; the time of its slowest process counts. t_min, t_avg and t_max in "
                "the row are taken over processes, from the mean of each, not over repetitions.",
     .apply = [](Draft& draft, std::string_view word) { draft.options.show_tail = on_or_off(word); }},
    {.name = "dumpfile",
     .syntax = "FILE",
     .help = "write the time of each repetition to FILE",
     .example = "-dumpfile times.txt",
     .details = "One line per repetition: bytes and microseconds.",
     .apply = [](Draft& draft, std::string_view word) { draft.options.dump_file = word; }},
    {.name = "help",
     .values = Values::optional_one,
     .syntax = "[TOPIC]",
     .help = "show this help, or details of one option or benchmark; also -h",
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
         "How one-sided benchmarks create windows. create: MPI_Win_create, on memory of the benchmark. "
         "allocate: MPI_Win_allocate, as in most programs. shared: MPI_Win_allocate_shared; processes "
         "that share no memory have failure rows. dynamic: MPI_Win_create_dynamic and MPI_Win_attach.",
     .apply =
         [](Draft& draft, std::string_view word) {
           constexpr WindowKind kinds[] = {WindowKind::create, WindowKind::allocate, WindowKind::shared,
                                           WindowKind::dynamic};
           draft.options.window_kind = choice(kinds, [](WindowKind kind) { return name_of(kind); }, word);
         }},
    {.name = "sync_mode",
     .syntax = "MODE",
     .help = "fence, pscw, lock, lock_all, flush or flush_local",
     .standard = "by benchmark",
     .example = "-sync_mode lock",
     .details =
         "What completes one-sided transfers. fence: MPI_Win_fence on all processes of the group after the "
         "transfer. pscw: MPI_Win_start, transfer, MPI_Win_complete at origins; MPI_Win_post, MPI_Win_wait "
         "at "
         "targets. lock: MPI_Win_lock (shared), transfer, MPI_Win_unlock. lock_all: MPI_Win_lock_all, "
         "transfer, MPI_Win_unlock_all. flush: MPI_Win_flush, in a lock held around the sample. flush_local: "
         "MPI_Win_flush_local, in the same way; the origin's buffer is free then. In aggregate mode: once "
         "for all transfers of a sample. standard: as each benchmark is defined, fence in IMB-EXT and "
         "flush or flush_local in IMB-RMA. IMB-EXT has fence and pscw.",
     .apply =
         [](Draft& draft, std::string_view word) {
           constexpr SyncMode modes[] = {SyncMode::standard,   SyncMode::fence,    SyncMode::pscw,
                                         SyncMode::lock,       SyncMode::lock_all, SyncMode::flush,
                                         SyncMode::flush_local};
           draft.options.sync_mode = choice(modes, [](SyncMode mode) { return name_of(mode); }, word);
         }},
    {.name = "send_mode",
     .syntax = "MODE",
     .help = "synchronous, ready or buffered",
     .standard = "standard",
     .example = "-send_mode synchronous",
     .details =
         "How IMB-MPI1 sends messages from one process to another. standard: MPI_Send, MPI_Isend. "
         "synchronous: "
         "MPI_Ssend, MPI_Issend; they complete after the receive has started. ready: MPI_Rsend, MPI_Irsend; "
         "receives of a repetition are posted one repetition ahead. buffered: MPI_Bsend, MPI_Ibsend; the "
         "buffer is attached before the clock starts and counts toward -mem. Benchmarks that cannot use a "
         "mode have a failure row with the reason: collectives, Sendrecv, PingPong_persist; of ready: "
         "PingPong_mprobe, Uniband; of buffered: Uniband.",
     .apply =
         [](Draft& draft, std::string_view word) {
           constexpr SendMode modes[] = {SendMode::standard, SendMode::synchronous, SendMode::ready,
                                         SendMode::buffered};
           draft.options.send_mode = choice(modes, [](SendMode mode) { return name_of(mode); }, word);
         }},
    {.name = "progress",
     .syntax = "N",
     .help = "call MPI_Test N times while computing",
     .standard = "0",
     .example = "-progress 10",
     .details =
         "For benchmarks of overlap: the computation of a repetition is divided into N + 1 parts, with a "
         "call of MPI_Test between two parts. Many MPIs advance a nonblocking operation only inside MPI "
         "calls.",
     .apply =
         [](Draft& draft, std::string_view word) {
           draft.options.progress = static_cast<int>(whole_number(word, 0, 1000000));
         }},
    {.name = "info",
     .syntax = "KEY=VALUE",
     .help = "give MPI a hint for windows and files",
     .example = "-info no_locks=true",
     .details = "May be repeated. Replaces editing User_Set_Info (user guide). MPI ignores unknown keys.",
     .apply = add_info},
    {.name = "file",
     .syntax = "PATH",
     .help = "IMB-IO: folder or name of the files",
     .standard = "./IMB_out",
     .example = "-file /scratch/me",
     .details =
         "An existing folder: the files are IMB_out in it, or IMB_out.2 while another IMB-IO uses IMB_out. "
         "Otherwise the name of a new file in an existing folder. Files of groups end in _g and the group, "
         "files of single processes in _ and the rank. All are deleted, however the run ends.",
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
         "standard: MPI_File_sync, MPI_Barrier and MPI_File_sync complete each write, in aggregate mode all "
         "writes together. never: MPI_Barrier only; this measures writes to the page cache, not to "
         "storage.",
     .apply =
         [](Draft& draft, std::string_view word) {
           constexpr FileSync policies[] = {FileSync::standard, FileSync::never};
           draft.options.file_sync = choice(policies, [](FileSync sync) { return name_of(sync); }, word);
         }},
    {.name = "reorder",
     .syntax = "N",
     .help = "IMB-IO: each rank reads what rank + N wrote",
     .standard = "0",
     .example = "-reorder 4",
     .details =
         "0: each rank reads what it wrote, which may still be in the page cache. With N processes per "
         "host, -reorder N makes each rank read what another host wrote. Through a shared pointer, the "
         "order of reading decides which rank reads what.",
     .apply =
         [](Draft& draft, std::string_view word) {
           draft.options.reorder = static_cast<int>(whole_number(word, 0, 1 << 30));
         }},
    {.name = "check",
     .values = Values::optional_switch,
     .help = "verify received data; adds the column defects",
     .example = "-check",
     .details = "In a separate pass before the timed one, so times stay comparable. A defect is a received "
                "byte that differs from what a correct MPI delivers.",
     .apply = [](Draft& draft,
                 std::string_view word) { draft.options.check = word.empty() || on_or_off(word); }},
    {.name = "json",
     .syntax = "FILE",
     .help = "also write results to FILE as JSON lines",
     .example = "-json run.jsonl",
     .apply = [](Draft& draft, std::string_view word) { draft.options.json_file = word; }},
    {.name = "passes",
     .syntax = "N",
     .help = "measure in N passes: rows are medians over them",
     .standard = "one burst per row",
     .example = "-passes 20",
     .details = "Each pass measures one short sample of every row, between two probes of the machine. Tables "
                "follow at the end, with a column +-[%]: half of the 95 % interval of the median. The probes "
                "detect changes of the machine's speed; times are those of its fastest state. With "
                "-precision or -budget, N is the maximum.",
     .apply =
         [](Draft& draft, std::string_view word) {
           passes_of(draft).most = static_cast<int>(whole_number(word, 1, 1000000));
         }},
    {.name = "precision",
     .syntax = "PERCENT",
     .help = "repeat passes until each row is this precise",
     .example = "-precision 2",
     .details =
         "Until the 95 % interval of each row's median is within +-PERCENT of the median. Rows that are "
         "precise enough are not measured further. Without -passes and -budget, the budget is 60 "
         "seconds. See -passes.",
     .apply =
         [](Draft& draft, std::string_view word) {
           passes_of(draft).precision = real_number(word, 0.001, 100) / 100;
         }},
    {.name = "budget",
     .syntax = "SECONDS",
     .help = "repeat passes for this long",
     .example = "-budget 30",
     .details =
         "Also determines the size of samples. With -precision the launch ends earlier if all rows are "
         "precise enough. See -passes.",
     .apply = [](Draft& draft,
                 std::string_view word) { passes_of(draft).budget = real_number(word, 0.1, 1e7); }},
    {.name = "turns",
     .syntax = "PARTS,HOST:PORT,TOKEN",
     .help = "interleave with other launches",
     .example = "-turns 10,127.0.0.1:40000,abc",
     .details =
         "Set by imb ab --parts and imb campaign. Before each row, and PARTS - 1 times within it, all ranks "
         "sleep until the interleaving server at HOST:PORT lets this launch continue. The time of a row is "
         "the mean over its segments without the slowest and the fastest tenth. Files and aggregate mode are "
         "measured in one segment. In passes a segment has one or more samples.",
     .apply = [](Draft& draft,
                 std::string_view word) { draft.options.interleaving = interleaving_of(word); }},
    {.name = "set",
     .syntax = "NAME=VALUE",
     .help = "set a parameter of IMB_settings.h; @FILE: set several",
     .example = "-set MSGSPERSAMPLE=20",
     .details = "May be repeated. Applied before all other options, at any position. FILE has one NAME=VALUE "
                "per line; a comment begins with #. Parameters, with their values in standard mode:",
     .apply = set},
    {.name = "mbyte",
     .syntax = "BYTES",
     .help = "bytes per megabyte in Mbytes/sec",
     .standard = "1048576",
     .example = "-mbyte 1e6",
     .details = "The user guide has 1048576, IMB 2021 has 1e6.",
     .apply =
         [](Draft& draft, std::string_view word) {
           draft.options.bytes_per_megabyte = static_cast<double>(byte_count(word, 1, 1, gibibyte));
         }},
    {.name = "ignore_unknown",
     .values = Values::none,
     .help = "warn about unknown options and names, do not stop",
     .example = "-ignore_unknown",
     .details = "For wrapper scripts. An unknown option is dropped with the arguments after it, up to the "
                "next option or benchmark. If all named benchmarks are unknown, that is still an error.",
     .apply = [](Draft& draft, std::string_view) { draft.ignore_unknown = true; }},
};

}  // namespace

std::span<const Option> output_options() { return output_rows; }
std::span<const Option> own_options() { return own_rows; }

}  // namespace openimb
