// Draws the charts when they come near the view, then all the others, and anew when
// the colour scheme or the width changes. Colours come from the style sheet, so that an arm has
// one colour everywhere.
"use strict";
(() => {
  const specs = JSON.parse(document.getElementById("specs").textContent);
  const frames = Array.from(document.querySelectorAll(".chart"));
  const drawn = new Map(); // frame -> {width, result}
  const axis_px = 48;
  const gap_px = 8;
  const errors_only = 1; // vega.Error

  function css(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function config() {
    const ink = css("--quiet");
    const arms = [];
    for (let place = 0; css(`--arm-${place}`); place += 1) arms.push(css(`--arm-${place}`));
    const font = getComputedStyle(document.body).fontFamily;
    return {
      background: null,
      font,
      padding: 0,
      range: { category: arms },
      view: { stroke: css("--line") },
      axis: {
        labelColor: ink, titleColor: ink, domain: false, tickColor: css("--line"), tickSize: 3,
        gridColor: css("--grid"), labelFontSize: 10.5, labelPadding: 3, labelOverlap: true,
      },
      axisYQuantitative: { minExtent: axis_px - 4, maxExtent: axis_px - 4 },
      axisXQuantitative: { grid: false },
      header: { labelColor: ink, labelFontSize: 10.5, labelFontWeight: "normal" },
      style: {
        checkpoint: { color: ink, fillOpacity: 0.16 },
        autovacuum: { color: ink, fillOpacity: 0.8 },
        base: { color: ink, strokeWidth: 1 },
      },
    };
  }

  async function draw(frame) {
    const width = frame.clientWidth;
    const before = drawn.get(frame);
    if (!width || (before && before.width === width)) return;
    if (before) before.result.then((result) => result.finalize(), () => {});
    const spec = structuredClone(specs[frame.dataset.chart]);
    const columns = spec.usermeta.columns;
    if (spec.spec) {
      const inner = (width - axis_px - 12 - gap_px * (columns - 1)) / columns;
      spec.spec.width = Math.max(24, Math.floor(inner));
    } else {
      spec.width = width;
      spec.autosize = { type: "fit-x", contains: "padding" };
    }
    spec.config = config();
    const result = vegaEmbed(frame, spec, {
      mode: "vega-lite", renderer: "canvas", logLevel: errors_only, tooltip: { theme: "custom" },
      actions: { export: true, source: false, compiled: false, editor: false },
      downloadFileName: frame.dataset.chart,
    });
    drawn.set(frame, { width, result });
    try {
      await result;
      frame.classList.add("drawn");
    } catch (problem) {
      console.error(`chart ${frame.dataset.chart}: ${problem}`);
      frame.textContent = `This chart could not be drawn: ${problem}`;
    }
  }

  function redraw() {
    for (const [frame, { result }] of drawn) {
      result.then((made) => made.finalize(), () => {});
      frame.classList.remove("drawn");
    }
    drawn.clear();
    all();
  }

  const contents = document.querySelector(".contents details");
  if (window.matchMedia("(max-width: 1079px)").matches) contents.open = false;

  const near = new IntersectionObserver((seen) => {
    for (const one of seen) if (one.isIntersecting) draw(one.target);
  }, { rootMargin: "600px" });
  frames.forEach((frame) => near.observe(frame));

  // One chart at a time, giving way to the reader in between, until print would have them all.
  async function all() {
    for (const frame of frames) {
      if (drawn.has(frame)) continue;
      await new Promise((resolve) => setTimeout(resolve));
      await draw(frame);
    }
    document.documentElement.dataset.charts = String(document.querySelectorAll(".drawn").length);
  }
  window.addEventListener("load", all);

  let timer = 0;
  let last_width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === last_width) return;
    last_width = window.innerWidth;
    clearTimeout(timer);
    timer = setTimeout(redraw, 200);
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
})();
