// Draws a chart when it comes near the view, and anew when its width or what the reader chose changes.
// Colours are variables of the style sheet: a chart follows the colour scheme, and paper, by itself.
const embedded = JSON.parse(document.getElementById("specs").textContent);
const specs = Object.fromEntries(Object.entries(embedded.charts).map(
  ([name, { shape, ...own }]) => [name, { ...embedded.shapes[shape], ...own }],
));
const looks = JSON.parse(document.getElementById("looks").textContent);
const frames = Array.from(document.querySelectorAll(".chart"));
const chosen = { hidden: new Set(), zooms: new Map(), scales: new Map() }; // arms, by step, by chart
const drawn = new Map(); // frame -> {width, result: promise of what vegaEmbed made}
const errors_only = 1; // vega.Error

const titles = JSON.parse(document.getElementById("titles").textContent);
for (const one of document.querySelectorAll("[data-title]")) one.title = titles[one.dataset.title];

function step_of(frame) {
  return frame.closest(".step-part")?.id;
}

// The chart's specification with what the reader chose: arms left out, zoom, kind of scale.
function prepared(frame) {
  const name = frame.dataset.chart;
  const whole = specs[name];
  const values = whole.data.values.filter((one) => !chosen.hidden.has(one.arm));
  const spec = { ...structuredClone({ ...whole, data: {} }), data: { values } };
  if (whole.usermeta.kind !== "seconds") return spec;
  const zoom = { name: "zoom", value: chosen.zooms.get(step_of(frame)) ?? null };
  if (whole.usermeta.stacked) return { ...spec, params: [zoom] };
  const scale = chosen.scales.get(name) ?? whole.usermeta.scale;
  spec.params = [zoom, { name: "logarithmic", value: scale === "log" }];
  for (const layer of spec.spec.layer) {
    if (layer.encoding.y?.field === "y") Object.assign(layer.encoding.y, whole.usermeta.scales[scale]);
  }
  spec.usermeta.shown_scale = scale;
  return spec;
}

// The same specification with panels that fill a width together.
function fitted(spec, width) {
  const { kind, columns } = spec.usermeta;
  if (kind === "throughput") return { ...spec, width };
  if (["ratios", "scaling", "curves"].includes(kind)) return { ...spec, width, autosize: { type: "fit-x", contains: "padding" } };
  const inner = (width - looks.axis_px - 12 - looks.gap_px * (columns - 1)) / columns;
  return { ...spec, spec: { ...spec.spec, width: Math.max(24, Math.floor(inner)) } };
}

async function draw(frame) {
  const width = frame.clientWidth;
  const before = drawn.get(frame);
  if (!width || before?.width === width) return;
  before?.result.then((made) => made.finalize(), () => {});
  const spec = { ...fitted(prepared(frame), width), config: looks.page };
  const result = vegaEmbed(frame.querySelector(".canvas"), spec, {
    mode: "vega-lite", renderer: "svg", logLevel: errors_only, actions: false,
    tooltip: (handler, event, item, value) => show_values(event, value),
  });
  drawn.set(frame, { width, result });
  try {
    await result;
    frame.classList.add("drawn");
    frame.style.minHeight = "";
  } catch (problem) {
    console.error(`chart ${frame.dataset.chart}: ${problem}`);
    frame.textContent = `This chart could not be drawn: ${problem}`;
  }
}

// Room for a chart that is not drawn yet, so that nothing moves when it is.
function reserve(frame) {
  const { data, usermeta, spec, height } = specs[frame.dataset.chart];
  const arms = new Set(data.values.map((one) => one.arm).filter((arm) => !chosen.hidden.has(arm)));
  const panels = () => arms.size * (spec.height + 14) + (usermeta.columns > 1 ? 18 : 0) + (usermeta.stacked ? 40 : 0) + 20;
  const bars = () => (height.step ? arms.size * height.step : height + 44);
  frame.style.minHeight = `${spec ? panels() : bars()}px`;
}

const near = new IntersectionObserver((seen) => {
  for (const one of seen) if (one.isIntersecting) draw(one.target);
}, { rootMargin: "600px" });

function watch(frame) {
  reserve(frame);
  near.unobserve(frame);
  near.observe(frame);
}

// Draws what is near anew; the others wait until they come near.
function redraw(some = frames) {
  for (const frame of some) {
    drawn.get(frame)?.result.then((made) => made.finalize(), () => {});
    drawn.delete(frame);
    frame.classList.remove("drawn");
    watch(frame);
  }
}

frames.forEach(watch);

let timer = 0;
let last_width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === last_width) return;
  last_width = window.innerWidth;
  clearTimeout(timer);
  timer = setTimeout(redraw, 200);
});

// Paper has everything: each chart, what is folded, and tables in their whole width. What is drawn by
// promises is drawn before the browser goes on, as nothing waits for a network.
const paper_px = 1030; // A4 across, within the margins of the style sheet
const paper_share = 0.95; // of a table's width on screen: letters are smaller on paper

window.addEventListener("beforeprint", () => {
  frames.forEach(draw);
  for (const table of document.querySelectorAll("main table")) {
    const fit = paper_px / (table.offsetWidth * paper_share);
    if (fit < 1) table.style.setProperty("--fit", String(fit));
  }
  for (const folded of document.querySelectorAll("details:not([open]):not(.flame)")) {
    folded.open = true;
    folded.dataset.opened = "";
  }
});
window.addEventListener("afterprint", () => {
  for (const folded of document.querySelectorAll("details[data-opened]")) {
    folded.open = false;
    delete folded.dataset.opened;
  }
});

const contents = document.querySelector(".contents details");
if (contents && window.matchMedia("(max-width: 1079px)").matches) contents.open = false;
