// Nonzero exit statuses of the executables. The launcher includes this file as C. -help and docs/measuring.md
// explain the statuses. A further status is 128 + signal, when a signal asked the program to stop and it did
// not stop in time.
#pragma once

enum {
  exit_usage = 2,       // nothing was measured
  exit_incomplete = 3,  // a row that was promised failed, or output could not be written
  exit_defects = 4,     // -check found wrong bytes
  exit_aborted = 5      // one rank could not continue and aborted the job
};
