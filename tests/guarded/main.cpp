// Every component in one executable; which one it is, the name under which it is started says: IMB-MPI1, ...
// IMB-SEEDED has benchmarks that no component has: they break the rule that guarded_memory.cpp enforces, or
// combine what the engine must keep apart.
#include <cstdio>
#include <string>
#include <string_view>

#include "app/run.h"
#include "benchmarks/catalog.h"
#include "benchmarks/components.h"
#include "benchmarks/parallel_transfer.h"

namespace {

using namespace openimb;

void peek(const char* message) {
  [[maybe_unused]] const char seen = *const_cast<const volatile char*>(message);
}

/// Looks at what it has received.
struct Peeks : Sendrecv {
  static constexpr Spec spec{.name = "Peeks", .kind = Kind::parallel_transfer};
  template <class C>
  static void step(const C& c, const Iteration& it) {
    Sendrecv::step(c, it);
    peek(it.receive);
  }
};

/// Looks at what it sends while the message is in flight.
struct PeeksInFlight : Sendrecv {
  static constexpr Spec spec{.name = "PeeksInFlight", .kind = Kind::parallel_transfer};
  template <class C>
  static void step(const C& c, const Iteration& it) {
    MPI_Request request;
    call::isend(it.send, c.count, c.type, c.right, message_tag, c.comm, &request);
    peek(it.send);
    call::recv(it.receive, c.count, c.type, c.left, message_tag, c.comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
};

/// Follows the rule.
struct LooksAway : Sendrecv {
  static constexpr Spec spec{.name = "LooksAway", .kind = Kind::parallel_transfer};
};

const Component& seeded() {
  using Seeded = Catalog<Peeks, PeeksInFlight, LooksAway>;
  static constexpr auto entries = Seeded::entries<BatchOf>();
  static constexpr ComponentList list{{.name = "SEEDED", .title = "seeded part"}, Seeded::specs};
  static const Component component{list, entries};
  return component;
}

}  // namespace

int main(int argc, char** argv) {
  const Component& (*const components[])() = {
#define OPENIMB_FOR_COMPONENT(name, Catalog) name,
#include "benchmarks/components.inc"
#undef OPENIMB_FOR_COMPONENT
      seeded};
  const std::string_view program = argv[0];
  for (const auto component : components) {
    if (program.ends_with("IMB-" + std::string(component().list.facts.name)))
      return run(component(), argc, argv);
  }
  std::fprintf(stderr, "%s: unknown component; start it as IMB-MPI1 or another one\n", argv[0]);
  return 2;
}
