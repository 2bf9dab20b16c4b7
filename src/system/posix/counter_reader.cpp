#include "system/counter_reader.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "system/threads.h"

namespace openimb::system {

namespace {

namespace fs = std::filesystem;

constexpr double unknown = ThreadCounters::unknown;

/// A file that stays open. Files of /proc and /sys have new contents whenever they are read at offset 0.
class OpenFile {
 public:
  OpenFile() = default;
  explicit OpenFile(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  OpenFile(OpenFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~OpenFile() {
    if (file_ >= 0) close(file_);
  }
  /// Reads once, at most as many bytes as fit into `space`. Returns an empty text at the end of the file and
  /// after an error.
  std::string_view read(std::span<char> space, std::size_t at = 0) const noexcept {
    ssize_t count = -1;
    if (file_ < 0) return {};
    do {
      count = pread(file_, space.data(), space.size(), static_cast<off_t>(at));
    } while (count < 0 && errno == EINTR);
    return {space.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
  }

 private:
  int file_ = -1;
};

/// Calls `use` with each line, until it returns false.
template <class Use>
void for_each_line(const OpenFile& file, Use use) {
  std::array<char, 8192> space;
  std::size_t at = 0, rest = 0;
  while (rest < space.size()) {  // the lines that matter are shorter
    const std::string_view part = file.read(std::span(space).subspan(rest), at);
    if (part.empty()) return;
    at += part.size();
    std::string_view text(space.data(), rest + part.size());
    for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
      if (!use(text.substr(0, end))) return;
    rest = text.size();
    std::memmove(space.data(), text.data(), rest);
  }
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

/// Removes the first word of `text` and the blanks before it. Returns the word's value if it is a number.
std::optional<double> take_number(std::string_view& text) noexcept {
  const char* const text_end = text.data() + text.size();
  const char* const first = std::find_if_not(text.data(), text_end, is_blank);
  const char* const last = std::find_if(first, text_end, is_blank);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(first, last, value);
  const bool whole = error == std::errc{} && end == last;
  text.remove_prefix(static_cast<std::size_t>(last - text.data()));
  return whole ? std::optional(static_cast<double>(value)) : std::nullopt;
}

/// Returns the n-th word of `text`, counted from 1, if all words up to it are numbers.
std::optional<double> nth_number(std::string_view text, int n) noexcept {
  std::optional<double> value;
  do {
    value = take_number(text);
  } while (value && --n > 0);
  return value;
}

/// Returns the names in a folder, sorted; empty if the folder cannot be read.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename().string());
  std::ranges::sort(names);
  return names;
}

/// An interface and the last values of its counters. Network interfaces are lines of one file.
struct Interface {
  std::string name;
  bool physical = false;
  std::size_t position = 0;
  OpenFile sent_file, received_file;  // RDMA only
  double sent = unknown, received = unknown;

  auto importance() const {
    return std::tuple(physical, (std::isnan(sent) ? 0 : sent) + (std::isnan(received) ? 0 : received));
  }
};

struct InterfaceLine {
  std::string_view name, counters;
};

/// Parses a line of /proc/net/dev: "  eth0: ", 8 counters of received data, 8 of sent data; bytes come first
/// in each. Neither lines of the heading nor names contain a colon.
std::optional<InterfaceLine> interface_line(std::string_view line) noexcept {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto first = std::min(line.find_first_not_of(" \t"), colon);
  return InterfaceLine{line.substr(first, colon - first), line.substr(colon + 1)};
}

void read_counter(const OpenFile& file, double& bytes) noexcept {
  constexpr double unit = 4;
  std::array<char, 64> space;
  if (const auto value = nth_number(file.read(space), 1)) bytes = *value * unit;
}

std::vector<Interface> network_interfaces(const OpenFile& file, const std::string& sys) {
  std::vector<Interface> interfaces;
  for_each_line(file, [&](std::string_view text) {
    const auto line = interface_line(text);
    if (!line || line->name.empty()) return true;
    Interface interface;
    interface.name = line->name;
    std::error_code unused;
    interface.physical =
        interface.name == "lo" || fs::exists(sys + "/class/net/" + interface.name + "/device", unused);
    interfaces.push_back(std::move(interface));
    return true;
  });
  return interfaces;
}

std::vector<Interface> rdma_ports(const std::string& sys) {
  std::vector<Interface> rdma_interfaces;
  const std::string devices = sys + "/class/infiniband";
  for (const std::string& device : names_in(devices)) {
    std::string ports = devices;
    ports.append("/").append(device).append("/ports");
    const auto numbers = names_in(ports);
    for (const std::string& port : numbers) {
      if (rdma_interfaces.size() == CounterReader::max_interfaces) return rdma_interfaces;
      std::string counters = ports;
      counters.append("/").append(port).append("/counters/");
      std::error_code unused;
      if (!fs::exists(counters + "port_xmit_data", unused)) continue;  // software devices have no counters
      Interface interface;
      interface.name = device;
      if (numbers.size() > 1) interface.name.append(":").append(port);
      interface.physical = true;
      interface.sent_file = OpenFile(counters + "port_xmit_data");
      interface.received_file = OpenFile(counters + "port_rcv_data");
      rdma_interfaces.push_back(std::move(interface));
    }
  }
  return rdma_interfaces;
}

struct CpuSteal {
  int cpu = 0;
  double ticks = unknown;
};

}  // namespace

struct CounterReader::Host {
  explicit Host(const CounterSources& sources)
      : net_file_(sources.proc + "/net/dev"), stat_file_(sources.proc + "/stat") {
    find_interfaces(sources.sys);
    for (const int cpu : sources.cpus.empty() ? usable_cpus() : sources.cpus) steal_.push_back({cpu});
    std::ranges::sort(steal_, {}, &CpuSteal::cpu);
    const auto repeated = std::ranges::unique(steal_, {}, &CpuSteal::cpu);
    steal_.erase(repeated.begin(), repeated.end());
    read_steal();
    // A CPU that comes online later would add all that it has counted since the machine started.
    std::erase_if(steal_, [](const CpuSteal& cpu) { return std::isnan(cpu.ticks); });
    last_read_ = Clock::now();
  }

  const std::vector<std::string>& names() const { return names_; }

  void traffic(std::span<double> bytes) noexcept {
    read_interfaces();
    for (std::size_t i = 0; i < bytes.size() && i / 2 < interfaces_.size(); ++i)
      bytes[i] = i % 2 == 0 ? interfaces_[i / 2].sent : interfaces_[i / 2].received;
  }

  double steal_seconds() noexcept {
    constexpr auto rest = std::chrono::milliseconds(20);
    if (steal_.empty()) return unknown;
    if (const auto now = Clock::now(); now - last_read_ >= rest) {
      read_steal();
      last_read_ = now;
    }
    double ticks = 0;
    for (const CpuSteal& cpu : steal_) ticks += cpu.ticks;
    return ticks / ticks_per_second_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void find_interfaces(const std::string& sys) {
    interfaces_ = network_interfaces(net_file_, sys);
    in_net_file_ = interfaces_.size();
    for (Interface& port : rdma_ports(sys)) interfaces_.push_back(std::move(port));
    if (interfaces_.size() > max_interfaces) {
      read_interfaces();
      for (std::size_t i = 0; i < interfaces_.size(); ++i) interfaces_[i].position = i;
      std::ranges::stable_sort(interfaces_, std::ranges::greater{}, &Interface::importance);
      interfaces_.erase(interfaces_.begin() + max_interfaces, interfaces_.end());
      std::ranges::sort(interfaces_, {}, &Interface::position);
      in_net_file_ = static_cast<std::size_t>(std::ranges::count_if(
          interfaces_, [&](const Interface& interface) { return interface.position < in_net_file_; }));
    }
    for (const Interface& interface : interfaces_) names_.push_back(interface.name);
  }

  void read_interfaces() noexcept {
    const std::span in_file(interfaces_.data(), in_net_file_);
    std::size_t matched = 0, next = 0;  // lines keep their order, unless interfaces come or go
    if (!in_file.empty()) {
      for_each_line(net_file_, [&](std::string_view text) {
        const auto line = interface_line(text);
        if (!line) return true;
        const auto has_name = [&](const Interface& candidate) { return candidate.name == line->name; };
        auto at = std::find_if(in_file.begin() + static_cast<std::ptrdiff_t>(next), in_file.end(), has_name);
        if (at == in_file.end()) at = std::find_if(in_file.begin(), in_file.end(), has_name);
        if (at == in_file.end()) return true;
        next = static_cast<std::size_t>(at - in_file.begin()) + 1;
        if (const auto value = nth_number(line->counters, 1)) at->received = *value;
        if (const auto value = nth_number(line->counters, 9)) at->sent = *value;
        return ++matched < in_file.size();
      });
    }
    for (Interface& port : std::span(interfaces_).subspan(in_net_file_)) {
      read_counter(port.sent_file, port.sent);
      read_counter(port.received_file, port.received);
    }
  }

  // The lines of CPUs come first, after the line of all CPUs together: "cpu0", then ticks in user, nice,
  // system, idle, iowait, irq, softirq, steal.
  void read_steal() noexcept {
    constexpr int steal_column = 8;
    constexpr std::string_view key = "cpu";
    for_each_line(stat_file_, [&](std::string_view line) {
      if (!line.starts_with(key)) return false;
      line.remove_prefix(key.size());
      if (line.empty() || is_blank(line.front())) return true;
      const auto cpu = take_number(line), ticks = nth_number(line, steal_column);
      if (!cpu || !ticks) return true;
      const auto at = std::ranges::lower_bound(steal_, *cpu, {}, &CpuSteal::cpu);
      if (at != steal_.end() && at->cpu == *cpu) at->ticks = *ticks;
      return true;
    });
  }

  OpenFile net_file_, stat_file_;
  std::vector<Interface> interfaces_;  // interfaces of net_file_ come first
  std::size_t in_net_file_ = 0;
  std::vector<std::string> names_;
  std::vector<CpuSteal> steal_;
  double ticks_per_second_ = static_cast<double>(sysconf(_SC_CLK_TCK));
  Clock::time_point last_read_;
};

struct CounterReader::State {
  State(bool has_host, const CounterSources& sources) : schedstat_(sources.proc + "/thread-self/schedstat") {
    if (has_host) host.emplace(sources);
  }

  /// Returns the run delay of the owner. The kernel adds to it only when the thread gets a CPU again, and
  /// counts a switch whenever the thread leaves one. As long as the number of switches stays the same, the
  /// last value is right and no file is read.
  double run_delay_seconds(const ThreadCounters& now) noexcept {
    const double switches = now.voluntary_switches + now.involuntary_switches;
    if (switches == switches_) return run_delay_;  // false if either is NaN
    switches_ = switches;
    run_delay_ = unknown;
    // The file has the nanoseconds on CPUs, the nanoseconds of waiting for a CPU, and the number of slices on
    // a CPU. If there are no slices, the kernel does not count.
    std::array<char, 128> space;
    const std::string_view text = schedstat_.read(space);
    const auto delay = nth_number(text, 2), slices = nth_number(text, 3);
    if (delay && slices && *slices > 0) run_delay_ = *delay * 1e-9;
    return run_delay_;
  }

  pthread_t owner = pthread_self();
  std::optional<Host> host;

 private:
  OpenFile schedstat_;
  double switches_ = unknown, run_delay_ = unknown;
};

CounterReader::CounterReader(bool host, const CounterSources& sources)
    : state_(std::make_unique<State>(host, sources)) {}
CounterReader::~CounterReader() = default;
CounterReader::CounterReader(CounterReader&&) noexcept = default;
CounterReader& CounterReader::operator=(CounterReader&&) noexcept = default;

ThreadCounters CounterReader::thread() const noexcept {
  ThreadCounters now;
#ifdef RUSAGE_THREAD
  constexpr int whose = RUSAGE_THREAD;
#else
  constexpr int whose = RUSAGE_SELF;
#endif
  rusage usage{};
  if (getrusage(whose, &usage) == 0) {
    now.voluntary_switches = static_cast<double>(usage.ru_nvcsw);
    now.involuntary_switches = static_cast<double>(usage.ru_nivcsw);
    now.minor_faults = static_cast<double>(usage.ru_minflt);
    now.major_faults = static_cast<double>(usage.ru_majflt);
  }
#ifdef __linux__
  now.cpu = sched_getcpu();
#endif
  if (pthread_equal(state_->owner, pthread_self()) != 0)
    now.run_delay_seconds = state_->run_delay_seconds(now);
  return now;
}

const std::vector<std::string>& CounterReader::interfaces() const noexcept {
  static const std::vector<std::string> none;
  return state_->host ? state_->host->names() : none;
}

void CounterReader::traffic(std::span<double> bytes) noexcept {
  if (state_->host) state_->host->traffic(bytes);
}

double CounterReader::steal_seconds() noexcept { return state_->host ? state_->host->steal_seconds() : 0; }

}  // namespace openimb::system
