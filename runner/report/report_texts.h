/* The files of runner/report/page, which the build embeds in the program. Each ends with 0. */
#ifndef CPODES_RUNNER_REPORT_TEXTS_H
#define CPODES_RUNNER_REPORT_TEXTS_H

extern const unsigned char text_page_html[];
extern const unsigned char text_motion_html[];
extern const unsigned char text_events_html[];
extern const unsigned char text_report_css[];
extern const unsigned char text_boxes_js[], text_figures_js[];
extern const unsigned char text_motion_js[];

#endif
