// Draws the page's figures as they come into view, marks one message size in all charts and the table of a benchmark, and
// switches layout and theme. Figures come complete from page_charts.py; what users named is only ever text here.
"use strict";
(() => {
  const page = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement, button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  // A page whose charts are of another kind defines this object: called before and after each drawing, and once for the events of a chart.
  const { ownChart } = window;
  let printed = false;

  const sectionOf = (chart) => chart.closest("[data-section]");
  const layoutOf = (section) => page.sections[section.dataset.section].layouts[section.dataset.chosen];
  const figureOf = (chart) => layoutOf(sectionOf(chart)).charts[chart.dataset.chart];
  const linesOf = (chart) => figureOf(chart).data.filter((trace) => trace.meta !== undefined);
  const drawnOf = (within) => all(".chart[data-drawn]", within);

  function template(chart) {
    const chosen = root.dataset.theme, system = dark.matches ? "dark" : "light";
    const theme = printed ? "light" : chosen === "auto" ? system : chosen;
    return page.templates[page.sections[sectionOf(chart).dataset.section].template][theme];
  }

  // Plotly is compiled when the first chart comes into view, not before the page can be read.
  function draw(chart) {
    if (!window.Plotly) {
      const script = document.createElement("script");
      script.textContent = document.getElementById("plotly").textContent;
      document.head.append(script);
    }
    const { data, layout } = structuredClone(figureOf(chart));  // Plotly writes into what it draws
    for (const trace of data) {
      for (const [name, column] of Object.entries(trace.columns ?? {})) trace[name] = page.columns[column];
    }
    ownChart?.prepare(chart, figureOf(chart), page.columns, data, layout);
    Plotly.react(chart, data, { ...layout, template: template(chart) }, page.config);
    label(chart);
    ownChart?.adapt(chart, figureOf(chart), page.columns);
    if (chart.dataset.drawn) return;
    chart.dataset.drawn = "1";
    if (ownChart) return ownChart.listen(chart, () => figureOf(chart), page.columns);
    chart.on("plotly_hover", (event) => mark(sectionOf(chart), event.points[0].pointIndex, chart));
    chart.on("plotly_unhover", () => mark(sectionOf(chart), null, chart));
  }

  const inView = new Set();
  const watcher = window.IntersectionObserver && new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      inView[isIntersecting ? "add" : "delete"](target);
      // One chart at a time, so that the page responds meanwhile; none that was scrolled past.
      setTimeout(() => { if (inView.has(target) && !target.dataset.drawn) draw(target); });
    }
  }, { rootMargin: "250px" });

  // Above a chart: the names of its lines, or their values where a message size is marked. `at` is its index, null for none.
  function label(chart, at = null) {
    const key = chart.parentElement.querySelector(".key"), lines = linesOf(chart);
    if (!key || !lines.length) return;
    const swatches = document.getElementById("swatches").content.children, several = lines.length > 1;
    key.replaceChildren(...lines.map((line) => {
      const item = document.createElement("span"), letter = several ? `${line.name.split(" ")[0]} ` : "";
      if (several) item.append(swatches[line.meta % swatches.length].cloneNode(true), " ");
      item.append(at !== null ? letter + line.text[at] : several ? line.name : "");
      return item;
    }));
    if (at === null) return;
    const length = document.createElement("b");
    length.append(layoutOf(sectionOf(chart)).lengths[at]);
    key.prepend(length);
  }

  let marking = false;  // hovering another chart is an event of it
  function mark(section, at, source = null) {
    if (marking) return;
    marking = true;
    section.toggleAttribute("data-at", at !== null);
    if (at !== null) section.dataset.at = at;
    for (const chart of drawnOf(section)) {
      const points = figureOf(chart).data.flatMap((trace, curveNumber) =>
        trace.meta !== undefined && at !== null && trace.y[at] !== null ? [{ curveNumber, pointNumber: at }] : []);
      if (chart !== source) points.length ? Plotly.Fx.hover(chart, points) : Plotly.Fx.unhover(chart);
      label(chart, at);
    }
    for (const row of all("tr[data-at]", section)) row.classList.toggle("at", row.dataset.at === String(at));
    marking = false;
  }

  function read(chart, event) {
    const section = sectionOf(chart), { lengths } = layoutOf(section);
    const at = Number(section.dataset.at ?? -1), last = lengths.length - 1;
    const to = { ArrowRight: Math.min(at + 1, last), ArrowLeft: Math.max(at - 1, 0), Home: 0, End: last, Escape: null }[event.key];
    if (to === undefined || !linesOf(chart).length) return;
    event.preventDefault();
    mark(section, to);
    const values = linesOf(chart).map((line) => `${line.name} ${line.text[to]}`);
    document.getElementById("live").textContent = to === null ? "" : `${lengths[to]}: ${values.join("; ")}`;
  }

  for (const section of all("[data-section]")) {
    const select = section.querySelector("[data-variant]");
    const choose = () => {
      section.dataset.chosen = select?.value ?? 0;
      for (const table of all("[data-table]", section)) table.parentElement.hidden = table.dataset.table !== section.dataset.chosen;
      drawnOf(section).forEach(draw);
      mark(section, null);
    };
    choose();
    select?.addEventListener("change", choose);
    for (const row of all("tr[data-at]", section)) {
      row.addEventListener("mouseenter", () => mark(section, Number(row.dataset.at)));
      row.addEventListener("mouseleave", () => mark(section, null));
    }
  }
  for (const chart of all(".chart")) {
    chart.addEventListener("keydown", (event) => read(chart, event));
    watcher ? watcher.observe(chart) : setTimeout(() => { if (!chart.dataset.drawn) draw(chart); });
  }

  // Theme: auto, light, dark; remembered where the browser allows it.
  function themed() {
    button.querySelector("span").textContent = root.dataset.theme;
    for (const chart of drawnOf(document)) Plotly.relayout(chart, { template: template(chart) });
  }
  button.addEventListener("click", () => {
    root.dataset.theme = { auto: "light", light: "dark", dark: "auto" }[root.dataset.theme];
    try { localStorage.setItem("imb-theme", root.dataset.theme); } catch { /* no storage: not remembered */ }
    themed();
  });
  dark.addEventListener("change", themed);
  themed();

  // Paper: everything open, all charts, in the width of A4.
  function print(on) {
    if (on === printed) return;
    printed = on;
    if (on) all(".on-paper").forEach((part) => { part.open = true; });
    for (const chart of on ? all(".chart") : drawnOf(document)) {
      draw(chart);
      const columns = chart.closest(".p3") ? 3 : chart.closest(".p2") ? 2 : 1;
      const size = { width: [680, 338, 226][columns - 1], height: chart.matches(".square") ? 660 : columns === 1 ? 300 : 230 };
      Plotly.relayout(chart, on ? { autosize: false, ...size } : { autosize: true, width: null, height: null });
    }
  }
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  const paper = matchMedia("print");
  paper.addEventListener("change", (event) => print(event.matches));
  if (paper.matches) print(true);  // converters to PDF that open the page for paper
  root.dataset.ready = String(Math.round(performance.now()));
})();
