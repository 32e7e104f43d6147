// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The frames of a video file, again and again: the one user of libavformat. */
#ifndef VIDEOCONF_VIDEOFILE_H
#define VIDEOCONF_VIDEOFILE_H

struct AVFrame;
struct videofile;

/** Opens the local file `path` and its video's decoder. NULL where that fails, with the reason on stderr. */
struct videofile *videofile_open(const char *path);
void videofile_close(struct videofile *v);

/**
 * Decodes the next frame, after the last the first, and scales it into `picture`. 0, or -1 with the reason on stderr.
 */
int videofile_next(struct videofile *v, struct AVFrame *picture);

#endif
