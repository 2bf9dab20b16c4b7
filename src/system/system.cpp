#include "system/system.h"

#include <fcntl.h>
#include <regex.h>
#include <sched.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <system_error>

// POSIX leaves this declaration to the program; glibc makes it too.
extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace openimb::system {

Machine machine() {
  utsname names{};
  if (uname(&names) != 0) return {};
  return {names.machine, names.sysname, names.release, names.version};
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string allowed_cpus() {
#ifdef __linux__
  std::ifstream status("/proc/self/status");
  constexpr std::string_view key = "Cpus_allowed_list:";
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(key)) continue;
    const auto value = line.find_first_not_of(" \t", key.size());
    return value == std::string::npos ? "" : line.substr(value);
  }
#endif
  return "";
}

Cache last_level_cache() {
  Cache cache;
#ifdef __linux__
  int highest = 0;
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::ifstream level_file(folder + "level"), size_file(folder + "size"),
        line_file(folder + "coherency_line_size");
    int level = 0, line = 0;
    std::int64_t size = 0;
    char unit = ' ';
    if (!(level_file >> level) || level < highest || !(size_file >> size)) continue;
    if (size_file >> unit) size *= unit == 'K' ? 1024 : unit == 'M' ? 1024 * 1024 : 1;
    line_file >> line;
    highest = level;
    cache = {size, line};
  }
#endif
#ifdef _SC_LEVEL1_DCACHE_LINESIZE
  if (cache.size == 0)
    cache.size = std::max({0L, sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE)});
  if (cache.line == 0) cache.line = static_cast<int>(std::max(0L, sysconf(_SC_LEVEL1_DCACHE_LINESIZE)));
#endif
  return cache;
}

std::vector<std::pair<std::string, std::string>> mpi_environment() {
  constexpr std::string_view prefixes[] = {"OMPI_MCA_", "PRTE_MCA_",  "PMIX_MCA_",
                                           "MPICH_",    "MPIR_CVAR_", "I_MPI_",
                                           "UCX_",      "FI_",        "OMP_NUM_THREADS"};
  std::vector<std::pair<std::string, std::string>> found;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    const auto equals = variable.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = variable.substr(0, equals);
    if (std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); })) {
      found.emplace_back(name, variable.substr(equals + 1));
    }
  }
  std::ranges::sort(found);
  return found;
}

std::int64_t free_bytes(const std::string& folder) {
  struct statvfs facts{};
  if (statvfs(folder.c_str(), &facts) != 0) return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(facts.f_bavail) * static_cast<std::int64_t>(facts.f_frsize);
}

std::string file_system_type(const std::string& folder) {
  // Lines of mountinfo: id parent device root mount-point options... - type source options. The last of the
  // longest mount points above the folder is the one that counts.
  std::error_code unused;
  const std::string place = std::filesystem::canonical(folder, unused).string() + "/";
  std::ifstream mounts("/proc/self/mountinfo");
  std::string type;
  std::size_t longest = 0;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string field, point;
    for (int i = 0; i < 5; ++i) fields >> point;
    while (fields >> field && field != "-") continue;
    fields >> field;
    if (!point.ends_with('/')) point += '/';
    if (place.starts_with(point) && point.size() >= longest) {
      longest = point.size();
      type = field;
    }
  }
  return type;
}

std::string why_not_writable(const std::string& folder) {
  std::error_code unused;
  if (!std::filesystem::exists(folder, unused)) return "there is no such folder";
  if (!std::filesystem::is_directory(folder, unused)) return "it is not a folder";
  return access(folder.c_str(), W_OK | X_OK) == 0 ? "" : std::strerror(errno);
}

namespace {

// POSIX's: <regex> takes as long to compile as all the rest of this file.
class Expression {
 public:
  explicit Expression(const char* text) { regcomp(&compiled_, text, REG_EXTENDED | REG_NOSUB); }
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;
  ~Expression() { regfree(&compiled_); }
  bool matches(const std::string& text) const {
    return regexec(&compiled_, text.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t compiled_{};
};

}  // namespace

std::vector<std::string> scratch_files(const std::string& base) {
  // Suffixes of ROMIO's and OMPIO's own files for shared pointers, and of that with which OMPIO tries a lock.
  static const Expression rest(
      R"(^(_g[0-9]+)?(_[0-9]+)?(\.shfp\.[0-9.]+|-[0-9]+\.lock|_cid-[0-9]+-[0-9]+\.sm|\.(data|metadata|locktest)\.[0-9]+)?$)");
  const std::filesystem::path path(base);
  const std::string stem = path.filename().string();
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path.parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name.starts_with('.')) name.erase(0, 1);
    if (!name.starts_with(stem) || !rest.matches(name.substr(stem.size()))) continue;
    // A link too: writing through it would reach what it points to.
    if (!std::filesystem::is_directory(entry->symlink_status(error))) found.push_back(entry->path().string());
  }
  std::ranges::sort(found);
  return found;
}

void delete_scratch_files(const std::string& base) {
  for (const std::string& file : scratch_files(base)) std::remove(file.c_str());
}

namespace {

constexpr char dismissed = '\n';  // no path of ours ends with it

// Neither the launcher's nor the terminal's: a session of its own, no descriptor that somebody waits for.
void cut_loose(int keep) {
  setsid();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGPIPE}) {
    std::signal(signal, SIG_IGN);
  }
  std::vector<int> open;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end; !error && entry != end;
       entry.increment(error)) {
    open.push_back(std::atoi(entry->path().filename().c_str()));
  }
  for (const int descriptor : open) {
    if (descriptor > 2 && descriptor != keep) close(descriptor);
  }
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int descriptor : {0, 1, 2}) dup2(nothing, descriptor);
}

// Until the other end of the pipe is closed. Other ranks may live a little longer and make files again.
[[noreturn]] void guard(int pipe) {
  constexpr int rounds = 15;
  constexpr double between_seconds = 0.2;
  std::string base;
  std::array<char, 4096> part{};
  for (ssize_t count = 0; (count = read(pipe, part.data(), part.size())) != 0;) {
    if (count > 0) base.append(part.data(), static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) break;
  }
  if (!base.empty() && base.back() != dismissed) {
    for (int round = 0; round < rounds; ++round) {
      delete_scratch_files(base);
      pause_for(between_seconds);
    }
  }
  _exit(0);
}

}  // namespace

Guardian::Guardian() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
  process_ = fork();
  if (process_ == 0) {
    cut_loose(ends[0]);
    guard(ends[0]);
  }
  close(ends[0]);
  if (process_ < 0) {
    close(ends[1]);
    return;
  }
  pipe_ = ends[1];
}

Guardian::~Guardian() {
  if (pipe_ < 0) return;
  [[maybe_unused]] const auto written = write(pipe_, &dismissed, 1);
  close(pipe_);
  waitpid(process_, nullptr, 0);
}

void Guardian::watch(const std::string& base) const {
  if (pipe_ < 0) return;
  [[maybe_unused]] const auto written = write(pipe_, base.data(), base.size());
}

void pause_for(double seconds) { usleep(static_cast<useconds_t>(seconds * 1e6)); }

namespace {

constexpr std::pair<int, const char*> stop_signals[] = {
    {SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"}};

std::atomic<int> arrived{0};
double grace = 0;

struct LastWords {
  std::array<char, 512> text{};
  std::size_t length = 0;
};
// One text per signal, in two sets: the handler reads the set that is not being written.
std::array<std::array<LastWords, std::size(stop_signals)>, 2> last_words;
std::atomic<int> current_set{-1};
int words_descriptor = -1;

[[noreturn]] void leave() {
  const int set = current_set.load();
  for (std::size_t i = 0; set >= 0 && i < std::size(stop_signals); ++i) {
    const LastWords& words = last_words[set][i];
    if (stop_signals[i].first != arrived.load()) continue;
    [[maybe_unused]] const auto written = write(words_descriptor, words.text.data(), words.length);
  }
  _exit(128 + arrived.load());
}

void on_alarm(int) { leave(); }

void on_stop(int signal) {
  int none = 0;
  if (!arrived.compare_exchange_strong(none, signal)) leave();
  if (grace <= 0) return;
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(grace);
  timer.it_value.tv_usec =
      static_cast<suseconds_t>((grace - static_cast<double>(timer.it_value.tv_sec)) * 1e6);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

void catch_stop_signals(double grace_seconds) {
  grace = grace_seconds;
  std::signal(SIGPIPE,
              SIG_IGN);  // a closed pipe fails the write, which is said once, and does not end the run
#ifdef SIGXFSZ
  std::signal(SIGXFSZ, SIG_IGN);  // so does a file that has reached its limit
#endif
  struct sigaction action{};
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  action.sa_handler = on_alarm;
  sigaction(SIGALRM, &action, nullptr);
  action.sa_handler = on_stop;
  for (const auto& [signal, name] : stop_signals) sigaction(signal, &action, nullptr);
}

std::string stop_signal() {
  for (const auto& [signal, name] : stop_signals) {
    if (signal == arrived.load()) return name;
  }
  return "";
}

void set_last_words(std::FILE* file, const std::function<std::string(const char* signal)>& words) {
  if (file == nullptr) {
    current_set.store(-1);
    return;
  }
  const int set = current_set.load() == 0 ? 1 : 0;
  for (std::size_t i = 0; i < std::size(stop_signals); ++i) {
    const std::string text = words(stop_signals[i].second);
    LastWords& prepared = last_words[set][i];
    prepared.length = std::min(text.size(), prepared.text.size());
    std::memcpy(prepared.text.data(), text.data(), prepared.length);
  }
  words_descriptor = fileno(file);
  current_set.store(set);
}

}  // namespace openimb::system
