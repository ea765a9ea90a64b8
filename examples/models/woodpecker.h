/* Woodpecker toy: a bird on a spring that is attached to a sleeve, which slips down a pole and jams on it in turns.
 *
 *   M u' = f + sum_i (n_i N_i + t_i F_i),   0 <= g_i(q)  perpendicular to  N_i >= 0,   Coulomb's law for F_i
 *
 *   y = (y, phi_M, phi_S, y', phi_M', phi_S')   state [m, rad, rad, m/s, rad/s, rad/s]: height of the sleeve, tilt of
 *   the sleeve, tilt of the bird, all linearized in the tilts
 *
 *   contact 0, beak:        g = l_M + l_G - l_S - r_O - h_S phi_S    v_T = y' + l_M phi_M' + (l_G - l_S) phi_S'
 *   contact 1, lower edge:  g = r_M - r_O + h_M phi_M                v_T = y' + r_M phi_M'
 *   contact 2, upper edge:  g = r_M - r_O - h_M phi_M                v_T = y' + r_M phi_M'
 *
 * Released where the lower edge touches the pole, near the limit cycle.
 * Source: R. I. Leine, C. Glocker, European Journal of Mechanics A/Solids 22, 2003; constants as in siconos-tutorials,
 * examples/mechanics/Woodpecker.
 */
#ifndef CPODES_EXAMPLES_WOODPECKER_H
#define CPODES_EXAMPLES_WOODPECKER_H

#include <cpodes/cpodes_contact.h>

typedef struct {
  sunrealtype g; /* gravity [m/s^2] */
  sunrealtype c; /* stiffness of the spring between sleeve and bird [N m/rad] */
} Woodpecker;    /* the user_data of the functions below */

/* Rows 0 ... 2 of p are the gaps, rows 3 ... 5 of v the tangential velocities. */
CPEquations woodpecker_model(void);
/* Contacts with the friction mu, and the restitution e at the beak. contact [WOODPECKER_CONTACTS]: out */
enum { WOODPECKER_CONTACTS = 3 };
void woodpecker_contacts(sunrealtype mu, sunrealtype e, CPContactPoint *contact);
/* y [6]: out */
void woodpecker_initial(N_Vector y);
sunrealtype woodpecker_energy(const Woodpecker *w, N_Vector y);
/* Pole, sleeve and bird: x [WOODPECKER_POINTS][2], out. 0 ... 3: ends of both sides of the pole; 4 ... 7: the sleeve's box; 8: the
   spring's place at the sleeve; 9: the bird's centre of mass; 10: its beak; 11: its tail */
enum { WOODPECKER_POINTS = 12 };
void woodpecker_points(N_Vector y, sunrealtype (*x)[2]);

#endif
