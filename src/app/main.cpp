// main() of each executable. The macro OPENIMB_COMPONENT names the component's catalog (mpi1, ext, ...).
#include "app/run.h"

namespace openimb {
const Component& OPENIMB_COMPONENT();  // declared here, to include nothing else of benchmarks/components.h
}

int main(int argc, char** argv) { return openimb::run(openimb::OPENIMB_COMPONENT(), argc, argv); }
