/* version.h: the version, told by hookonce --version. */
#ifndef HOOKONCE_VERSION_H
#define HOOKONCE_VERSION_H

#define HOOKONCE_VERSION "0.1"

#endif
