#include "report/banner.h"

#include <algorithm>
#include <string_view>

#include "plan/lengths.h"
#include "report/format.h"
#include "report/sweep_text.h"

namespace openimb {

namespace {

constexpr std::string_view rule = "#----------------------------------------------------------------\n";

// Replaces line breaks in a text that the suite did not write, because a line that does not begin with #
// would look like a result.
std::string replace_line_breaks(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return c < ' '; }, ' ');
  return text;
}

std::string fact(const char* name, const std::string& value) {
  return formatted("# %-22s: %s\n", name, replace_line_breaks(value).c_str());
}

std::string statement(const char* name, const std::string& value) {
  return formatted("# %-31s:   %s\n", name, value.c_str());
}

std::string data_type(const Element& element) {
  std::string text(describe(element.type).mpi);
  if (element.contiguity != Contiguity::base) ((text += " (") += name_of(element.contiguity)) += ')';
  return text;
}

std::string title(const RunFacts& facts, std::string_view line) {
  if (facts.style == OutputStyle::threads) {  // this style has a wider title
    const std::string wide = std::string("#").append(66, '-') += '\n';
    return wide + "#    OpenIMB " + facts.version + ", " + facts.part + "    \n" + wide + "#\n";
  }
  std::string text(line);
  text += "#    OpenIMB " + facts.version + ", " + facts.part;
  if (facts.style == OutputStyle::rounds) return (text += "\n") += line;
  text += ", compatible with Intel(R) MPI Benchmarks ";
  return ((text += facts.style == OutputStyle::pairs ? "2021" : "4.0") += "\n") += line;
}

std::string command_line_text(const RunFacts& facts) {
  std::string text = "#";
  for (const std::string& word : facts.command_line) text += ' ' + replace_line_breaks(word);
  return text;
}

std::string calling_sequence(const RunFacts& facts) {
  return "# Calling sequence was: \n\n" + command_line_text(facts) +
         (facts.quirks.blank_after_command ? " \n\n" : "\n\n");
}

bool measures_files(const RunFacts& facts) { return !facts.file.empty(); }

std::string lengths(const RunFacts& facts, const Options& options) {
  if (!options.lengths.empty()) return "# Message lengths were user defined\n";
  const LengthRange range = length_range(options);
  const char* const what = measures_files(facts) ? "io portion" : "message length";
  return formatted("# Minimum %s in bytes:   %lld\n# Maximum %s in bytes:   %lld\n", what,
                   static_cast<long long>(range.smallest), what, static_cast<long long>(range.largest));
}

std::string passes_text(const Passes& passes, bool in_rounds) {
  std::string text;
  const auto add = [&](const std::string& limit) { text += (text.empty() ? "until " : " or ") + limit; };
  if (passes.precision) add("each row is within +-" + shortest(significant(*passes.precision * 100)) + " %");
  if (passes.most) add(formatted("%d pass%s", *passes.most, *passes.most == 1 ? " is done" : "es are done"));
  if (passes.budget) add(shortest(*passes.budget) + " s have passed");
  return in_rounds ? text : text + "; figures are medians over passes";
}

std::string variant_text(const Variant& variant) {
  std::string text = variant.label;
  for (const auto& [name, value] : variant.variables) text += " " + name + "=" + replace_line_breaks(value);
  return text;
}

std::string threads_text(const Options& options) {
  const Threads& threads = options.threads;
  std::string text = formatted("%d per process", threads.count);
  if (threads.count == 1) return text;
  text += threads.comm == ThreadComm::shared ? ", one communicator" : ", a communicator each";
  if (options.thread_level == ThreadLevel::serialized) text += ", in turns";
  if (threads.pinned) text += ", pinned";
  return text;
}

std::string gpu_text(const GpuFacts& gpu) {
  std::string text = gpu.host + " " + std::to_string(gpu.index) + ": " + gpu.name + ", " + gpu.bus_address +
                     ", " + title_of(gpu.api) + " " + gpu.driver + ", rank";
  text += gpu.ranks.size() == 1 ? " " : "s ";
  for (std::size_t i = 0; i < gpu.ranks.size(); ++i) {
    constexpr std::size_t most = 8;
    if (i == most) return text + "...";
    (text += i == 0 ? "" : ",") += std::to_string(gpu.ranks[i]);
  }
  return text;
}

std::string gpu_statements(const RunFacts& facts, const Options& options) {
  const MemoryChoice& memory = options.memory;
  if (!memory.needs_gpu()) return {};
  std::string kinds =
      std::string(name_of(memory.send)) + " (send), " + name_of(memory.receive) + " (receive)";
  if (memory.send == memory.receive) kinds = name_of(memory.send);
  if (memory.load == LoadPlace::device) kinds += "; load on the GPU";
  std::string text = statement("Memory", kinds);
  for (const GpuFacts& gpu : facts.gpus) text += statement("GPU", replace_line_breaks(gpu_text(gpu)));
  if (facts.gpu_support) {
    text += statement("MPI and GPU memory", std::string(name_of(facts.gpu_support->answer)) + " (" +
                                                replace_line_breaks(facts.gpu_support->source) + ")");
  }
  return text;
}

std::string openimb_statements(const RunFacts& facts, const Options& options, const StatedOptions& stated) {
  std::string settings;
  for (const std::string& difference : stated.settings)
    settings += (settings.empty() ? "" : " ") + difference;
  std::string text = statement("Mbytes/sec", shortest(options.bytes_per_megabyte) + " bytes per second");
  text += statement("Settings", settings.empty() ? "standard mode" : settings);
  if (facts.off_cache) {
    text += statement("Off-cache mode", formatted("cache of %lld bytes, lines of %d bytes",
                                                  static_cast<long long>(facts.off_cache->cache_size),
                                                  facts.off_cache->cache_line));
  }
  if (measures_files(facts)) {
    text += statement("File", replace_line_breaks(facts.file) +
                                  (facts.file_system.empty() ? "" : " (" + facts.file_system + ")"));
    text += statement("Completion of writes", options.file_sync == FileSync::standard
                                                  ? "MPI_File_sync, MPI_Barrier, MPI_File_sync"
                                                  : "MPI_Barrier (-fsync never)");
    if (options.reorder > 0) {
      text += statement("Files that are read", formatted("were written by rank + %d", options.reorder));
    }
  }
  if (options.pairs)
    text += statement("Random partners",
                      formatted("seed %llu", static_cast<unsigned long long>(options.pairs->seed)));
  if (options.in_place) text += statement("Collectives", "in place, where they can (-in_place on)");
  for (const auto& [name, value] : stated.lines) text += statement(name.c_str(), value);
  text += gpu_statements(facts, options);
  if (facts.style == OutputStyle::threads) text += statement("Threads", threads_text(options));
  if (options.fabric) {
    text += statement("Endpoints", formatted("%zu, -endpoint %s", options.fabric->ranks.size(),
                                             name_of(options.fabric->endpoint)));
    text += statement("Rounds", rounds_text(*options.fabric));
  }
  for (const Variant& variant : options.variants) text += statement("Variant", variant_text(variant));
  if (options.passes) text += statement("Passes", passes_text(*options.passes, options.fabric.has_value()));
  if (options.check) text += statement("Results", "verified in a separate untimed pass");
  return text;
}

std::string site(const RunFacts& facts) {
  return fact("Date", facts.date) + fact("Machine", facts.machine) + fact("System", facts.system) +
         fact("Release", facts.release) + fact("Version", facts.kernel) +
         fact("MPI Version", facts.mpi_version) + fact("MPI Library", facts.mpi_library) +
         fact("MPI Thread Environment", facts.thread_level);
}

// Returns the banner of IMB-P2P and IMB-FABRIC. It has only comment lines and shorter rules, and the list of
// benchmarks comes first. It states the data type only if it is not MPI_BYTE, because the reference output
// has no such line.
std::string compact_banner(const RunFacts& facts, const Options& options, const StatedOptions& stated) {
  std::string text = title(facts, "#------------------------------------------------------------\n");
  text += site(facts) + "#\n# Calling sequence was:\n#\n" + command_line_text(facts) + "\n#\n";
  text += "# List of Benchmarks to run:\n#\n";
  for (const std::string& benchmark : facts.benchmarks) text += "# " + benchmark + "\n";
  text += "#\n" + lengths(facts, options);
  if (options.data != Element{}) text += statement("MPI_Datatype", data_type(options.data));
  return text += openimb_statements(facts, options, stated) + "#\n";
}

}  // namespace

std::string banner(const RunFacts& facts, const Options& options, const StatedOptions& stated) {
  if (facts.style == OutputStyle::pairs || facts.style == OutputStyle::rounds)
    return compact_banner(facts, options, stated);
  std::string text = title(facts, rule);
  text += site(facts);
  text += "\n\n";
  text += calling_sequence(facts);
  text += lengths(facts, options);
  text += "#\n";
  if (!measures_files(facts)) {
    const char* const type_end = facts.quirks.blank_after_type ? " " : "";
    text += statement("MPI_Datatype", data_type(options.data) + " ");
    text += statement("MPI_Datatype for reductions", data_type(options.reduction) + type_end);
    text += statement("MPI_Op", "MPI_SUM  ");
  }
  text += openimb_statements(facts, options, stated);
  text += facts.quirks.blank_comments ? "# \n# \n" : "#\n#\n";
  text += "\n# List of Benchmarks to run:\n\n";
  for (std::size_t i = 0; i < facts.benchmarks.size(); ++i) {
    text += "# " + facts.benchmarks[i] + "\n" +
            (i < facts.benchmark_notes.size() ? facts.benchmark_notes[i] : "");
  }
  if (facts.load_flops) {
    text += "\n\n# For nonblocking benchmarks:\n\n# Function CPU_Exploit obtains an undisturbed\n";
    text += formatted("# performance of %7.2f MFlops\n", *facts.load_flops / 1e6);
  }
  return text;
}

}  // namespace openimb
