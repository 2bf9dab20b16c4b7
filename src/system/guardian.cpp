#include "system/guardian.h"

#include <chrono>
#include <optional>

#include "system/guardian_process.h"
#include "system/machine.h"
#include "system/scratch_files.h"
#include "system/signals.h"
#include "system/sleep.h"

namespace openimb::system {

namespace {

/// Receives a text that ends with a zero byte. Returns nothing if the launch has ended.
std::optional<std::string> receive_text(Connection& launch) {
  std::string text;
  for (;;) {
    const std::optional<char> byte = launch.receive();
    if (!byte) return std::nullopt;
    if (*byte == '\0') return text;
    text += *byte;
  }
}

// Deletes files until there have been none for a second: other ranks may run a little longer than the first
// one, and create files again.
void delete_repeatedly(const std::string& base) {
  constexpr int max_rounds = 15, quiet_rounds = 5;
  constexpr double between_seconds = 0.2;
  for (int round = 0, quiet = 0; round < max_rounds && quiet < quiet_rounds; ++round) {
    quiet = delete_scratch_files(base) > 0 ? 0 : quiet + 1;
    pause_for(between_seconds);
  }
}

// Waits for the end of the launch and deletes its files. The launch sends the path of its files, and an empty
// text once it has deleted them itself.
void guard(Connection& launch) {
  std::string base;
  while (const std::optional<std::string> text = receive_text(launch)) base = *text;
  if (!base.empty()) delete_repeatedly(base);
}

}  // namespace

std::string unique_name() {
  const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return host_name() + "-" + std::to_string(process_number()) + "-" + std::to_string(now.count());
}

void run_guardian_if_asked(int argc, char** argv) {
  const std::unique_ptr<Connection> launch = connection_to_launch(argc, argv);
  if (!launch) return;
  guard(*launch);
  exit_now(0);
}

Guardian::Guardian() : process_(start_guardian(guard)) {}

Guardian::~Guardian() { send(""); }

// Without a guardian, or after it has ended, the launch continues unprotected.
void Guardian::send(const std::string& base) const {
  if (process_) process_->send(base + '\0');
}

}  // namespace openimb::system
