/* metric/whole.c: a sparse metric in the KKT matrix of the solver. */
#ifndef CPODES_METRIC_WHOLE_H
#define CPODES_METRIC_WHOLE_H

#include "cpodes/matrix/matrix.h"
#include "metric_matrix.h"

extern const CPMetricOps cpMetricWholeOps;
/* Does the level take it? One level, over all components. 1, 0, or CP_MEM_FAIL. */
int cpMetricIsWhole(const CPProjector P, const CPLevel *level);
/* Its matrix, values of the newest gather; NULL: another metric. */
const CPMat *cpMetricWhole(const CPMetric metric);

#endif
