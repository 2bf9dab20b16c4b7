// Routes and times of a fabric as SimGrid has them, for bench/fabric_routes.py.
//
//   fabric_routes fat_tree HOSTS_PER_LEAF LEAVES [CABLE PERCENT]
//   fabric_routes dragonfly HOSTS_PER_SWITCH SWITCHES_PER_GROUP GROUPS [CABLE PERCENT]
//
// Prints a line for each pair of hosts: their numbers, seconds of two messages of 64 KiB, one each way at
// once, and the numbers of the cables on both ways, which have names in lines `cable NUMBER NAME` before.
// CABLE takes PERCENT longer. Pairs are measured one after the other.

#include <simgrid/s4u.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sg4 = simgrid::s4u;

namespace {

constexpr double bandwidth = 1e9;
constexpr double latency = 1e-9;  // hardly any: times are those of the slowest cable
constexpr std::uint64_t bytes = 65536;

std::pair<simgrid::kernel::routing::NetPoint*, simgrid::kernel::routing::NetPoint*> make_host(
    sg4::NetZone* zone, const std::vector<unsigned long>& /*place*/, unsigned long number) {
  const sg4::Host* host = zone->create_host("n" + std::to_string(number), 1e9)->seal();
  return {host->get_netpoint(), nullptr};
}

std::string cable_of(const sg4::Link* link) {
  const std::string name = link->get_name();
  for (const char* end : {"_UP", "_DOWN"}) {
    const std::string suffix = end;
    if (name.size() > suffix.size() &&
        name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0) {
      return name.substr(0, name.size() - suffix.size());
    }
  }
  return name;
}

void measure(const std::vector<sg4::Host*>& hosts) {
  std::map<std::string, int> cables;
  for (std::size_t a = 0; a < hosts.size(); ++a) {
    for (std::size_t b = a + 1; b < hosts.size(); ++b) {
      std::set<int> crossed;
      for (const auto& [from, to] : {std::pair{hosts[a], hosts[b]}, std::pair{hosts[b], hosts[a]}}) {
        std::vector<sg4::Link*> links;
        double ignored = 0;
        from->route_to(to, links, &ignored);
        for (const sg4::Link* link : links) {
          const auto [place, added] = cables.emplace(cable_of(link), static_cast<int>(cables.size()));
          if (added) {
            std::printf("cable %d %s\n", place->second, place->first.c_str());
          }
          crossed.insert(place->second);
        }
      }
      const double before = sg4::Engine::get_clock();
      const auto there = sg4::Comm::sendto_async(hosts[a], hosts[b], bytes);
      const auto back = sg4::Comm::sendto_async(hosts[b], hosts[a], bytes);
      there->wait();
      back->wait();
      std::printf("%zu %zu %.9g", a, b, sg4::Engine::get_clock() - before);
      for (const int one : crossed) {
        std::printf(" %d", one);
      }
      std::printf("\n");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  sg4::Engine engine(&argc, argv);
  sg4::Engine::set_config(
      "network/model:CM02");  // no factors: a message has the bandwidth of its slowest cable
  sg4::Engine::set_config("network/TCP-gamma:0");
  sg4::Engine::set_config("network/crosstraffic:0");
  const std::string kind = argc > 1 ? argv[1] : "";
  std::vector<unsigned int> sizes;
  const int first = 2;
  const int last = kind == "dragonfly" ? 5 : 4;
  for (int at = first; at < last && at < argc; ++at) {
    sizes.push_back(static_cast<unsigned int>(std::strtoul(argv[at], nullptr, 10)));
  }
  const sg4::ClusterCallbacks callbacks(make_host);
  const auto policy = sg4::Link::SharingPolicy::SPLITDUPLEX;
  if (kind == "fat_tree" && sizes.size() == 2) {
    // As many spines as hosts below a leaf, each leaf with a cable to each.
    const sg4::FatTreeParams shape(2, {sizes[0], sizes[1]}, {1, sizes[0]}, {1, 1});
    sg4::create_fatTree_zone("fabric", nullptr, shape, callbacks, bandwidth, latency, policy)->seal();
  } else if (kind == "dragonfly" && sizes.size() == 3) {
    const sg4::DragonflyParams shape({sizes[2], 1}, {1, 1}, {sizes[1], 1}, sizes[0]);
    sg4::create_dragonfly_zone("fabric", nullptr, shape, callbacks, bandwidth, latency, policy)->seal();
  } else {
    std::fputs(
        "usage: fabric_routes fat_tree HOSTS LEAVES | dragonfly HOSTS SWITCHES GROUPS [CABLE PERCENT]\n",
        stderr);
    return 2;
  }
  if (argc > last + 1) {
    const double factor = 1 + std::strtod(argv[last + 1], nullptr) / 100;
    for (sg4::Link* link : engine.get_all_links()) {
      if (cable_of(link) == argv[last]) {
        link->set_bandwidth(link->get_bandwidth() / factor);
      }
    }
  }
  std::vector<sg4::Host*> hosts;
  for (std::size_t at = 0; at < engine.get_host_count(); ++at) {
    hosts.push_back(engine.host_by_name("n" + std::to_string(at)));
  }
  sg4::Actor::create("measure", hosts[0], measure, hosts);
  engine.run();
  return 0;
}
