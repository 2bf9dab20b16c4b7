// The components with their loops. Each is defined in src/benchmarks/<component>.cpp.
#pragma once

namespace openimb {

struct Component;

const Component& mpi1();
const Component& ext();
const Component& rma();
const Component& nbc();
const Component& io();
const Component& mpi4();
const Component& p2p();
const Component& mt();
const Component& fabric();

}  // namespace openimb
