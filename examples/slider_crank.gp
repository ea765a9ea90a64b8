# Plots the CSV of the example slider_crank:  gnuplot -e "csv='in.csv'; out='out'" slider_crank.gp
# writes out.svg and out.png.

set datafile separator comma
set style line 1 linecolor rgb '#1b6ca8' linewidth 2 pointtype 7 pointsize 0.35
set style line 2 linecolor rgb '#c8553d' linewidth 2 pointtype 7 pointsize 0.35
set style line 3 linecolor rgb '#4f7942' linewidth 2
set style line 9 linecolor rgb '#d8d8d8' linewidth 0.5
set grid linestyle 9
set border 3 linecolor rgb '#606060'
set tics nomirror
set key at graph 1.02, graph 1 left top Left reverse samplen 1.5
set lmargin 11
set rmargin 24
set bmargin 1
set xrange [0:*]

drawable(v) = v > 1e-17 ? v : 1e-17 # zero is shown at the lower end of the logarithmic axis

panels = "set multiplot layout 3,1 title 'Slider-crank: the motion, and its distance from the constraints'; \
  set format x ''; unset xlabel; unset logscale y; set format y '%g'; set yrange [*:*]; \
  set ylabel 'coordinate'; \
  plot csv using 't':'q' with lines ls 1 title 'crank angle q [rad]', \
       csv using 't':'x' with lines ls 2 title 'slider x [m]', \
       csv using 't':'p' with lines ls 3 title 'rod angle p [rad]'; \
  set ylabel 'velocity'; \
  plot csv using 't':'q_d' with lines ls 1 title 'dq/dt [rad/s]', \
       csv using 't':'x_d' with lines ls 2 title 'dx/dt [m/s]', \
       csv using 't':'p_d' with lines ls 3 title 'dp/dt [rad/s]'; \
  set bmargin 3.5; set format x '%g'; set xlabel 'time t [s]'; \
  set logscale y; set format y '10^{%T}'; set yrange [1e-17:*]; \
  set ylabel 'distance from the constraints'; \
  plot csv using 't':(drawable(column('position_violation'))) with points ls 1 title 'position [m]', \
       csv using 't':(drawable(column('velocity_violation'))) with points ls 2 title 'velocity [m/s]'; \
  unset multiplot"

set terminal svg size 900,840 font 'Helvetica,13' background '#ffffff'
set output out.'.svg'
eval panels
set terminal pngcairo size 1350,1260 font 'Sans,15' background '#ffffff' linewidth 1.3
set output out.'.png'
eval panels
unset output
