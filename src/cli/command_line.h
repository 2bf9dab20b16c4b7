// Parses the command line into Options. Pure: files are read by a function that the caller gives, errors are
// thrown as UsageError, and nothing is printed. Source: guide, "Command-line Control"; the options of IMB
// 2021; some are OpenIMB's own.
#pragma once

#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "model/component.h"
#include "model/option_value.h"
#include "model/options.h"
#include "model/spec.h"

namespace openimb {

/// One line: what is wrong, and what is allowed or what to do.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A text file's contents, or why it could not be read ("No such file or directory").
struct FileText {
  bool ok = false;
  std::string text;
  std::string why;
};
using ReadFile = std::function<FileText(const std::string& path)>;
/// Whether two paths name the same file.
using SameFile = std::function<bool(const std::string& a, const std::string& b)>;

/// The executable that the command line belongs to.
struct Program {
  std::string_view name;          ///< "IMB-MPI1"
  std::string_view part;          ///< "MPI-1 part"
  std::span<const Spec> catalog;  ///< in the order in which the benchmarks run
  Defaults defaults = {};
  bool uses_files = false;
  std::span<const ComponentList> suite = {};  ///< all components, including this one
};

/// `arguments`: without the program's name; `world`: number of ranks of the launch; `same_file`: if empty,
/// paths are compared by their spelling. Throws UsageError.
Options parse(const Program& program, std::span<const std::string> arguments, int world,
              const ReadFile& read_file, const SameFile& same_file = {});

/// The level of -thread_level, by default single. MPI_Init needs it before parse(), which reports errors.
ThreadLevel requested_thread_level(std::span<const std::string> arguments);
/// The seconds of -pair_timeout, also needed before parse(); 0 if parse() will refuse the option.
double requested_pair_timeout(std::span<const std::string> arguments);

/// `topic`: an option ("-iter" or "iter"), a benchmark name, or "all" for all options; empty for the common
/// options. Throws UsageError for other topics.
std::string help_text(const Program& program, std::string_view topic);
/// `selection`: the benchmarks to list; empty: all.
std::string list_text(const Program& program, std::span<const SelectedBenchmark> selection = {});
std::string version_text(const Program& program);

/// What the banner states of the options.
StatedOptions stated_options(const Options& options);
/// For the run record: the options that a benchmark of the component uses, whether given or not.
OptionsInForce options_in_force(std::span<const Spec> catalog, const Options& options);
/// "MSGSPERSAMPLE=20" for every parameter that is not at its standard-mode value; empty in standard mode.
std::vector<std::string> settings_that_differ(const Options& options);

}  // namespace openimb
