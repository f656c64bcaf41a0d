// A closer look at a part of the time, in all charts of a step together. Drag sideways, or turn the
// wheel with Ctrl; drag with Shift moves; a double click, or "all", shows the whole again. Buttons do
// the same for keyboards. Up and down always scroll the page.
const seconds_min = 5; // of the shortest stretch
const drag_px_min = 6; // less is a click

function whole_of(step) {
  const charts = document.getElementById(step).querySelectorAll(".chart.seconds");
  const lines = Array.from(charts).flatMap((frame) => specs[frame.dataset.chart].data.values);
  return Math.max(...lines.map((one) => Math.max(0, ...one.x)));
}

function within(step, [low, high]) {
  const whole = whole_of(step);
  const length = Math.min(whole, Math.max(seconds_min, high - low));
  const start = Math.min(Math.max(0, low), whole - length);
  return length >= whole ? null : [start, start + length];
}

function set_zoom(step, range) {
  const zoom = range && within(step, range);
  chosen.zooms.set(step, zoom);
  const part = document.getElementById(step);
  for (const frame of part.querySelectorAll(".chart.seconds")) {
    drawn.get(frame)?.result.then(({ view }) => view.signal("zoom", zoom).runAsync());
  }
  for (const said of part.querySelectorAll(".zoom output")) {
    said.textContent = zoom ? `seconds ${Math.round(zoom[0])} to ${Math.round(zoom[1])}` : "all seconds";
  }
}

function zoom_of(step) {
  return chosen.zooms.get(step) ?? [0, whole_of(step)];
}

// The part of the time that is `factor` as long, around a place given as a share of what is shown.
function scaled([low, high], factor, share = 0.5) {
  const middle = low + (high - low) * share;
  return [middle - (middle - low) * factor, middle + (high - middle) * factor];
}

function moved([low, high], share) {
  const by = (high - low) * share;
  return [low + by, high + by];
}

const actions = {
  in: (zoom) => scaled(zoom, 0.5),
  out: (zoom) => scaled(zoom, 2),
  left: (zoom) => moved(zoom, -0.5),
  right: (zoom) => moved(zoom, 0.5),
  all: () => null,
};

for (const button of document.querySelectorAll(".zoom button")) {
  const step = step_of(button);
  button.addEventListener("click", () => set_zoom(step, actions[button.dataset.zoom](zoom_of(step))));
}

// Follows one drag in a chart from where it began.
async function drag(frame, down) {
  const { view } = await drawn.get(frame).result;
  const outer = frame.getBoundingClientRect();
  const shape = geometry(view, frame);
  const panel = panel_at(shape, down.clientX - outer.left, down.clientY - outer.top);
  if (!panel) return;
  const step = step_of(frame);
  const chosen_part = frame.querySelector(".part-of-time");
  const inside = (x) => Math.min(panel.left + panel.width, Math.max(panel.left, x - outer.left));
  const second = (x) => shape.seconds.invert(inside(x) - panel.left);
  const from = zoom_of(step);
  const seconds_per_px = (from[1] - from[0]) / panel.width;

  function move(event) {
    if (down.shiftKey) {
      const by = (down.clientX - event.clientX) * seconds_per_px;
      set_zoom(step, [from[0] + by, from[1] + by]);
      return;
    }
    const ends = [inside(down.clientX), inside(event.clientX)].sort((a, b) => a - b);
    chosen_part.hidden = ends[1] - ends[0] < drag_px_min;
    Object.assign(chosen_part.style, {
      left: `${ends[0]}px`, width: `${ends[1] - ends[0]}px`, top: `${panel.top}px`, height: `${panel.height}px`,
    });
  }

  function end(event) {
    frame.removeEventListener("pointermove", move);
    frame.removeEventListener("pointerup", end);
    frame.removeEventListener("pointercancel", end);
    const far = Math.abs(event.clientX - down.clientX) >= drag_px_min;
    if (event.type === "pointerup" && far && !down.shiftKey) {
      set_zoom(step, [second(down.clientX), second(event.clientX)].sort((a, b) => a - b));
    }
    chosen_part.hidden = true;
  }

  frame.addEventListener("pointermove", move);
  frame.addEventListener("pointerup", end);
  frame.addEventListener("pointercancel", end);
}

async function wheel(frame, event) {
  const { view } = await drawn.get(frame).result;
  const outer = frame.getBoundingClientRect();
  const panel = panel_at(geometry(view, frame), event.clientX - outer.left, event.clientY - outer.top);
  if (!panel) return;
  const share = (event.clientX - outer.left - panel.left) / panel.width;
  const step = step_of(frame);
  set_zoom(step, scaled(zoom_of(step), event.deltaY < 0 ? 0.8 : 1.25, share));
}

for (const frame of document.querySelectorAll(".chart.seconds")) {
  frame.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !drawn.has(frame)) return;
    if (event.pointerType === "mouse") frame.setPointerCapture(event.pointerId);
    drag(frame, event);
  });
  frame.addEventListener("dblclick", () => set_zoom(step_of(frame), null));
  frame.addEventListener("wheel", (event) => {
    if (!(event.ctrlKey || event.metaKey) || !drawn.has(frame)) return;
    event.preventDefault();
    wheel(frame, event);
  }, { passive: false });
}

for (const button of document.querySelectorAll("button.scale")) {
  const frame = document.querySelector(`.chart[data-chart="${button.dataset.chart}"]`);
  button.addEventListener("click", () => {
    const name = frame.dataset.chart;
    const log = (chosen.scales.get(name) ?? specs[name].usermeta.scale) === "log";
    chosen.scales.set(name, log ? "linear" : "log");
    button.textContent = log ? "log" : "linear";
    button.setAttribute("aria-label", `${log ? "logarithmic" : "linear"} scale`);
    button.closest("figcaption").querySelector(".scale-name").textContent = log ? "" : ", log scale";
    redraw([frame]);
  });
}
