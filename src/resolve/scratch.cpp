#include "resolve/scratch.h"

#include <filesystem>

#include "cli/command_line.h"
#include "resolve/gathered_text.h"
#include "system/machine.h"
#include "system/scratch_files.h"
#include "system/storage.h"

namespace openimb {

namespace {

namespace fs = std::filesystem;

void require_writable(ProcessGroup& world, const std::string& folder) {
  std::string why = system::write_error(folder);
  if (!why.empty())
    why = "cannot create files in " + folder + ": " + why + " (host " + system::host_name() + ")";
  why = first_message(world, why);
  if (why.empty()) return;
  throw UsageError("-file: " + why + "; name a folder that exists and is writable, or a file in one");
}

}  // namespace

ScratchFiles::ScratchFiles(const Component& component, MpiProcessGroup& world, const Options& options,
                           std::optional<system::Guardian>& guardian)
    : world_(world), guardian_(guardian) {
  if (!component.list.facts.uses_files) return;
  constexpr const char* guide_name = "IMB_out";
  std::error_code error;
  const fs::path path = fs::absolute(options.file.empty() ? "." : options.file, error).lexically_normal();
  requested_path_ = world.broadcast((fs::is_directory(path, error) ? path / guide_name : path).string());
  require_writable(world, fs::path(requested_path_).parent_path().string());
  base_ = world.broadcast(requested_path_ + "." + system::unique_name());
  responsible_ = world.communicator().split_by_host().rank() == 0;
  if (!responsible_) guardian_.reset();
  if (guardian_) guardian_->watch(base_);
}

ScratchFiles::~ScratchFiles() {
  if (base_.empty()) return;
  world_.barrier();
  if (responsible_) system::delete_scratch_files(base_);
  world_.barrier();
  guardian_.reset();
}

}  // namespace openimb
