// Draws charts when they come into view, links them, and keeps the theme. What users named is only ever text here.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const escape = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid", "dash"];
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "x", "cross", "star", "hexagon"];
  const ONE_TWO_FIVE = [-3, -2, -1, 0, 1, 2, 3].flatMap((n) => [1, 2, 5].map((d) => Number(`${d}e${n}`)));
  const MARKS = { faster: "▲", slower: "▼", same: "=", differs: "≈", "inconclusive": "?" };
  const alpha = (hex, a) => {
    const n = parseInt(hex.slice(1), 16);
    return `rgba(${n >> 16},${(n >> 8) & 255},${n & 255},${a})`;
  };
  const SIZES = [[2 ** 30, "G"], [2 ** 20, "M"], [2 ** 10, "K"]];
  const short = (n) => { const unit = SIZES.find(([size]) => n >= size && n % size === 0); return unit ? `${n / unit[0]}${unit[1]}` : String(n); };
  const bytes = (n) => n === null ? "no length" : `${short(n).replace(/[KMG]$/, " $&iB")}${n < 1024 || n % 1024 ? n === 1 ? " byte" : " bytes" : ""}`;
  const number = (v) => v === null || v === undefined ? "–" : v >= 1000 ? Math.round(v).toLocaleString("en") : Number(v.toPrecision(3)).toString();

  // Zero has no logarithm: it stands half a step before the first length.
  const place = (n) => n > 0 ? n : 0.5;
  const TICKS = [0, 16, 256, 4096, 65536, 2 ** 20, 2 ** 24, 2 ** 28, 2 ** 32];

  function layout(extra) {
    const ink = css("--ink"), muted = css("--muted"), grid = css("--grid");
    const axis = { gridcolor: grid, linecolor: css("--line"), zeroline: false, tickfont: { color: muted, size: 11 }, ticks: "", automargin: true, title: { font: { color: muted, size: 12 } } };
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: css("--card"), font: { family: getComputedStyle(document.body).fontFamily, color: ink, size: 12 },
      margin: { l: 48, r: 10, t: 8, b: 40 }, hovermode: "x unified", showlegend: false,
      hoverlabel: { bgcolor: css("--card"), bordercolor: css("--line"), font: { color: ink, size: 12 } },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { color: ink } },
      ...extra(axis),
    };
  }
  const config = { responsive: true, displaylogo: false, displayModeBar: false, doubleClick: "reset" };

  // Plotly is compiled when the first chart comes into view, not before the page can be read.
  function plotly() {
    if (window.Plotly || !document.getElementById("plotly")) return;
    const script = document.createElement("script");
    script.textContent = document.getElementById("plotly").textContent;
    document.head.append(script);
  }

  function panelTraces(variant, panel) {
    const x = variant.x.map(place), traces = [];
    panel.series.forEach((s) => {
      const color = css(`--s${s.side % 8}`);
      if (s.lo.some((v) => v !== null)) {
        const has = x.map((_, i) => i).filter((i) => s.lo[i] !== null && s.hi[i] !== null);
        traces.push({ x: [...has.map((i) => x[i]), ...has.map((i) => x[i]).reverse()], y: [...has.map((i) => s.hi[i]), ...has.map((i) => s.lo[i]).reverse()],
          fill: "toself", fillcolor: alpha(color, 0.18), line: { width: 0 }, mode: "lines", hoverinfo: "skip" });
      }
      traces.push({ x, y: s.y, mode: "lines+markers", line: { color: color, width: 2, dash: DASHES[s.side % 8] },
        marker: { color: color, size: 5, symbol: SYMBOLS[s.side % 8] }, connectgaps: false, meta: "series", hoverinfo: "none" });
    });
    return traces;
  }

  // Above a chart: names of its lines; while a length is marked, its values.
  function legend(holder, section, at) {
    const variant = section.variants[section.chosen], panel = variant.panels[Number(holder.dataset.panel)];
    const key = holder.parentElement.querySelector(".key");
    key.replaceChildren();
    const said = (text, kind) => { const span = document.createElement("span"); span.textContent = text; if (kind) span.className = kind; return span; };
    if (at !== undefined) key.append(said(bytes(variant.x[at]), "at"));
    panel.series.forEach((s) => {
      const item = said("");
      if (panel.series.length > 1) {
        item.innerHTML = `<svg width="26" height="10" aria-hidden="true"><line x1="0" y1="5" x2="26" y2="5" stroke="var(--s${s.side % 8})" stroke-width="2.5" stroke-dasharray="${["none", "7 4", "2 3", "7 3 2 3", "11 4", "11 3 2 3"][s.side % 6]}"/></svg> `;
        item.append(at === undefined ? s.name : s.letter || s.name, " ");
      } else if (at === undefined) item.append(panel.unit === "\u00d7" ? "1 is the speed of A" : "");
      if (at !== undefined) {
        item.append(said(`${number(s.y[at])} ${panel.unit}`, "value"));
        if (s.lo[at] !== null) item.append(said(` ${number(s.lo[at])}\u2013${number(s.hi[at])}`, "range"));
        if (s.verdict && s.verdict[at]) item.append(` ${MARKS[s.verdict[at]]} ${s.verdict[at]}`);
      }
      key.append(item);
    });
  }

  function drawPanel(holder, section, index) {
    plotly();
    const variant = section.variants[section.chosen], panel = variant.panels[index];
    const ticks = variant.x.length <= 6 ? variant.x : TICKS;
    const values = panel.series.flatMap((s) => s.y).filter((v) => v > 0), decades = Math.log10(Math.max(...values) / Math.min(...values));
    const first = place(variant.x[0]), last = place(variant.x[variant.x.length - 1]);
    const figure = layout((axis) => ({
      hovermode: "x", margin: { l: 52, r: 8, t: 6, b: 40 },
      xaxis: { ...axis, type: "log", range: [Math.log10(first) - 0.15, Math.log10(last) + 0.15], tickvals: ticks.map(place), ticktext: ticks.map(short), tickangle: 0,
        title: { ...axis.title, text: "message length, bytes" }, showspikes: true, spikemode: "across", spikethickness: 1, spikedash: "solid", spikecolor: css("--muted") },
      yaxis: { ...axis, type: panel.linear ? "linear" : "log", rangemode: panel.linear ? "tozero" : "normal", title: { ...axis.title, text: panel.speed ? "speedup over A" : escape(panel.unit), standoff: 4 },
        ...(panel.speed && decades > 0.7 && decades < 4 ? { tickvals: ONE_TWO_FIVE } : panel.linear || !(decades > 1.5) ? { nticks: 6 } : { dtick: 1 }), exponentformat: "none", tickformat: panel.speed ? ",.3~r" : ",~r" },
      shapes: panel.speed ? [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: 1, y1: 1, line: { color: css("--muted"), width: 1 } }] : [],
    }));
    const before = holder.dataset.drawn;
    holder.dataset.drawn = "1";
    legend(holder, section);
    Plotly.react(holder, panelTraces(variant, panel), figure, config);
    if (!before) {
      holder.on("plotly_hover", (event) => { if (!busy) mark(section, holder, event.points[0].pointIndex); });
      holder.on("plotly_unhover", () => { if (!busy) unmark(section, holder); });
    }
  }

  // Linked hovering: the same length in the other charts of the benchmark, and its row in the table.
  let busy = false;
  const holdersOf = (section) => [...section.element.querySelectorAll(".chart")];
  const drawnOf = (section) => holdersOf(section).filter((holder) => holder.dataset.drawn);
  const rowsOf = (section, at) => section.element.querySelectorAll(`[data-table="${section.chosen}"] tr[data-at="${at}"]`);
  function show(holder, at) {
    const points = [];
    (holder.data || []).forEach((trace, curve) => { if (trace.meta === "series" && trace.y[at] !== null) points.push({ curveNumber: curve, pointNumber: at }); });
    if (points.length) Plotly.Fx.hover(holder, points);
  }
  function mark(section, source, at) {
    busy = true;
    section.at = at;
    section.element.dataset.at = at;
    for (const holder of drawnOf(section)) {
      if (holder !== source) show(holder, at);
      legend(holder, section, at);
    }
    section.element.querySelectorAll("tr.at").forEach((row) => row.classList.remove("at"));
    rowsOf(section, at).forEach((row) => row.classList.add("at"));
    busy = false;
  }
  function unmark(section, source) {
    busy = true;
    delete section.element.dataset.at;
    section.element.querySelectorAll("tr.at").forEach((row) => row.classList.remove("at"));
    for (const holder of drawnOf(section)) {
      if (holder !== source) Plotly.Fx.unhover(holder);
      legend(holder, section);
    }
    busy = false;
  }
  function read(section, holder, key) {
    const variant = section.variants[section.chosen], last = variant.x.length - 1, at = section.at ?? -1;
    const next = { ArrowRight: Math.min(at + 1, last), ArrowLeft: Math.max(at - 1, 0), Home: 0, End: last }[key];
    if (key === "Escape") { unmark(section, null); return true; }
    if (next === undefined) return false;
    mark(section, null, next);
    const panel = variant.panels[Number(holder.dataset.panel)];
    document.getElementById("live").textContent = `${bytes(variant.x[next])}: ` + panel.series.map((s) =>
      `${panel.series.length > 1 ? s.name + " " : ""}${number(s.y[next])} ${panel.unit}${s.verdict && s.verdict[next] ? ", " + s.verdict[next] : ""}`).join("; ");
    return true;
  }

  const sections = data.sections.map((section, number) => ({ ...section, element: document.querySelector(`[data-section="${number}"]`), chosen: 0 }));
  const draw = (holder) => {
    if (holder.id === "history-chart") drawHistory();
    else drawPanel(holder, sections[Number(holder.closest("[data-section]").dataset.section)], Number(holder.dataset.panel));
  };
  // One chart at a time, so that the page stays alive meanwhile; what is nearest to the window's top comes first.
  const waiting = new Set();
  function pump() {
    const next = [...waiting].sort((a, b) => Math.abs(a.getBoundingClientRect().top) - Math.abs(b.getBoundingClientRect().top))[0];
    if (!next) return;
    waiting.delete(next);
    if (!next.dataset.drawn) draw(next);
    setTimeout(pump);
  }
  const watcher = new IntersectionObserver((entries) => {
    const idle = waiting.size === 0;
    for (const entry of entries) {
      if (entry.isIntersecting && !entry.target.dataset.drawn) waiting.add(entry.target);
      else waiting.delete(entry.target);  // scrolled past
    }
    if (idle && waiting.size) setTimeout(pump);
  }, { rootMargin: "250px" });
  document.querySelectorAll(".chart").forEach((holder) => watcher.observe(holder));

  for (const section of sections) {
    const tables = section.element.querySelectorAll("[data-table]");
    const shown = () => tables.forEach((table) => { table.parentElement.hidden = Number(table.dataset.table) !== section.chosen; });
    shown();
    const select = section.element.querySelector("[data-variant]");
    if (select) select.addEventListener("change", () => {
      section.chosen = Number(select.value);
      section.at = undefined;
      shown();
      holdersOf(section).forEach((holder) => draw(holder));
    });
    holdersOf(section).forEach((holder) => holder.addEventListener("keydown", (event) => {
      if (!holder.dataset.drawn) draw(holder);
      if (read(section, holder, event.key)) event.preventDefault();
    }));
    section.element.querySelectorAll("tr[data-at]").forEach((row) => {
      row.addEventListener("mouseenter", () => mark(section, null, Number(row.dataset.at)));
      row.addEventListener("mouseleave", () => unmark(section, null));
    });
  }

  function drawHistory() {
    plotly();
    const holder = document.getElementById("history-chart"), history = data.history;
    const curve = history.curves[Number(document.getElementById("history-curve").value)];
    const traces = [], shapes = [];
    curve.bands.forEach((band, b) => {
      history.sides.forEach((side, s) => {
        if (!band.values[s].some((v) => v !== null)) return;
        const color = css(`--s${(history.sides.length > 1 ? s : b) % 8}`);
        traces.push({ x: history.dated ? side.dates : side.dates.map((_, i) => i + 1), y: band.values[s], mode: history.dated ? "markers" : "lines+markers", name: escape(history.sides.length > 1 ? `${side.letter}, ${band.band}` : `${band.band} bytes`),
          marker: { color: color, symbol: SYMBOLS[b % 8], size: 6 }, line: { color: color, width: 1 }, text: side.names.map(escape), hovertemplate: "%{y:.3f}  %{text}<extra>%{fullData.name}</extra>" });
        for (const at of band.changes[s]) shapes.push({ type: "line", yref: "paper", y0: 0, y1: 1, x0: history.dated ? side.dates[at] : at + 0.5, x1: history.dated ? side.dates[at] : at + 0.5, line: { color: color, width: 1.5, dash: "dash" } });
      });
    });
    holder.dataset.drawn = "1";
    Plotly.react(holder, traces, layout((axis) => ({ showlegend: true, hovermode: "closest", margin: { l: 52, r: 10, t: 34, b: 44 }, shapes,
      xaxis: { ...axis, title: { ...axis.title, text: history.dated ? "" : "launch" }, ...(history.dated ? { type: "date" } : {}) },
      yaxis: { ...axis, title: { ...axis.title, text: "time over median" } } })), config);
  }
  document.getElementById("history-curve")?.addEventListener("change", drawHistory);

  // Theme: auto, light, dark; remembered where the browser lets us.
  const button = document.getElementById("theme"), dark = matchMedia("(prefers-color-scheme: dark)");
  const redraw = () => document.querySelectorAll(".chart[data-drawn]").forEach(draw);
  const themed = () => { button.querySelector("span").textContent = document.documentElement.dataset.theme || "auto"; };
  button.addEventListener("click", () => {
    const order = ["", "light", "dark"], now = document.documentElement.dataset.theme || "";
    const next = order[(order.indexOf(now) + 1) % 3];
    if (next) document.documentElement.dataset.theme = next; else delete document.documentElement.dataset.theme;
    try { next ? localStorage.setItem("imb-theme", next) : localStorage.removeItem("imb-theme"); } catch (e) { /* no storage: not remembered */ }
    themed();
    redraw();
  });
  dark.addEventListener("change", redraw);
  themed();

  // Printing: all charts, in ink colors, in the width of paper.
  const paper = matchMedia("print");
  function printing(on) {
    if (on) watcher.disconnect();
    if (on) document.querySelectorAll(".info, .runs, .changed").forEach((part) => { part.open = true; });
    document.querySelectorAll(".chart").forEach((holder) => {
      if (on || holder.dataset.drawn) draw(holder);
      const wide = holder.id === "history-chart" || holder.closest(".p1");
      if (on) Plotly.relayout(holder, { autosize: false, width: wide ? 680 : holder.closest(".p3") ? 226 : 338, height: wide ? 300 : 230 });
      else if (holder.dataset.drawn) Plotly.relayout(holder, { autosize: true, width: undefined, height: undefined });
    });
  }
  let printed = false;
  const turn = (on) => { if (on !== printed) { printed = on; printing(on); } };
  addEventListener("beforeprint", () => turn(true));
  addEventListener("afterprint", () => turn(false));
  paper.addEventListener("change", (event) => turn(event.matches));
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
