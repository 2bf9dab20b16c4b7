// Nonzero exit statuses of the executables. The launcher includes this file as C. -help and docs/measuring.md
// explain the statuses. If a signal asks the program to stop and it does not stop in time, the status is 128
// + signal.
#pragma once

enum {
  exit_usage = 2,       // nothing was measured
  exit_incomplete = 3,  // a requested row failed, or output could not be written
  exit_defects = 4,     // -check found wrong bytes
  exit_aborted = 5      // one rank could not continue and aborted the job
};
