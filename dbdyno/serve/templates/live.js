// The live page: takes what the server pushes, and draws the rates by second.
const place = (id) => document.getElementById(id);
const SVG = "http:" + "//www.w3.org/2000/svg"; // the name of the form, no address
const HEIGHT = 240;
const MARGIN = { left: 56, right: 10, top: 10, bottom: 24 };
let rates = JSON.parse(place("rates-now").textContent);

function element(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// 1, 2 or 5 times a power of ten, so that there are about `count` of them.
function step_of(whole, count) {
  const raw = whole / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5].find((times) => times * power >= raw) ?? 10);
}

function draw() {
  const frame = place("rates");
  if (!rates || !rates.lines.some((line) => line.points.length)) {
    place("rates-of").textContent = rates ? `${rates.step}: no second is over yet` : "No step has begun yet";
    place("rates-keys").replaceChildren();
    frame.replaceChildren();
    return;
  }
  const width = Math.max(280, frame.clientWidth);
  const every = rates.lines.flatMap((line) => line.points);
  const seconds = Math.max(rates.whole_s ?? 0, ...every.map(([x]) => x));
  const most = Math.max(1e-9, ...every.map(([, y]) => y));
  const grid = step_of(most, 4);
  const top = Math.ceil(most / grid) * grid;
  const x = (value) => MARGIN.left + (value / seconds) * (width - MARGIN.left - MARGIN.right);
  const y = (value) => HEIGHT - MARGIN.bottom - (value / top) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  const picture = element("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, "aria-hidden": "true" });
  for (let value = 0; value <= top + grid / 2; value += grid) {
    picture.append(element("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(value), y2: y(value) }));
    const words = value.toLocaleString("en", { maximumSignificantDigits: 3 });
    picture.append(element("text", { x: MARGIN.left - 6, y: y(value) + 4, "text-anchor": "end" }, words));
  }
  const each = step_of(seconds, width / 110);
  for (let value = 0; value <= seconds + each / 1000; value += each) {
    const anchor = x(value) > width - 30 ? "end" : "middle";
    picture.append(element("text", { x: x(value), y: HEIGHT - 6, "text-anchor": anchor }, `${+value.toPrecision(6)} s`));
  }
  if (rates.warmup_s) {
    picture.append(element("rect", { class: "warm-up", x: x(0), y: MARGIN.top, width: x(Math.min(rates.warmup_s, seconds)) - x(0), height: HEIGHT - MARGIN.top - MARGIN.bottom }));
  }
  for (const line of rates.lines) {
    const points = line.points.map(([at, rate]) => `${x(at).toFixed(1)},${y(rate).toFixed(1)}`).join(" ");
    picture.append(element("polyline", { class: `rate a${line.place}${line.now ? "" : " earlier"}`, points }));
    const last = line.points.at(-1);
    if (line.now && last) picture.append(element("circle", { class: `rate a${line.place}`, cx: x(last[0]), cy: y(last[1]), r: 3 }));
  }
  frame.replaceChildren(picture);
  say();
}

function say() {
  const warm_up = rates.warmup_s ? `; shaded: warm-up` : "";
  place("rates-of").textContent = `${rates.step}, ${rates.unit}${warm_up}`;
  place("rates-keys").replaceChildren(...rates.lines.map((line) => {
    const key = document.createElement("span");
    const mark = document.createElement("i");
    mark.className = `arm a${line.place}`;
    key.append(mark, `${line.arm} ${line.last}${line.now ? "" : ` (block ${line.block})`}`);
    return key;
  }));
  const told = rates.lines.map((line) => `${line.arm} ${line.last} in its last second${line.now ? "" : `, of block ${line.block}`}`);
  place("rates").setAttribute("aria-label", `${rates.step}, ${rates.unit}: ${told.join("; ")}`);
}

const source = new EventSource(place("rates").ownerDocument.location.pathname.replace(/^\/live\//, "/events/"));
source.addEventListener("rates", (event) => { rates = JSON.parse(event.data); draw(); });
source.addEventListener("pulse", (event) => { place("pulse").textContent = event.data; });
for (const name of ["state", "evidence"]) {
  source.addEventListener(name, (event) => { place(name).innerHTML = event.data; }); // escaped by the server
}
source.addEventListener("open", () => { place("lost").hidden = true; });
source.addEventListener("error", () => { place("lost").hidden = false; });
new ResizeObserver(draw).observe(place("rates"));
draw();
