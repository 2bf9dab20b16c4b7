// The main of every executable: OPENIMB_COMPONENT names its catalog (mpi1, ext, ...).
#include "app/run.h"
#include "benchmarks/components.h"

int main(int argc, char** argv) { return openimb::run(openimb::OPENIMB_COMPONENT(), argc, argv); }
