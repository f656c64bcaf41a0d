// What a chart shows at the pointer: arm, block, second and value, and a line at the same second in
// all charts of the step.
const tip = document.getElementById("tip");
const four_digits = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

function element(tag, text = "", name = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (name) made.className = name;
  return made;
}

// Puts the words beside the pointer, within the window.
function place_tip(event, children) {
  tip.replaceChildren(...children);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const right = event.clientX + 14;
  const left = right + width < document.documentElement.clientWidth ? right : event.clientX - width - 14;
  const above = event.clientY - height - 10;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${above > 4 ? above : event.clientY + 18}px`;
}

// Vega's own hover, of charts that are not over time: names and values as Vega has them.
function show_values(event, value) {
  if (value === null || value === undefined || value === "") {
    tip.hidden = true;
    return;
  }
  place_tip(event, Object.entries(value).map(([name, text]) => element("div", `${name}: ${text}`)));
}

// The panels of a drawn chart in pixels of its frame, and its scale of seconds.
function geometry(view, frame) {
  const cells = view.scenegraph().root.items[0].items.find((mark) => mark.name === "cell");
  const svg = frame.querySelector("svg").getBoundingClientRect();
  const outer = frame.getBoundingClientRect();
  const [dx, dy] = view.origin();
  const panels = (cells?.items ?? []).map((cell) => ({
    arm: cell.datum.arm, block: cell.datum.block, width: cell.width, height: cell.height,
    left: cell.x + dx + svg.left - outer.left, top: cell.y + dy + svg.top - outer.top,
  }));
  return { panels, seconds: view.scale("x"), value: view.scale("y") };
}

function panel_at({ panels }, x, y) {
  const column = panels.filter((one) => x >= one.left - 2 && x <= one.left + one.width + 2);
  return column.find((one) => y >= one.top - 14 && y <= one.top + one.height + 4);
}

function nearest(times, second) {
  let low = 0;
  let high = times.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] > second) high = middle; else low = middle;
  }
  return Math.abs(times[low] - second) <= Math.abs(times[high] - second) ? low : high;
}

// Each visible arm's value at a second of a block; of several lines of an arm the nearest to `value`.
function values_at(name, panel, second, value) {
  const found = new Map();
  for (const one of specs[name].data.values) {
    if (one.what !== "line" || one.block !== panel.block || chosen.hidden.has(one.arm)) continue;
    const at = nearest(one.x, second);
    if (second > one.x[one.x.length - 1] + 1) continue;
    const far = Math.abs(one.y[at] - value);
    if (found.has(one.arm) && found.get(one.arm).far <= far) continue;
    found.set(one.arm, { ...one, y: one.y[at], x: one.x[at], low: one.low[at], high: one.high[at], far });
  }
  return found;
}

function running(name, panel, second) {
  const inside = (one) => one.x.some((start, place) => start <= second && second <= one.x2[place]);
  const here = (one) => one.arm === panel.arm && one.block === panel.block && one.x2.length > 0;
  return specs[name].data.values.filter((one) => here(one) && inside(one)).map((one) => one.what);
}

function value_row(one) {
  const row = element("div");
  row.append(element("i", "", `arm a${looks.arms.indexOf(one.arm)}`));
  row.append(`${one.arm}${one.label ? `, ${one.label}` : ""} `);
  row.append(element("b", four_digits.format(one.y)));
  if (one.low !== undefined) {
    row.append(` (${four_digits.format(one.low)}–${four_digits.format(one.high)})`);
  }
  return row;
}

// The layers of a panel at a second, the highest first, and the time they are for.
function layers_at(name, panel, second) {
  const one = specs[name].data.values.find((own) => own.arm === panel.arm && own.block === panel.block);
  if (!one) return { at: second, rows: [] };
  const at = nearest(one.x, second);
  const rows = specs[name].usermeta.stacked.map(([kind, place]) => {
    const row = element("div");
    const color = element("i", "", "arm");
    color.style.setProperty("--c", `var(--kind-${place})`);
    row.append(color, `${kind} `, element("b", four_digits.format(one[kind][at])));
    return row;
  });
  return { at: one.x[at], rows: rows.reverse() };
}

// The upright line at a second of a block, in every drawn chart of the step.
async function mark(step, block, second) {
  for (const frame of document.getElementById(step).querySelectorAll(".chart.seconds.drawn")) {
    const { view } = await drawn.get(frame).result;
    const { panels, seconds } = geometry(view, frame);
    const column = panels.filter((one) => one.block === block);
    const [low, high] = seconds.domain();
    const line = frame.querySelector(".at");
    line.hidden = second === null || second < low || second > high || column.length === 0;
    if (line.hidden) continue;
    const last = column[column.length - 1];
    line.style.left = `${column[0].left + seconds(second)}px`;
    line.style.top = `${column[0].top}px`;
    line.style.height = `${last.top + last.height - column[0].top}px`;
  }
}

async function hover(frame, event) {
  const found = drawn.get(frame);
  if (!found) return;
  const { view } = await found.result;
  const shape = geometry(view, frame);
  const outer = frame.getBoundingClientRect();
  const [x, y] = [event.clientX - outer.left, event.clientY - outer.top];
  const panel = panel_at(shape, x, y);
  if (!panel) {
    leave(frame);
    return;
  }
  const name = frame.dataset.chart;
  const second = Math.max(0, shape.seconds.invert(x - panel.left));
  const blocks = specs[name].usermeta.columns > 1 ? `${panel.block}, ` : "";
  if (specs[name].usermeta.stacked) {
    const { at, rows } = layers_at(name, panel, second);
    place_tip(event, [element("div", `${panel.arm}, ${blocks}second ${four_digits.format(at)}`, "at-second"), ...rows]);
    mark(step_of(frame), panel.block, at);
    return;
  }
  const values = values_at(name, panel, second, shape.value.invert(y - panel.top));
  const own = values.get(panel.arm) ?? [...values.values()][0];
  const at = own ? own.x : second;
  const heading = element("div", `${blocks}second ${four_digits.format(at)}`, "at-second");
  const spans = running(name, panel, at).map((what) => element("div", `${panel.arm}: ${what}`, "quiet"));
  place_tip(event, [heading, ...Array.from(values.values(), value_row), ...spans]);
  mark(step_of(frame), panel.block, at);
}

function leave(frame) {
  tip.hidden = true;
  mark(step_of(frame), "", null);
}

for (const frame of document.querySelectorAll(".chart.seconds")) {
  frame.addEventListener("pointermove", (event) => hover(frame, event));
  frame.addEventListener("pointerdown", (event) => hover(frame, event));
  frame.addEventListener("pointerleave", () => leave(frame));
}
window.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
