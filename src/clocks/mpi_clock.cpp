#include "clocks/mpi_clock.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>

#include "clocks/tree.h"
#include "clocks/waiting.h"
#include "system/clock_identity.h"
#include "system/sleep.h"

namespace openimb {

namespace {

constexpr int sweeps = 9;           // comparisons of all clocks in the first synchronization
constexpr double first_span = 0.2;  // seconds over which they are spread
constexpr int usual_exchanges = 8, max_exchanges = 100;
// With the parent, in the first synchronization. HCA3 makes five times as many.
constexpr int max_first_exchanges = 200;
constexpr double good_width = 1.5;  // multiple of the narrowest bounds so far
constexpr int readings = 50;        // readings of the clocks in a comparison on a host
constexpr int clock_tag = 31001;

std::int64_t system_nanoseconds() {
  using std::chrono::nanoseconds;
  return std::chrono::duration_cast<nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

MpiClock::MpiClock(const Communicator& world, ProcessGroup& ranks, bool shares, ClockFunction clock)
    : comm_(Communicator::duplicate(world.handle())), ranks_(ranks), now_(clock), base_(clock()) {
  tick_ = ranks_.allreduce_max(measured_tick(clock));
  find_hosts(shares);
}

double MpiClock::system_time() const {
  return static_cast<double>(system_nanoseconds() - system_base_) * 1e-9;
}

void MpiClock::find_hosts(bool shares) {
#ifdef OPENIMB_SMPI  // all simulated hosts run on one system
  shares = false;
#endif
  const std::string mine = shares ? system::clock_identity() : "";
  std::uint64_t hash = mine.empty() ? 0 : std::hash<std::string>{}(mine) | 1;
  std::vector<std::uint64_t> all(static_cast<std::size_t>(comm_.size()));
  MPI_Gather(&hash, 8, MPI_BYTE, all.data(), 8, MPI_BYTE, 0, comm_.handle());
  MPI_Bcast(all.data(), static_cast<int>(8 * all.size()), MPI_BYTE, 0, comm_.handle());
  std::vector<int> first(all.size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const auto same =
        all[rank] == 0 ? all.begin() + static_cast<std::ptrdiff_t>(rank) : std::ranges::find(all, all[rank]);
    first[rank] = static_cast<int>(same - all.begin());
    if (first[rank] == static_cast<int>(rank)) leaders_.push_back(static_cast<int>(rank));
  }
  const int me = comm_.rank(), leader = first[static_cast<std::size_t>(me)];
  if (leader == me) index_ = static_cast<int>(std::ranges::find(leaders_, me) - leaders_.begin());
  const bool has_hosts = leaders_.size() < all.size();
  if (has_hosts) {
    Communicator host = comm_.split(leader, me);
    if (host.size() > 1) host_ = std::move(host);
  }
  if (!host_.contains_me()) return;
  system_base_ = system_nanoseconds();
  MPI_Bcast(&system_base_, 8, MPI_BYTE, 0, host_.handle());
}

bool MpiClock::synchronize() {
  spare_exchanges_ = max_exchanges - usual_exchanges;
  const bool same = !started_ || !ranks_.any(!compare_all());
  if (!started_ || !same) {
    parent_ = system_ = {};
    spare_exchanges_ = max_first_exchanges - sweeps * usual_exchanges;
    narrowest_ = std::numeric_limits<double>::infinity();
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      if (sweep > 0) system::pause_for(first_span / (sweeps - 1));
      compare_all();
    }
    started_ = true;
  }
  const double off = ranks_.allreduce_max(compare_off_tree());
  disagreement_ = off < 0 ? std::numeric_limits<double>::quiet_NaN() : off;
  last_ = now();
  return same;
}

// Compares all clocks, from the root of the tree to its leaves. Returns false if this rank's clock or the
// clock of its reference was set.
bool MpiClock::compare_all() {
  bool same = true;
  const int count = static_cast<int>(leaders_.size());
  if (index_ == 0) past_ = later_ = ClockMap{.until = own_time()};
  if (index_ >= 0) {
    for (int stride = first_stride(count); stride > 0; stride /= 2) {
      if (index_ % (2 * stride) == stride) same = exchange_with_parent(index_ - stride);
      if (index_ % (2 * stride) == 0 && index_ + stride < count) exchange_with_child(index_ + stride);
    }
  }
  return compare_on_host() && same;
}

MpiClock::ClockMaps MpiClock::maps_through(const OffsetHistory& history, const ClockMaps& reference) const {
  return {history.past_map().then(reference.past), history.later_map().then(reference.later)};
}

bool MpiClock::exchange_with_parent(int index) {
  ClockMaps reference;
  const OffsetBounds bounds = exchange(index, true, false, &reference);
  narrowest_ = std::min(narrowest_, bounds.width());
  const bool same = parent_.add(bounds.widened(tick_));
  const ClockMaps mine = maps_through(parent_, reference);
  past_ = mine.past;
  later_ = mine.later;
  return same;
}

void MpiClock::exchange_with_child(int index) {
  ClockMaps mine{past_, later_};
  exchange(index, false, false, &mine);
}

// Exchanges messages with another leader and returns bounds of the offset to its clock; without `asks`, it
// answers the requests of the other leader. The last request says that it is the last. An answer has the
// stamps and the maps of the rank that answers. Requests and answers are equally long, because a longer
// transfer would count as an offset.
OffsetBounds MpiClock::exchange(int index, bool asks, bool in_common_time, ClockMaps* maps) {
  struct Message {
    double last = 0, received = 0, sent = 0;
    ClockMaps maps;
  };
  constexpr int length = 15;
  static_assert(sizeof(Message) == length * sizeof(double));
  const int partner = leaders_[static_cast<std::size_t>(index)];
  const auto stamp = [&] { return in_common_time ? common_time(now()) : own_time(); };
  const auto send = [&](const Message& message) {
    MPI_Send(&message, length, MPI_DOUBLE, partner, clock_tag, comm_.handle());
    ++messages_;
  };
  const auto receive = [&](Message& message) {
    MPI_Recv(&message, length, MPI_DOUBLE, partner, clock_tag, comm_.handle(), MPI_STATUS_IGNORE);
  };
  Message request, answer;
  OffsetBounds bounds;
  if (!asks) {
    if (maps != nullptr) answer.maps = *maps;
    while (request.last == 0) {
      receive(request);
      answer.received = stamp();
      answer.sent = stamp();
      send(answer);
    }
    return bounds;
  }
  const int most = std::min(max_exchanges, usual_exchanges + spare_exchanges_);
  int count = 0;
  while (request.last == 0) {
    ++count;
    const bool good = in_common_time || bounds.width() <= good_width * narrowest_ || std::isinf(narrowest_);
    request.last = (count >= usual_exchanges && good) || count == most ? 1 : 0;
    const double sent = stamp();
    send(request);
    receive(answer);
    bounds.include(sent, answer.received, answer.sent, stamp());
  }
  spare_exchanges_ -= count - usual_exchanges;
  if (maps != nullptr) *maps = answer.maps;
  return bounds;
}

// Compares this rank's clock with the system's clock, which the ranks of a host share. The leader broadcasts
// the map from the system's clock to the common time, which is the only message.
bool MpiClock::compare_on_host() {
  if (!host_.contains_me()) return true;
  const bool leads = index_ >= 0;
  OffsetBounds bounds;
  for (int i = 0; i < readings; ++i) {
    const double before = leads ? system_time() : own_time();
    const double between = leads ? own_time() : system_time();
    bounds.include(before, between, between, leads ? system_time() : own_time());
  }
  const bool same = system_.add(bounds.widened(tick_));
  ClockMaps host_maps;
  if (leads) host_maps = maps_through(system_, {past_, later_});
  MPI_Bcast(&host_maps, 12, MPI_DOUBLE, 0, host_.handle());
  if (!leads) {
    const ClockMaps mine = maps_through(system_, host_maps);
    past_ = mine.past;
    later_ = mine.later;
  }
  return same;
}

// Seconds by which the common times of two leaders that are not neighbors in the tree differ; -1 if this rank
// has no such partner or only answers its requests.
double MpiClock::compare_off_tree() {
  if (index_ < 0) return -1;
  const auto partner = partner_off_tree(index_, static_cast<int>(leaders_.size()));
  if (!partner) return -1;
  const OffsetBounds bounds = exchange(*partner, index_ % 2 == 1, true, nullptr);
  return index_ % 2 == 1 ? std::abs(bounds.lower + bounds.upper) / 2 : -1;
}

}  // namespace openimb
