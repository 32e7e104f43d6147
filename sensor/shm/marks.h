// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The launcher's side of struct segment_mark: processes of other users that recorded and were not observed. */
#ifndef BEZEL_SENSOR_SHM_MARKS_H
#define BEZEL_SENSOR_SHM_MARKS_H

/**
 * Counts, in the doorbell of the working directory, the processes that have left a mark for the calling launcher, and
 * removes the marks, and folders that were made for a mark for a launcher that is gone. Call it when no process is left
 * that could leave another one. Reads the default folders of all users, and folders that were made for a mark, as far
 * as it may; takes a file there for no one's but the folder's owner's.
 */
void marks_take(void);

#endif
