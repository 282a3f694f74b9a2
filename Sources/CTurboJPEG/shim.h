#ifndef TRANSFER_CTURBOJPEG_SHIM_H
#define TRANSFER_CTURBOJPEG_SHIM_H

// The TurboJPEG API of libjpeg-turbo. It catches the errors of libjpeg, which jump over the frames of Swift otherwise.
#include <turbojpeg.h>

#endif
