// The preparation of a session: the command line, parsed alike on all ranks; output files; facts about the
// run.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "benchmarks/components.h"
#include "cli/command_line.h"
#include "model/options.h"
#include "mpi/world.h"
#include "resolve/threads.h"
#include "result/measurement.h"
#include "session/process_group.h"
#include "system/interleave.h"

namespace openimb {

struct Launch {
  std::vector<std::string> command_line;  ///< rank 0's, the program's name first
  Options options;
  GrantedLevel granted = {};
  std::vector<EndpointFacts> endpoints = {};  ///< of IMB-FABRIC, at rank 0
};

/// "IMB-MPI1".
std::string launch_name(const Component& component);

/// Rank 0's command line, parsed on every rank; files are read by rank 0 and their text shared. Throws
/// UsageError on all ranks or on none.
Launch parse_on_all_ranks(const Component& component, ProcessGroup& world, int argc, char** argv);

/// The text of -help, -list and -version; nothing for a run.
std::optional<std::string> text_to_print(const Component& component, const Launch& launch);

/// Messages for stderr that do not stop the run.
std::vector<std::string> warnings_of(const Launch& launch);

/// Closes a file, and deletes it if this launch created it and never used it. What another launch wrote into
/// it in the meantime stays.
struct CloseFile {
  std::string unused = {};  ///< the path of such a file
  void operator()(std::FILE* file) const {
    std::fclose(file);
    std::error_code none;
    if (!unused.empty() && std::filesystem::file_size(unused, none) == 0) std::remove(unused.c_str());
  }
};
using OwnedFile = std::unique_ptr<std::FILE, CloseFile>;

/// -json and -dumpfile, opened by rank 0 before anything is measured, and emptied once both are open. Throws
/// UsageError on all ranks or on none.
struct OutputFiles {
  OutputFiles(ProcessGroup& world, const Options& options);
  OwnedFile records;
  OwnedFile dump;
};

/// -turns: this rank's connection to the interleaving server. Throws UsageError on all ranks or on none.
std::unique_ptr<system::Interleave> connect_interleave(ProcessGroup& world, const Options& options);

RunFacts gather_facts(const Component& component, ProcessGroup& world, const Environment& environment,
                      const Launch& launch, const std::optional<OffCache>& off_cache,
                      const std::string& scratch_path);

}  // namespace openimb
