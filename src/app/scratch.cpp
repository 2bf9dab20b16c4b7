#include "app/scratch.h"

#include <filesystem>

#include "app/launch.h"
#include "benchmarks/components.h"
#include "system/machine.h"
#include "system/scratch_files.h"
#include "system/storage.h"

namespace openimb {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& why) {
  throw UsageError("-file: " + why + "; name a folder that exists and is writable, or a new file in one");
}

void require_writable(Agreement& world, const std::string& folder) {
  std::string why = system::why_not_writable(folder);
  if (!why.empty())
    why = "cannot create files in " + folder + ": " + why + " (host " + system::host_name() + ")";
  why = first_message(world, why);
  if (!why.empty()) refuse(why);
}

// Throws where a file that the user names is one that this launch creates and deletes.
void require_distinct(Agreement& world, const Options& options, const std::string& wanted, bool folder) {
  std::string why;
  const auto look_at = [&](const std::string& path, const std::string& file) {
    if (world.rank() != 0 || path.empty() || !system::is_scratch_file(wanted, path, folder)) return;
    why = file + " would be deleted with the temporary files of IMB-IO";
  };
  for (const std::string& input : options.input_files) look_at(input, input + ", which is read,");
  look_at(options.dump_file, "-dumpfile: " + options.dump_file);
  look_at(options.json_file, "-json: " + options.json_file);
  look_at("/dev/stdout", "standard output");
  look_at("/dev/stderr", "standard error");
  why = first_message(world, why);
  if (!why.empty()) throw UsageError(why + "; name another file, or other temporary files with -file");
}

}  // namespace

ScratchFiles::ScratchFiles(const Component& component, MpiAgreement& world, const Options& options,
                           std::optional<system::Guardian>& guardian)
    : world_(world), guardian_(guardian) {
  if (!component.list.facts.uses_files) return;
  constexpr const char* guide_name = "IMB_out";
  std::error_code error;
  const fs::path asked = fs::absolute(options.file.empty() ? "." : options.file, error).lexically_normal();
  const bool folder = world.broadcast(fs::is_directory(asked, error) ? "y" : "") == "y";
  const std::string wanted = world.broadcast((folder ? asked / guide_name : asked).string());
  require_distinct(world, options, wanted, folder);
  require_writable(world, fs::path(wanted).parent_path().string());
  responsible_ = world.members().of_host().rank() == 0;
  if (!responsible_) guardian_.reset();
  choose(wanted, folder);
  sweep();
}

// Rank 0 first: on a file system that hosts share, the guardians of other hosts find its reservation.
bool ScratchFiles::reserve(const std::string& base, const std::string& token, bool only_unused) const {
  bool refused = false;
  if (world_.rank() == 0 && guardian_) refused = !guardian_->reserve(base, token, only_unused);
  if (world_.any(refused)) return false;
  if (world_.rank() != 0 && guardian_) refused = !guardian_->reserve(base, token, only_unused);
  if (!world_.any(refused)) return true;
  if (guardian_) guardian_->release();
  return false;
}

// In a folder: the guide's name, or a numbered one where another launch uses that. A name given by the user
// is used as it is or refused: files that exist there are the user's.
void ScratchFiles::choose(const std::string& wanted, bool folder) {
  constexpr int most_launches = 99;
  const std::string token = world_.broadcast(system::launch_token());
  if (folder && responsible_ && guardian_) system::delete_abandoned(wanted);
  for (int number = 1; base_.empty() && number <= (folder ? most_launches : 1); ++number) {
    const std::string base = number == 1 ? wanted : wanted + "." + std::to_string(number);
    if (reserve(base, token, number > 1)) base_ = base;
  }
  if (base_.empty()) refuse(wanted + " is in use by another IMB-IO");
  std::string why;
  if (world_.rank() == 0 && !folder) {
    if (const auto existing = system::scratch_files(base_); !existing.empty()) {
      why = existing.front() + " exists and would be deleted";
    }
  }
  why = first_message(world_, why);
  if (why.empty()) return;
  guardian_.reset();
  refuse(why);
}

void ScratchFiles::sweep() const {
  world_.barrier();
  if (responsible_) system::delete_scratch_files(base_);
  world_.barrier();
}

ScratchFiles::~ScratchFiles() {
  if (base_.empty()) return;
  sweep();
  guardian_.reset();
}

}  // namespace openimb
