"use strict";
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const frames = [...document.querySelectorAll("iframe")];
  const tell = (frame) => frame.contentWindow.postMessage(isDark() ? "dark" : "light", "*");
  const name = () => { button.textContent = isDark() ? "Light" : "Dark"; frames.forEach(tell); };
  // a page within the page says when it can be told
  addEventListener("message", (event) => {
    frames.filter((frame) => frame.contentWindow === event.source).forEach(tell);
  });
  button.hidden = false;
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
  system.addEventListener("change", name);
  name();

  // rows by the column of a head, up and then down; what is missing stays last
  const letters = new Intl.Collator(undefined, { numeric: true });
  function sort(head) {
    const body = head.closest("table").tBodies[0];
    const at = head.cellIndex;
    const down = head.getAttribute("aria-sort") === "ascending";
    const entry = (row) => {
      const cell = row.cells[at];
      const text = "number" in cell.dataset ? cell.dataset.number : cell.textContent;
      if (text === "") return null;
      return "number" in cell.dataset ? Number(text.replace("inf", "Infinity")) : text;
    };
    const compare = (a, b) => (typeof a === "number" ? a - b : letters.compare(a, b));
    const rows = [...body.rows].map((row) => [entry(row), row]);
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      return down ? compare(b, a) : compare(a, b);
    });
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...rows.map(([, row]) => row));
  }
  for (const head of document.querySelectorAll("th")) {
    head.querySelector("button").addEventListener("click", () => sort(head));
  }
})();
