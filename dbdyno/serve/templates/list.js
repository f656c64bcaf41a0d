// The list: searches while one types, and asks for the headlines of lines that are on the screen.
const search = document.getElementById("search");
const count = document.getElementById("count");
const rows = Array.from(document.querySelectorAll("#results tr"));

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const fits = words.every((word) => row.dataset.words.includes(word));
    row.hidden = !fits;
    shown += fits ? 1 : 0;
  }
  const whole = `${rows.length.toLocaleString("en")} result${rows.length === 1 ? "" : "s"}`;
  count.textContent = shown === rows.length ? whole : `${shown.toLocaleString("en")} of ${whole}`;
  history.replaceState(null, "", words.length ? `?q=${encodeURIComponent(search.value)}` : "/");
}

// One at a time, in the order of the lines: each may have to be judged first.
const waiting = [];
let asking = false;

async function ask() {
  if (asking) return;
  asking = true;
  while (waiting.length) {
    const place = waiting.shift();
    place.textContent = "judging …";
    try {
      const answer = await fetch(place.dataset.headline);
      if (answer.ok) place.innerHTML = await answer.text(); // escaped by the server
    } catch { /* the server has ended; the list stays as it is */ }
  }
  asking = false;
}

const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    waiting.push(target.querySelector("[data-headline]"));
  }
  ask();
}, { rootMargin: "200px" });
document.querySelectorAll("[data-headline]").forEach((place) => seen.observe(place.closest("td")));

// A slash goes to the search, as in many lists; Escape empties it.
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== search) {
    event.preventDefault();
    search.focus();
  } else if (event.key === "Escape" && document.activeElement === search) {
    search.value = "";
    filter();
  }
});

if (!new URLSearchParams(location.search).get("q")) {
  search.addEventListener("input", filter); // a page that was searched has only what was found
  search.form.addEventListener("submit", (event) => event.preventDefault());
}
