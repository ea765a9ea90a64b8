/* The files that `cpodes new` writes, as they are in this folder, and examples/mechanisms/wiper.yaml; the build embeds them in the
 * program. The name my_model stands for that of the new model. */
#ifndef CPODES_RUNNER_TEMPLATE_H
#define CPODES_RUNNER_TEMPLATE_H

extern const unsigned char template_model[];
extern const unsigned char template_cmake[];
extern const unsigned char template_readme[]; /* @CONFIGURE@, @CPODES@: commands */
extern const unsigned char template_mechanism[];

#endif
