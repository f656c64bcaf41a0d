// A chart as the reader sees it, saved as a picture that stands by itself: title, white ground.
function standalone(frame) {
  const spec = fitted(prepared(frame), looks.picture_px);
  const title = structuredClone(spec.usermeta.title);
  const { scale, shown_scale } = spec.usermeta;
  if (shown_scale !== scale) title.subtitle.push(`The scale is ${shown_scale === "log" ? "logarithmic" : "linear"}.`);
  return { ...spec, title, config: looks.picture, autosize: undefined };
}

async function picture(frame, format) {
  const away = document.createElement("div");
  const result = await vegaEmbed(away, standalone(frame), {
    mode: "vega-lite", renderer: "svg", logLevel: errors_only, actions: false, tooltip: false,
  });
  const url = await result.view.toImageURL(format, looks.picture_scale);
  result.finalize();
  return url;
}

for (const button of document.querySelectorAll("button[data-save]")) {
  const frame = document.querySelector(`.chart[data-chart="${button.dataset.chart}"]`);
  button.addEventListener("click", async () => {
    const link = document.createElement("a");
    link.href = await picture(frame, button.dataset.save);
    link.download = `${button.dataset.chart}.${button.dataset.save}`;
    link.click();
  });
}
