// Prepares a session: parses the command line on all ranks, opens output files, gathers facts about the run.
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
  std::vector<std::string> command_line;  ///< of rank 0; begins with the program's name
  Options options;
  GrantedLevel granted = {};
  std::vector<EndpointFacts> endpoints = {};  ///< for IMB-FABRIC, only at rank 0
};

/// Name of the executable: "IMB-MPI1".
std::string launch_name(const Component& component);

/// Broadcasts rank 0's command line and parses it on every rank. Rank 0 reads the files that it names and
/// broadcasts their text. Throws UsageError on all ranks or on none.
Launch parse_on_all_ranks(const Component& component, ProcessGroup& world, int argc, char** argv);

/// Returns the text of -help, -list or -version, or nothing for a run.
std::optional<std::string> text_to_print(const Component& component, const Launch& launch);

/// Messages for stderr that do not stop the run.
std::vector<std::string> warnings_of(const Launch& launch);

/// Closes a file, and deletes it if this launch created it and never used it, unless another launch has
/// written into it meanwhile.
struct FileCloser {
  std::string unused = {};  ///< the path, if this launch created the file and has not used it
  void operator()(std::FILE* file) const {
    std::fclose(file);
    std::error_code none;
    if (!unused.empty() && std::filesystem::file_size(unused, none) == 0) std::remove(unused.c_str());
  }
};
using OwnedFile = std::unique_ptr<std::FILE, FileCloser>;

/// The files of -json and -dumpfile. Rank 0 opens them before anything is measured, and empties them once
/// both are open. Throws UsageError on all ranks or on none.
struct OutputFiles {
  OutputFiles(ProcessGroup& world, const Options& options);
  OwnedFile records;
  OwnedFile dump;
};

/// Connects this rank to the interleaving server (-turns). Throws UsageError on all ranks or on none.
std::unique_ptr<system::Interleave> connect_interleave(ProcessGroup& world, const Options& options);

/// Gathers what banner and run record state about the launch. Collective; complete only at rank 0.
RunFacts gather_facts(const Component& component, ProcessGroup& world, const Environment& environment,
                      const Launch& launch, const std::optional<OffCache>& off_cache,
                      const std::string& scratch_path);

}  // namespace openimb
