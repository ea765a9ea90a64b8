/* The time cursor of the figures: it follows the animation and the pointer, and shows the values of the curves there. */
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg", MOST_ZOOM = 8;

  function element(parent, name, attributes) {
    const made = document.createElementNS(parent instanceof SVGElement || name === "line" ? SVG : "http://www.w3.org/1999/xhtml", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return parent.appendChild(made);
  }

  /* The row whose time is closest to t */
  function rowAt(times, t) {
    let low = 0, high = times.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (times[middle] <= t) low = middle;
      else high = middle;
    }
    return t - times[low] > times[high] - t ? high : low;
  }

  /* The newest change up to t, or the first one if there is none */
  function lastBefore(times, t) {
    let i = times.length - 1;
    while (i > 0 && times[i] > t) i--;
    return i;
  }

  const written = (x) => {
    if (x === null) return "none";
    const size = Math.abs(x);
    return size > 0 && (size < 1e-3 || size >= 1e5) ? x.toExponential(3) : String(Number(x.toPrecision(5)));
  };

  function addZoom(figure, box, svg, cursorX) {
    const group = element(figure.querySelector("figcaption"), "div", { role: "group", class: "zoom", "aria-label": "Zoom" });
    let zoom = 1;
    for (const [sign, factor, name] of [["−", 0.5, "Zoom out"], ["+", 2, "Zoom in"]]) {
      const button = element(group, "button", { type: "button", "aria-label": name });
      button.textContent = sign;
      button.addEventListener("click", () => {
        zoom = Math.min(MOST_ZOOM, Math.max(1, zoom * factor));
        svg.style.width = 100 * zoom + "%";
        svg.style.maxWidth = zoom > 1 ? "none" : "";
        box.scrollLeft = cursorX() * svg.clientWidth - box.clientWidth / 2; /* keeps the cursor in view */
        box.scrollTop = (svg.clientHeight - box.clientHeight) / 2;
      });
    }
  }

  /* For a figure over time: show(t) moves its cursor. */
  function follow(figure) {
    const svg = figure.querySelector("svg"), source = figure.querySelector("script");
    const data = source && JSON.parse(source.textContent);
    const width = svg.viewBox.baseVal.width;
    let x = width / 2;
    addZoom(figure, svg.parentElement, svg, () => x / width);
    if (!data || !(data.bars || data.t.length)) return null;
    const [left, right, bottom, top] = data.box, [from, to] = data.x;
    const scale = data.logarithmic ? (y) => Math.log10(Math.max(y, 1e-300)) : (y) => y;
    const [least, most] = data.y.map(scale);
    const cursor = element(svg, "line", { class: "cursor", y1: bottom, y2: top });
    const dots = (data.curves || []).map(({ colour }) => element(svg, "circle", { class: "dot", r: 4, fill: `var(--c${colour})` }));
    const readout = element(figure, "p", { class: "readout" });
    figure.insertBefore(readout, svg.parentElement.nextSibling);
    svg.addEventListener("pointermove", (event) => {
      const area = svg.getBoundingClientRect(), at = ((event.clientX - area.left) * width) / area.width;
      const t = from + ((at - left) * (to - from)) / (right - left);
      document.dispatchEvent(new CustomEvent("seek", { detail: Math.min(to, Math.max(from, t)) }));
    });
    if (data.bars) return (t) => {
      x = left + ((t - from) * (right - left)) / (to - from);
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
      const phases = data.bars.map(({ name, t: times, phase }) => `${name} ${data.words[phase[lastBefore(times, t)]]}`);
      readout.textContent = `t = ${written(t)}${data.unit && " " + data.unit}: ${phases.join(", ")}`;
    };
    return (t) => {
      const row = rowAt(data.t, t);
      x = left + ((data.t[row] - from) * (right - left)) / (to - from);
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
      data.curves.forEach(({ values }, i) => {
        const part = values[row] === null ? NaN : (scale(data.logarithmic ? Math.abs(values[row]) : values[row]) - least) / (most - least);
        dots[i].style.display = part >= -1e-9 && part <= 1 + 1e-9 ? "" : "none";
        dots[i].setAttribute("cx", x);
        dots[i].setAttribute("cy", bottom + (part >= 0 ? part : 0) * (top - bottom));
      });
      const values = data.curves.map(({ name, unit, values }) => `${name} ${written(values[row])}${unit && " " + unit}`);
      readout.textContent = `t = ${written(data.t[row])}${data.unit && " " + data.unit}: ${values.join(", ")}`;
    };
  }

  const shows = [...document.querySelectorAll("figure")].map(follow).filter((show) => show);
  const showAll = (event) => shows.forEach((show) => show(event.detail));
  document.addEventListener("cursor", showAll); /* from the animation */
  document.addEventListener("seek", showAll); /* from a pointer */
  showAll({ detail: 0 });
})();
