// Rows of the option table: which lengths, how often.
#include <string>
#include <vector>

#include "cli/option_table.h"
#include "cli/parameters.h"
#include "cli/text_file.h"
#include "cli/values.h"

namespace openimb {

namespace {

void read_lengths(Draft& draft, std::string_view path) {
  draft.options.input_files.emplace_back(path);
  draft.options.lengths.clear();
  for (const TextEntry& entry : read_entries(draft.read_file, std::string(path), "msglen", "lengths")) {
    try {
      draft.options.lengths.push_back(byte_count(entry.text, 1, 0, largest_length));
    } catch (const BadValue& problem) {
      throw UsageError(entry.where + problem.what() + "; a length is a line such as 4096 or 64k");
    }
  }
}

void add_lengths(Draft& draft, std::string_view word) {
  for (const std::string_view piece : split(word, ',')) {
    draft.options.lengths.push_back(byte_count(piece, 1, 0, largest_length));
  }
}

void set_lengths(Draft& draft, std::string_view word) {
  draft.options.lengths.clear();
  add_lengths(draft, word);
}

void set_exponents(Draft& draft, std::string_view word) {
  const std::size_t colon = word.find(':');
  Settings& settings = draft.options.settings;
  const auto exponent = [](std::string_view text) {
    return static_cast<int>(whole_number(text, 0, largest_exponent));
  };
  if (colon != std::string_view::npos) settings.min_message_log = exponent(word.substr(0, colon));
  settings.max_message_log = exponent(word.substr(colon == std::string_view::npos ? 0 : colon + 1));
}

void set_repetitions(Draft& draft, std::string_view word) {
  Settings& settings = draft.options.settings;
  std::vector<std::string_view> pieces = split(word, ',');
  // Numbers begin with a digit or a sign, policies never do.
  if (const std::string_view last = pieces.back(); !last.empty() && last.front() >= 'A') {
    settings.policy = iteration_policy(last);
    pieces.pop_back();
  }
  if (pieces.size() > 3) throw BadValue(quoted(word) + " has too many parts");
  if (!pieces.empty()) settings.repetitions = whole_number(pieces[0], 1, most_int);
  if (pieces.size() > 1) settings.overall_volume = byte_count(pieces[1], mebibyte, 1, largest_length);
  if (pieces.size() > 2) settings.non_aggregate_repetitions = whole_number(pieces[2], 1, most_int);
}

constexpr Option length_rows[] = {
    {.name = "msglog",
     .syntax = "[MIN:]MAX",
     .help = "lengths 0, 2^MIN, 2^(MIN+1), ... 2^MAX bytes",
     .standard_of = [](const Standard& standard) -> std::string {
       if (standard.threaded) return "lengths of -count";
       if (standard.fabric) return "lengths 8, 64k and 1m";
       return std::to_string(standard.settings.min_message_log) + ":" +
              std::to_string(standard.settings.max_message_log);
     },
     .example = "-msglog 3:7",
     .details = "Exponents from 0 to 40. MIN defaults to MINMSGLOG, which is 0.",
     .apply = set_exponents},
    {.name = "msglen",
     .syntax = "FILE",
     .help = "use the lengths listed in FILE",
     .example = "-msglen lengths.txt",
     .details = "One length per line, in bytes or with k, m or g, in any order; a comment begins with #.",
     .apply = read_lengths},
    {.name = "msgsize",
     .syntax = "LENGTH[,LENGTH...]",
     .help = "use these lengths",
     .example = "-msgsize 0,1,4k,1m",
     .details = "In bytes or with k, m or g (powers of 1024), in the order given. A length that is not a "
                "multiple of the data type's size is rounded up.",
     .apply = set_lengths},
    {.name = "msgsz",
     .syntax = "LENGTH",
     .help = "measure this length; repeat for more",
     .example = "-msgsz 4097 -msgsz 5k",
     .details =
         "As IMB-P2P has it. The lengths are measured in the order given, in place of the powers of two.",
     .apply = add_lengths},
    {.name = "zero_size",
     .syntax = "on|off",
     .help = "measure length 0 too",
     .standard = "on",
     .example = "-zero_size off",
     .apply = [](Draft& draft, std::string_view word) { draft.options.zero_size = on_or_off(word); }},
};

constexpr Option repetition_rows[] = {
    {.name = "iter",
     .syntax = "N[,VOL[,NONAGGR[,POLICY]]]",
     .help = "number of repetitions and its limits",
     .standard_of =
         [](const Standard& standard) {
           const Settings& settings = standard.settings;
           return std::to_string(settings.repetitions) + "," +
                  std::to_string(settings.overall_volume / mebibyte) + "," +
                  std::to_string(settings.non_aggregate_repetitions) + "," + name_of(settings.policy);
         },
     .example = "-iter 2000,multiple_np",
     .details = "N: maximum repetitions per length.\n"
                "VOL: maximum volume per length in MiB (or 64k, 1g), which limits repetitions.\n"
                "NONAGGR: maximum repetitions of non-aggregate benchmarks.\n"
                "POLICY: see -iter_policy; after any of the numbers, or alone.",
     .apply = set_repetitions},
    {.name = "iter_policy",
     .syntax = "POLICY",
     .help = "dynamic, multiple_np, auto or off",
     .standard = "dynamic",
     .example = "-iter_policy multiple_np",
     .details = "dynamic: as many repetitions as VOL of -iter and -time allow.\n"
                "multiple_np: the same, in multiples of the number of processes, so that each is root "
                "equally often.\n"
                "auto: multiple_np for collectives with a root, dynamic for all others.\n"
                "off: always N repetitions (-iter); VOL and -time have no effect.",
     .apply = [](Draft& draft,
                 std::string_view word) { draft.options.settings.policy = iteration_policy(word); }},
    {.name = "time",
     .syntax = "SECONDS",
     .help = "maximum seconds per length, 0: no limit",
     .standard = "10",
     .example = "-time 1.5",
     .details =
         "Limits the number of repetitions, by an estimate that takes a tenth as long, at most about one "
         "second. If not one repetition fits, the length becomes a time-out row and the run continues.",
     .apply =
         [](Draft& draft, std::string_view word) {
           draft.options.settings.seconds_per_sample = real_number(word, 0, 1e9);
         }},
    {.name = "warm_up",
     .syntax = "on|off",
     .help = "run untimed repetitions before the timed ones",
     .standard = "on",
     .example = "-warm_up off",
     .details = "A tenth of the number of repetitions, at least one, at most N_WARMUP (-help set).",
     .apply = [](Draft& draft, std::string_view word) { draft.options.warm_up = on_or_off(word); }},
    {.name = "msg_pause",
     .syntax = "on|off",
     .help = "pause after each length",
     .standard = "off",
     .example = "-msg_pause on",
     .apply = [](Draft& draft, std::string_view word) { draft.options.message_pause = on_or_off(word); }},
    {.name = "pause",
     .syntax = "MICROSECONDS",
     .help = "pause for this long after each length",
     .standard = "0",
     .example = "-pause 100000",
     .details = "The default of IMB-P2P 2021 is 100000.",
     .apply = [](Draft& draft,
                 std::string_view word) { draft.options.pause_seconds = real_number(word, 0, 1e12) / 1e6; }},
};

}  // namespace

std::span<const Option> length_options() { return length_rows; }
std::span<const Option> repetition_options() { return repetition_rows; }

}  // namespace openimb
