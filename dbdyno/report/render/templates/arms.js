// The buttons at the top show and hide arms in all charts and tables at once; one arm always stays.
function hide(arm, hidden) {
  if (hidden) chosen.hidden.add(arm); else chosen.hidden.delete(arm);
  const last = looks.arms.length - chosen.hidden.size === 1;
  for (const button of arm_buttons) {
    const shown = !chosen.hidden.has(button.dataset.arm);
    button.setAttribute("aria-pressed", String(shown));
    button.disabled = shown && last;
  }
  looks.arms.forEach((name, place) => {
    document.documentElement.classList.toggle(`without-${place}`, chosen.hidden.has(name));
  });
  document.querySelectorAll("main table").forEach(tidy);
  redraw();
}

function is_hidden(cell) {
  const place = /\bof-(\d+)\b/.exec(cell.className);
  return place !== null && chosen.hidden.has(looks.arms[Number(place[1])]);
}

// Headings that columns or rows share go with the last of them, and span what is left.
function tidy(table) {
  const columns = Array.from(table.tHead.rows[table.tHead.rows.length - 1].cells);
  let first = 0;
  for (const cell of table.querySelector("tr.groups")?.cells ?? []) {
    const size = Number(cell.dataset.columns);
    const shown = columns.slice(first, first + size).filter((one) => !is_hidden(one)).length;
    cell.hidden = shown === 0;
    cell.colSpan = Math.max(1, shown);
    first += size;
  }
  for (const body of table.tBodies) {
    body.hidden = Array.from(body.rows).filter((row) => row.className !== "group").every(is_hidden);
  }
}

const arm_buttons = Array.from(document.querySelectorAll(".arms button"));
for (const button of arm_buttons) {
  button.addEventListener("click", () => hide(button.dataset.arm, button.getAttribute("aria-pressed") === "true"));
}
