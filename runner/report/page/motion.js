/* The animated mechanism: frames of integers, drawn on a canvas with cubic interpolation in between. */
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const source = byId("motion-data");
  const canvas = byId("canvas");
  const context = canvas && canvas.getContext("2d");
  if (!source || !context) return;

  /* ---- the data ---- */

  const data = JSON.parse(source.textContent);
  const dimension = data.dimension;
  const kinds = data.kinds;
  const times = data.times;
  const numPoints = kinds.length;
  const numFrames = times.length;
  const end = times[numFrames - 1];
  const begin = times[0];
  const GROUND = 0, JOINT = 1, MASS = 2, PLAIN = 3; /* points */
  const BAR = 0, GUIDE = 1, SPRING = 2; /* segments */

  /* x, y, z of each point, frame by frame. A frame holds the differences from the frame before. */
  const frames = (() => {
    const values = new Float32Array(3 * numFrames * numPoints);
    const sum = new Int32Array(dimension * numPoints);
    data.frames.forEach((frame, f) => {
      for (let i = 0; i < frame.length; i++) {
        const axis = i % dimension, point = (i - axis) / dimension;
        sum[i] += frame[i];
        values[3 * (f * numPoints + point) + axis] = sum[i] * data.unit + data.origin[axis];
      }
    });
    return values;
  })();

  /* The forces of contacts in each frame, by the contact's number: place and force */
  const forces = data.forces && data.forces.frames.map((numbers) => {
    const found = new Map(), width = 1 + 2 * dimension;
    for (let i = 0; i < numbers.length; i += width) {
      const at = (from, axis) => (axis < dimension ? numbers[i + from + axis] : 0);
      found.set(numbers[i], {
        place: [0, 1, 2].map((axis) => at(1, axis) * data.unit + data.origin[axis]),
        force: [0, 1, 2].map((axis) => at(1 + dimension, axis) * data.forces.unit),
      });
    }
    return found;
  });

  const coordinate = (frame, point, axis) => frames[3 * (frame * numPoints + point) + axis];

  const box = (() => {
    const least = data.origin, most = data.most;
    return { centre: least.map((x, a) => (x + most[a]) / 2), size: most.map((x, a) => x - least[a]) };
  })();
  const extent = Math.max(...box.size, 1e-300);

  const [grounds, joints, masses] = [GROUND, JOINT, MASS].map((kind) => [...kinds.keys()].filter((p) => kinds[p] === kind));
  const [links, guides, springs] = [BAR, GUIDE, SPRING].map((look) => data.segments.filter((segment) => segment[2] === look));

  /* The points whose paths are shown: the last one, and others at even intervals */
  const MOST_TRAILS = 5;
  const moving = (() => {
    const far = (p) => [0, 1, 2].some((a) => {
      let least = Infinity, most = -Infinity;
      for (let f = 0; f < numFrames; f++) {
        least = Math.min(least, coordinate(f, p, a));
        most = Math.max(most, coordinate(f, p, a));
      }
      return most - least > 0.01 * extent;
    });
    const found = [...kinds.keys()].filter((p) => kinds[p] !== GROUND && kinds[p] !== PLAIN && far(p));
    const count = Math.min(MOST_TRAILS, found.length);
    return [...Array(count).keys()].map((i) => found[Math.floor(((i + 1) * found.length) / count) - 1]);
  })();

  /* ---- the view: x to the right, y up; mechanisms in space are turned ---- */

  const START = { azimuth: -0.6, elevation: 0.35 };
  const view = { azimuth: 0, elevation: 0, width: 0, height: 0, scale: 1, zoom: 1, right: 0, up: 0 };
  const MARGIN = 36;

  function resetView() {
    Object.assign(view, { zoom: 1, right: 0, up: 0 }, dimension === 3 ? START : {});
  }

  /* The height that the mechanism needs at this width, within limits */
  function height() {
    const wanted = dimension === 3 ? 0.75 : Math.min(1, box.size[1] / Math.max(box.size[0], 1e-3 * extent));
    return Math.max(220, Math.min(wanted * (canvas.clientWidth - 2 * MARGIN) + 2 * MARGIN + 20, 0.65 * window.innerHeight, 520));
  }

  function fit() {
    const ratio = window.devicePixelRatio || 1;
    canvas.style.height = Math.round(height()) + "px";
    view.width = canvas.clientWidth;
    view.height = canvas.clientHeight;
    canvas.width = Math.max(1, Math.round(view.width * ratio));
    canvas.height = Math.max(1, Math.round(view.height * ratio));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const across = Math.max(1, view.width - 2 * MARGIN), up = Math.max(1, view.height - 2 * MARGIN);
    if (dimension === 2)
      view.scale = Math.min(across / Math.max(box.size[0], 1e-3 * extent), up / Math.max(box.size[1], 1e-3 * extent));
    else view.scale = Math.min(across / reach.right, up / reach.up) / 2;
    view.scale *= view.zoom;
  }

  /* The largest distance of points from the centre on the screen, for views from all sides at the initial elevation */
  const reach = (() => {
    let right = 0, up = 0;
    const ce = Math.cos(START.elevation), se = Math.sin(START.elevation);
    for (let f = 0; f < numFrames; f++)
      for (let p = 0; p < numPoints; p++) {
        const [x, y, z] = box.centre.map((c, a) => coordinate(f, p, a) - c);
        const radius = Math.hypot(x, z);
        right = Math.max(right, radius);
        up = Math.max(up, Math.abs(y) * ce + radius * se);
      }
    /* Shapes reach beyond the points that define them, up to the corners of a box. */
    const beyond = Math.max(0, ...data.shapes.map(([, o, ...ends]) => {
      const half = ends.map((p) => Math.hypot(...[0, 1, 2].map((a) => coordinate(0, p, a) - coordinate(0, o, a))));
      return Math.hypot(...half) - Math.max(...half);
    }));
    return { right: right + beyond, up: up + beyond };
  })();

  /* The components of a vector along the screen's axes */
  function turn(x, y, z) {
    const ca = Math.cos(view.azimuth), sa = Math.sin(view.azimuth);
    const ce = Math.cos(view.elevation), se = Math.sin(view.elevation);
    const depth = z * ca - x * sa;
    return [x * ca + z * sa, y * ce - depth * se];
  }

  function project(x, y, z) {
    const [right, up] = turn(x - box.centre[0], y - box.centre[1], z - box.centre[2]);
    return [view.width / 2 + view.right + view.scale * right, view.height / 2 - view.up - view.scale * up];
  }

  /* Projects a frame's points into places [2 numPoints]. For drawings with many points, only this must be fast. */
  const places = new Float64Array(2 * numPoints);
  function placeAll(frame) {
    const [from, [wa, wb, wc, wd]] = around(frame), all = 3 * numPoints;
    const [a, b, c, d] = from.map((f) => f * all);
    const [x0, y0] = project(0, 0, 0);
    const [xx, xy, xz] = [project(1, 0, 0), project(0, 1, 0), project(0, 0, 1)].map((v) => [v[0] - x0, v[1] - y0]);
    for (let p = 0; p < numPoints; p++) {
      const i = 3 * p, at = (k) => wa * frames[a + k] + wb * frames[b + k] + wc * frames[c + k] + wd * frames[d + k];
      const x = at(i), y = at(i + 1), z = at(i + 2);
      places[2 * p] = x0 + xx[0] * x + xy[0] * y + xz[0] * z;
      places[2 * p + 1] = y0 + xx[1] * x + xy[1] * y + xz[1] * z;
    }
  }

  /* ---- drawing ---- */

  let colours = {};
  function readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["paper", "ink", "faint-ink", "body", "mass", "joint", "ground", "trail", "force"])
      colours[name] = style.getPropertyValue("--" + name).trim();
  }

  /* The frame at t: an integer part and a fraction */
  function frameAt(t) {
    let low = 0, high = numFrames - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (times[middle] <= t) low = middle;
      else high = middle;
    }
    if (numFrames === 1) return 0;
    const span = times[high] - times[low];
    return low + (span > 0 ? Math.min(1, Math.max(0, (t - times[low]) / span)) : 0);
  }

  /* Four frames and their weights in the cubic with the slopes of the chords around it (Catmull and Rom): where a point
     moves on a circle, straight pieces would be seen. Beyond the ends the motion goes on straight. */
  function around(frame) {
    const last = numFrames - 1, low = Math.min(Math.floor(frame), last), s = frame - low;
    const high = Math.min(low + 1, last), before = Math.max(low - 1, 0), after = Math.min(low + 2, last);
    const weights = [s * (2 * s - 1 - s * s), 2 - 5 * s * s + 3 * s * s * s, s * (1 + 4 * s - 3 * s * s), s * s * (s - 1)]
      .map((weight) => weight / 2);
    if (before === low) {
      weights[1] += 2 * weights[0];
      weights[2] -= weights[0];
      weights[0] = 0;
    }
    if (after === high) {
      weights[2] += 2 * weights[3];
      weights[1] -= weights[3];
      weights[3] = 0;
    }
    return [[before, low, high, after], weights];
  }

  function placeOf(frame, point) {
    const [from, weights] = around(frame);
    const at = (axis) => from.reduce((sum, f, k) => sum + weights[k] * coordinate(f, point, axis), 0);
    return project(at(0), at(1), at(2));
  }

  function line(from, to) {
    context.moveTo(from[0], from[1]);
    context.lineTo(to[0], to[1]);
  }

  const PIECES = 12; /* of a path, each paler than the next */
  function drawTrails(frame) {
    const length = Math.max(2, numFrames / 5), first = Math.max(0, frame - length);
    if (frame - first < 0.5) return;
    context.strokeStyle = colours.trail;
    context.lineWidth = 2;
    for (let piece = 0; piece < PIECES; piece++) {
      const from = first + ((frame - first) * piece) / PIECES, to = first + ((frame - first) * (piece + 1)) / PIECES;
      context.globalAlpha = (0.75 * (piece + 1)) / PIECES;
      context.beginPath();
      for (const point of moving) {
        const pieces = Math.ceil(3 * (to - from));
        context.moveTo(...placeOf(from, point));
        for (let k = 1; k <= pieces; k++) context.lineTo(...placeOf(from + ((to - from) * k) / pieces, point));
      }
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  function drawSegments(list, colour, width, dashes) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.lineCap = "round";
    context.setLineDash(dashes);
    context.beginPath();
    for (const [a, b] of list) {
      context.moveTo(places[2 * a], places[2 * a + 1]);
      context.lineTo(places[2 * b], places[2 * b + 1]);
    }
    context.stroke();
    context.setLineDash([]);
  }

  /* Zigzags, whose width does not change with their length */
  function drawSprings(width) {
    context.strokeStyle = colours.body;
    context.lineWidth = 1.5;
    context.beginPath();
    for (const [a, b] of springs) {
      const [x, y] = [places[2 * a], places[2 * a + 1]], along = [places[2 * b] - x, places[2 * b + 1] - y];
      const across = width / Math.max(Math.hypot(...along), 1e-9);
      data.coil.forEach(([s, r], i) => {
        const at = [x + s * along[0] - r * across * along[1], y + s * along[1] + r * across * along[0]];
        if (i) context.lineTo(...at);
        else context.moveTo(...at);
      });
    }
    context.stroke();
  }

  /* Andrew's monotone chain: the corners of the convex polygon around the places */
  function hull(places) {
    const sorted = [...places].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const edge = (list) => list.reduce((corners, x) => {
      while (corners.length > 1) {
        const [a, b] = corners.slice(-2);
        if ((b[0] - a[0]) * (x[1] - a[1]) > (b[1] - a[1]) * (x[0] - a[0])) break;
        corners.pop();
      }
      return [...corners, x];
    }, []);
    return [...edge(sorted).slice(0, -1), ...edge(sorted.reverse()).slice(0, -1)];
  }

  function drawShapes() {
    context.fillStyle = context.strokeStyle = colours.mass;
    context.lineWidth = 1;
    for (const [kind, o, ...ends] of data.shapes) {
      const at = (p) => [places[2 * p], places[2 * p + 1]], centre = at(o);
      const half = ends.map((p) => at(p).map((x, k) => x - centre[k]));
      const lines = data.outlines[kind].map((c) => c && centre.map((x, k) => x + c[0] * half[0][k] + c[1] * half[1][k] + c[2] * half[2][k]));
      const outer = hull(lines.filter((place) => place));
      context.globalAlpha = 0.2;
      context.beginPath();
      for (const corner of outer) context.lineTo(...corner);
      context.fill();
      context.globalAlpha = 0.7;
      context.beginPath();
      let drawn = false;
      for (const place of lines) {
        if (!place) drawn = false;
        else if (drawn) context.lineTo(...place);
        else {
          context.moveTo(...place);
          drawn = true;
        }
      }
      context.stroke();
      context.globalAlpha = 1;
    }
  }

  function drawGround(size) {
    context.fillStyle = context.strokeStyle = colours.ground;
    context.lineWidth = 1.5;
    context.beginPath();
    for (const p of grounds) context.rect(places[2 * p] - size, places[2 * p + 1] - size, 2 * size, 2 * size);
    context.fill();
    context.beginPath();
    for (const p of grounds) {
      const x = places[2 * p], y = places[2 * p + 1];
      for (let i = -1; i <= 1; i++) line([x + (i + 0.5) * size, y + size], [x + (i - 0.5) * size, y + 2.2 * size]);
      line([x - 2 * size, y + size], [x + 2 * size, y + size]);
    }
    context.stroke();
  }

  /* Very small points are squares, which are drawn much faster */
  function drawCircles(list, size, fill, edge) {
    context.fillStyle = fill;
    context.strokeStyle = edge;
    context.lineWidth = Math.min(2, size / 2);
    context.beginPath();
    for (const p of list) {
      const x = places[2 * p], y = places[2 * p + 1];
      if (size < 2) context.rect(x - size, y - size, 2 * size, 2 * size);
      else {
        context.moveTo(x + size, y);
        context.arc(x, y, size, 0, 2 * Math.PI);
      }
    }
    context.fill();
    if (edge && size >= 2) context.stroke();
  }

  function arrow(from, to) {
    const along = [to[0] - from[0], to[1] - from[1]], length = Math.hypot(...along);
    if (length < 1) return;
    const head = Math.min(10, 0.6 * length), [x, y] = along.map((a) => (a * head) / length);
    context.beginPath();
    line(from, [to[0] - 0.8 * x, to[1] - 0.8 * y]);
    context.stroke();
    context.beginPath();
    context.moveTo(...to);
    context.lineTo(to[0] - x - 0.5 * y, to[1] - y + 0.5 * x);
    context.lineTo(to[0] - x + 0.5 * y, to[1] - y - 0.5 * x);
    context.fill();
  }

  /* Forces jump where contacts close and open, so they are interpolated only if a contact is loaded in both frames. */
  const USUAL_FORCE = 0.2, MOST_FORCE = 3; /* lengths: of the usual force, relative to the extent, and the factor beyond which arrows are cut */
  function drawForces(frame) {
    const low = Math.min(Math.floor(frame), numFrames - 1), high = Math.min(low + 1, numFrames - 1), s = frame - low;
    const scale = (USUAL_FORCE * extent) / data.forces.usual;
    context.fillStyle = context.strokeStyle = colours.force;
    context.lineWidth = 2.5;
    context.lineCap = "butt";
    for (const [contact, from] of forces[low]) {
      const to = forces[high].get(contact) || from;
      const [place, force] = ["place", "force"].map((what) => from[what].map((x, a) => x + s * (to[what][a] - x)));
      const factor = scale * Math.min(1, (MOST_FORCE * data.forces.usual) / Math.hypot(...force));
      arrow(project(...place), project(...place.map((x, a) => x + factor * force[a])));
    }
  }

  const nice = (x) => {
    const power = Math.pow(10, Math.floor(Math.log10(x)));
    return [5, 2, 1].map((k) => k * power).find((y) => y <= x) || power;
  };

  const short = (x) => String(Number(x.toPrecision(3)));

  function drawScale() {
    const length = nice((0.3 * view.width) / view.scale), x = 14, y = view.height - 14;
    context.strokeStyle = context.fillStyle = colours["faint-ink"];
    context.lineWidth = 1.5;
    context.font = "14px system-ui, sans-serif";
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    context.beginPath();
    line([x, y], [x + length * view.scale, y]);
    line([x, y - 4], [x, y + 4]);
    line([x + length * view.scale, y - 4], [x + length * view.scale, y + 4]);
    context.stroke();
    context.fillText(short(length) + data.lengths, x + 4, y - 6);
  }

  /* The scale of forces, above that of lengths */
  function drawForceScale() {
    const x = 14, y = view.height - 40;
    const force = nice(data.forces.usual), shown = (USUAL_FORCE * extent * force * view.scale) / data.forces.usual;
    context.fillStyle = colours["faint-ink"];
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    context.fillText(short(force) + data.forces.name, x + 4, y - 8);
    context.fillStyle = context.strokeStyle = colours.force;
    context.lineWidth = 2.5;
    arrow([x, y], [x + shown, y]);
  }

  function drawAxes() {
    const length = 26, x = view.width - 46, y = view.height - 42;
    const [first, second, third] = data.axes;
    const axes = [[first, 1, 0, 0], [second, 0, 1, 0], [third, 0, 0, 1]].slice(0, dimension);
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const [name, ...axis] of axes) {
      const [right, up] = turn(...axis);
      if (Math.hypot(right, up) < 0.1) continue; /* it points at the viewer */
      context.beginPath();
      line([x, y], [x + length * right, y - length * up]);
      context.stroke();
      context.fillText(name, x + (length + 10) * right, y - (length + 10) * up);
    }
  }

  function draw() {
    const frame = frameAt(player.time);
    const size = Math.max(1.5, Math.min(6, (0.1 * view.scale * extent) / Math.sqrt(numPoints)));
    placeAll(frame);
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, view.width, view.height);
    drawTrails(frame);
    drawShapes();
    drawSegments(guides, colours.ground, 2, [6, 5]);
    drawSprings(Math.max(3, Math.min(8, 0.02 * view.scale * extent)));
    drawSegments(links, colours.body, Math.min(4, size), []);
    drawGround(Math.max(3, size - 1));
    drawCircles(joints, Math.max(1.2, size - 1.5), colours.joint, colours.body);
    drawCircles(masses, size, colours.mass, null);
    if (forces) drawForces(frame);
    drawScale();
    drawAxes();
    if (forces) drawForceScale();
  }

  /* ---- time ---- */

  const slider = byId("time"), button = byId("play"), clock = byId("clock"), speed = byId("speed"), status = byId("status");
  const reduced = matchMedia("(prefers-reduced-motion: reduce)");
  const player = { time: begin, playing: false, last: 0, spoken: 0, wanted: false };
  const digits = Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(Math.max(end - begin, 1e-300)))));
  const written = (t) => t.toFixed(digits) + data.clock;

  function showTime(spoken) {
    slider.value = String(Math.round((1000 * (player.time - begin)) / (end - begin || 1)));
    clock.textContent = "t = " + written(player.time);
    /* during the animation, screen readers are notified at most once a second */
    document.dispatchEvent(new CustomEvent("cursor", { detail: player.time }));
    if (spoken || performance.now() - player.spoken > 1000) {
      slider.setAttribute("aria-valuetext", written(player.time) + " of " + written(end));
      player.spoken = performance.now();
    }
  }

  /* Draws once, in the next animation frame */
  function redraw() {
    if (player.wanted) return;
    player.wanted = true;
    requestAnimationFrame(frameStep);
  }

  function frameStep(now) {
    player.wanted = false;
    if (player.playing) {
      player.time += Number(speed.value) * Math.min(0.1, Math.max(0, (now - player.last) / 1000));
      player.last = now;
      if (player.time >= end) {
        player.time = end;
        pause();
      } else redraw();
    }
    draw();
    showTime(!player.playing);
  }

  function play() {
    if (player.time >= end) player.time = begin;
    player.playing = true;
    player.last = performance.now();
    button.textContent = "Pause";
    status.textContent = "";
    redraw();
  }

  function pause() {
    player.playing = false;
    button.textContent = "Play";
    status.textContent = player.time >= end ? "The end, " + written(end) : "Paused at " + written(player.time);
  }

  function toggle() {
    if (player.playing) pause();
    else play();
    redraw();
  }

  function goTo(t) {
    if (player.playing) pause();
    player.time = Math.min(end, Math.max(begin, t));
    showTime(true);
    redraw();
  }

  /* The speed at which it lasts about ten seconds, unless real time is close to that */
  function offerSpeeds() {
    const usual = (end - begin) / 10;
    const base = usual > 0.3 && usual < 3 ? 1 : nice(usual || 1);
    const offered = [...new Set([0.1, 0.2, 0.5, 1, 2, 5].map((k) => Number((k * base).toPrecision(3))).concat(1))];
    for (const factor of offered.sort((a, b) => a - b)) {
      const name = factor === 1 ? "real time" : factor > 1 ? short(factor) + " times faster" : short(1 / factor) + " times slower";
      speed.add(new Option(name, String(factor), factor === base, factor === base));
    }
  }

  /* ---- controls and keys ---- */

  const TURN = 0.15;
  function turnBy(azimuth, elevation) {
    view.azimuth += azimuth;
    view.elevation = Math.min(Math.PI / 2, Math.max(-Math.PI / 2, view.elevation + elevation));
    redraw();
  }

  const turns = {
    left: () => turnBy(-TURN, 0),
    right: () => turnBy(TURN, 0),
    up: () => turnBy(0, -TURN),
    down: () => turnBy(0, TURN),
    reset: () => zoomBy(0),
  };

  /* factor 0: back to the start. The centre of the view stays. */
  const MOST_ZOOM = 20;
  function zoomBy(factor) {
    const before = view.zoom;
    if (factor === 0) resetView();
    else {
      view.zoom = Math.min(MOST_ZOOM, Math.max(1, factor * before));
      view.right *= view.zoom / before;
      view.up *= view.zoom / before;
      if (view.zoom === 1) view.right = view.up = 0;
    }
    canvas.style.touchAction = view.zoom > 1 ? "none" : "";
    fit();
    redraw();
  }

  function moveBy(right, up) {
    if (view.zoom === 1) return;
    view.right += right;
    view.up += up;
    redraw();
  }

  const MOVE = 40;
  const zooms = { in: () => zoomBy(1.5), out: () => zoomBy(1 / 1.5), reset: () => zoomBy(0) };
  const zoomKeys = { "+": zooms.in, "=": zooms.in, "-": zooms.out, 0: zooms.reset };
  const moveKeys = {
    ArrowLeft: () => moveBy(MOVE, 0),
    ArrowRight: () => moveBy(-MOVE, 0),
    ArrowUp: () => moveBy(0, -MOVE),
    ArrowDown: () => moveBy(0, MOVE),
  };

  const STEP = (end - begin) / 100;
  const timeKeys = {
    ArrowLeft: () => goTo(player.time - STEP),
    ArrowRight: () => goTo(player.time + STEP),
    ArrowDown: () => goTo(player.time - STEP),
    ArrowUp: () => goTo(player.time + STEP),
    PageDown: () => goTo(player.time - 10 * STEP),
    PageUp: () => goTo(player.time + 10 * STEP),
    Home: () => goTo(begin),
    End: () => goTo(end),
    " ": toggle,
  };
  const viewKeys = { ArrowLeft: turns.left, ArrowRight: turns.right, ArrowUp: turns.up, ArrowDown: turns.down };

  function onKey(keys) {
    return (event) => {
      const known = event.shiftKey && event.key in moveKeys && event.target === canvas ? moveKeys : keys;
      if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in known)) return;
      event.preventDefault();
      known[event.key]();
    };
  }

  function onDrag() {
    let last = null;
    canvas.addEventListener("pointerdown", (event) => {
      last = event;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!last) return;
      const right = event.clientX - last.clientX, down = event.clientY - last.clientY;
      if (dimension === 3 && !event.shiftKey) turnBy(right * 0.01, down * 0.01);
      else moveBy(right, -down);
      last = event;
    });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => (last = null));
  }

  function connect() {
    button.addEventListener("click", toggle);
    slider.addEventListener("input", () => goTo(begin + ((end - begin) * Number(slider.value)) / 1000));
    slider.addEventListener("keydown", onKey({ " ": toggle }));
    canvas.addEventListener("keydown", onKey({ ...timeKeys, ...zoomKeys, ...(dimension === 3 ? viewKeys : {}) }));
    document.addEventListener("seek", (event) => goTo(event.detail));
    onDrag();
    for (const b of document.querySelectorAll("[data-zoom]")) b.addEventListener("click", zooms[b.dataset.zoom]);
    byId("zoom").hidden = false;
    if (dimension === 3) {
      for (const b of document.querySelectorAll("[data-turn]"))
        b.addEventListener("click", turns[b.dataset.turn]);
      byId("turn").hidden = false;
    }
    byId("controls").hidden = false;
  }

  /* Sizes and colours may change, also for printing, just before it */
  function follow() {
    const recolour = () => {
      readColours();
      draw();
    };
    new ResizeObserver(() => {
      fit();
      draw();
    }).observe(canvas);
    for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", recolour);
    reduced.addEventListener("change", () => reduced.matches && player.playing && toggle());
  }

  /* Starts when it is first visible, unless the user prefers reduced motion */
  function startWhenSeen() {
    if (numFrames < 2) return;
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      if (!reduced.matches && player.time === begin) play();
    }, { threshold: 0.4 });
    observer.observe(canvas);
  }

  resetView();
  readColours();
  offerSpeeds();
  connect();
  fit();
  draw();
  showTime(true);
  follow();
  startWhenSeen();
})();
