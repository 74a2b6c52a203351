"use strict";
(() => {
  const all = [...document.querySelectorAll(".finding")];
  const byId = (id) => document.getElementById(id);
  const theme = byId("theme");
  const root = document.documentElement;
  const isDark = () => root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const nameTheme = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  theme.hidden = false;
  nameTheme();
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
  });
  const form = byId("filters");
  if (!form) return;
  form.hidden = false;
  const chips = [...form.querySelectorAll(".chip")];
  const texts = new Map(all.map((one) => [one, one.querySelector("summary").textContent.toLowerCase()]));
  if (all.length > 10) all.forEach((one, number) => { one.open = number < 3; });
  const visible = () => all.filter((one) => !one.hidden);
  const apply = () => {
    const words = byId("query").value.toLowerCase().split(/\s+/).filter(Boolean);
    const codes = new Set(chips.filter((chip) => chip.getAttribute("aria-pressed") === "true").map((chip) => chip.dataset.code));
    const fix = byId("fix").value;
    for (const one of all) {
      one.hidden = !codes.has(one.dataset.code) || (fix !== "" && one.dataset.fix !== fix)
        || !words.every((word) => texts.get(one).includes(word));
    }
    byId("shown").textContent = `${visible().length} of ${all.length} shown`;
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  byId("query").addEventListener("input", apply);
  byId("fix").addEventListener("change", apply);
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
      apply();
    });
  }
  byId("open").addEventListener("click", () => visible().forEach((one) => { one.open = true; }));
  byId("close").addEventListener("click", () => visible().forEach((one) => { one.open = false; }));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches("input, select, textarea");
    if (event.key === "Escape" && typing) event.target.blur();
    if (typing) return;
    if (event.key === "/") {
      event.preventDefault();
      byId("query").focus();
    }
    if (event.key !== "j" && event.key !== "k") return;
    const shown = visible();
    if (!shown.length) return;
    const current = shown.indexOf(document.activeElement.closest(".finding"));
    const step = event.key === "j" ? 1 : -1;
    const next = current < 0 ? (step > 0 ? 0 : shown.length - 1) : Math.min(Math.max(current + step, 0), shown.length - 1);
    const summary = shown[next].querySelector("summary");
    summary.focus();
    summary.scrollIntoView({ block: "start" });
  });
  apply();
})();
