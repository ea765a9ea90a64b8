/* The headers that glue.h needs, for the C compiler. */
#ifndef GLUE_IMPL_H
#define GLUE_IMPL_H

#include <cpodes/cpodes.h>
#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_contact.h>
#include <cpodes/cpodes_integrator.h>
#include <cpodes/cpodes_language.h>
#include <cpodes/cpodes_mechanics.h>
#include <cpodes/cpodes_plugin.h>
#include <cpodes/cpodes_sens.h>
#include <cpodes/cpodes_session.h>
#include <stdint.h>

#include "glue.h"

#endif
