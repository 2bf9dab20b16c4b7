// Exit statuses of the executables besides 0, in C too, for the launcher. -help and docs/measuring.md explain
// them. 128 + signal: a stop that did not come about in time.
#pragma once

enum {
  exit_usage = 2,       // nothing was measured
  exit_incomplete = 3,  // a row that was promised failed, or output that could not be written
  exit_defects = 4,     // -check found wrong bytes
  exit_aborted = 5      // a rank could not go on, and ended the job alone
};
