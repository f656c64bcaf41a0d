// A flame graph is unpacked when its fold opens, into a frame of its own: it has its own script,
// style and names. Its script keeps zoom and search in the address, which such a frame has not.
// Its title is the fold's summary.
const flame_head = '<!doctype html><meta name="color-scheme" content="light dark">'
  + "<style>body { margin: 0; } body > svg { display: block; width: 100%; } #title { display: none; }</style>"
  + "<script>history.replaceState = () => {};<\/script>";

async function flame_svg(fold) {
  const bytes = Uint8Array.from(atob(fold.dataset.flame), (sign) => sign.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(unpacked).text();
}

async function show_flame(fold) {
  const place = fold.querySelector(".canvas");
  if (!fold.open || place.firstChild) return;
  const frame = document.createElement("iframe");
  frame.title = fold.querySelector("summary").textContent;
  place.append(frame);
  const text = await flame_svg(fold);
  const svg = text.slice(text.indexOf("<svg"));
  frame.style.height = `${/ height="(\d+)"/.exec(svg)[1]}px`;
  frame.srcdoc = flame_head + svg;
}

for (const fold of document.querySelectorAll("details.flame[data-flame]")) {
  fold.addEventListener("toggle", () => show_flame(fold));
  fold.querySelector("button").addEventListener("click", async () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([await flame_svg(fold)], { type: "image/svg+xml" }));
    link.download = `${fold.id}.svg`;
    link.click();
    URL.revokeObjectURL(link.href);
  });
}
