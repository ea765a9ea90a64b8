/* Numbers have decimal points in all files, messages and options. */
#ifndef CPODES_RUNNER_PLAIN_LOCALE_H
#define CPODES_RUNNER_PLAIN_LOCALE_H

/* Sets the C locale for this thread, and so for the processes that it starts. It holds whatever a model sets for
 * the whole process; one that is loaded may change that of the thread, so that it is set again. */
void plain_locale(void);

#endif
