#include "system/counter_reader.h"

// Before windows.h, which includes the old Winsock.
#include <winsock2.h>
#include <ws2ipdef.h>
// After winsock2.h.
#include <windows.h>
// After windows.h.
#include <iphlpapi.h>
#include <netioapi.h>
#include <psapi.h>

#include <algorithm>
#include <utility>

namespace openimb::system {

namespace {

struct Interface {
  std::string name;
  NET_LUID id{};
  bool physical = false;
  double sent = ThreadCounters::unknown, received = ThreadCounters::unknown;

  auto importance() const { return std::pair(physical, sent + received); }
};

std::string utf8(const wchar_t* text) {
  const int size = WideCharToMultiByte(CP_UTF8, 0, text, -1, nullptr, 0, nullptr, nullptr);
  std::string result(static_cast<std::size_t>(std::max(size, 1)), '\0');
  WideCharToMultiByte(CP_UTF8, 0, text, -1, result.data(), size, nullptr, nullptr);
  result.pop_back();
  return result;
}

// Returns the interfaces that are up. Filters are left out because they are layers of the same interface.
std::vector<Interface> interfaces_up() {
  std::vector<Interface> interfaces;
  MIB_IF_TABLE2* table = nullptr;
  if (GetIfTable2(&table) != NO_ERROR) return interfaces;
  for (ULONG i = 0; i < table->NumEntries; ++i) {
    const MIB_IF_ROW2& row = table->Table[i];
    if (row.OperStatus != IfOperStatusUp || row.InterfaceAndOperStatusFlags.FilterInterface) continue;
    interfaces.push_back({.name = utf8(row.Alias),
                          .id = row.InterfaceLuid,
                          .physical = row.InterfaceAndOperStatusFlags.HardwareInterface ||
                                      row.Type == IF_TYPE_SOFTWARE_LOOPBACK,
                          .sent = static_cast<double>(row.OutOctets),
                          .received = static_cast<double>(row.InOctets)});
  }
  FreeMibTable(table);
  std::ranges::stable_sort(interfaces, std::ranges::greater{}, &Interface::importance);
  if (interfaces.size() > CounterReader::max_interfaces) interfaces.resize(CounterReader::max_interfaces);
  return interfaces;
}

}  // namespace

struct CounterReader::State {
  explicit State(bool host) : interfaces(host ? interfaces_up() : std::vector<Interface>()), is_host(host) {
    for (const Interface& entry : interfaces) names.push_back(entry.name);
  }

  std::vector<Interface> interfaces;
  std::vector<std::string> names;
  bool is_host;
};

CounterReader::CounterReader(bool host, const CounterSources&) : state_(std::make_unique<State>(host)) {}
CounterReader::~CounterReader() = default;
CounterReader::CounterReader(CounterReader&&) noexcept = default;
CounterReader& CounterReader::operator=(CounterReader&&) noexcept = default;

// Windows counts both kinds of page faults of the process together. Nearly all are minor.
ThreadCounters CounterReader::thread() const noexcept {
  constexpr int per_group = 64;
  ThreadCounters now;
  PROCESS_MEMORY_COUNTERS memory{};
  if (GetProcessMemoryInfo(GetCurrentProcess(), &memory, sizeof memory) != 0)
    now.minor_faults = memory.PageFaultCount;
  PROCESSOR_NUMBER cpu{};
  GetCurrentProcessorNumberEx(&cpu);
  now.cpu = cpu.Group * per_group + cpu.Number;
  return now;
}

const std::vector<std::string>& CounterReader::interfaces() const noexcept { return state_->names; }

void CounterReader::traffic(std::span<double> bytes) noexcept {
  std::size_t at = 0;
  for (Interface& entry : state_->interfaces) {
    MIB_IF_ROW2 row{};
    row.InterfaceLuid = entry.id;
    if (GetIfEntry2(&row) == NO_ERROR) {
      entry.sent = static_cast<double>(row.OutOctets);
      entry.received = static_cast<double>(row.InOctets);
    }
    for (const double value : {entry.sent, entry.received}) {
      if (at < bytes.size()) bytes[at++] = value;
    }
  }
}

double CounterReader::steal_seconds() noexcept { return state_->is_host ? ThreadCounters::unknown : 0; }

}  // namespace openimb::system
