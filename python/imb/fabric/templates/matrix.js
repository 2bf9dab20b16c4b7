// The matrix of pairs: the page has every pair, the chart at most one cell per pixel. A browser that shrinks an image leaves
// out whole rows and columns; here the slowest endpoint of those that share a row of pixels stands for them.
"use strict";
window.ownChart = (() => {
  const NO_ANSWER = 99;  // weight of an endpoint that does not answer: its line stays empty
  const unpacked = new WeakMap();

  function valuesOf(figure) {
    if (unpacked.has(figure)) return unpacked.get(figure);
    const { bdata, count, half } = figure.pairs, bytes = Uint8Array.from(atob(bdata), (sign) => sign.charCodeAt(0));
    let values = new Float32Array(bytes.buffer);
    if (half) {  // below the diagonal, row by row
      const below = values;
      let at = 0;
      values = new Float32Array(count * count).fill(NaN);
      for (let row = 1; row < count; row++) {
        for (let column = 0; column < row; column++) values[row * count + column] = values[column * count + row] = below[at++];
      }
    }
    unpacked.set(figure, values);
    return values;
  }

  // Endpoints in range, those of a pixel together, the first one is the one to show.
  function bins([from, to], pixels, { count, weights }) {
    const first = Math.max(0, Math.floor(Math.min(from, to) + 0.5)), end = Math.min(count, Math.ceil(Math.max(from, to) + 0.5));
    const wide = Math.max(1, end - first), many = Math.max(1, Math.min(wide, Math.floor(pixels)));
    const groups = Array.from({ length: many }, (_, bin) => {
      const start = first + Math.floor(bin * wide / many), stop = first + Math.floor((bin + 1) * wide / many);
      const group = Array.from({ length: stop - start }, (_, at) => start + at);
      return group.sort((a, b) => weights[b] - weights[a]);
    });
    return { groups, start: first - 0.5 + wide / many / 2, step: wide / many };
  }

  // Cells to draw. `pairs`: of each cell the index of the pair that it shows, -1: none.
  function reduced(figure, rangeX, rangeY, pixels) {
    const values = valuesOf(figure), { count, strong, weights } = figure.pairs;
    const columns = bins(rangeX, pixels, figure.pairs), rows = bins(rangeY, pixels, figure.pairs);
    const pairs = rows.groups.map((group) => columns.groups.map((across) => {
      let shown = -1, slowest = -1;
      if (weights[group[0]] >= NO_ANSWER || weights[across[0]] >= NO_ANSWER) return -1;
      for (const row of group) {
        for (const column of across) {
          const at = row * count + column, value = values[at];
          if (Number.isNaN(value)) continue;
          if (shown < 0) shown = at;
          if (slowest < 0 || value > values[slowest]) slowest = at;
        }
      }
      return slowest >= 0 && values[slowest] > strong ? slowest : shown;  // no slow pair is lost
    }));
    const z = pairs.map((row) => row.map((at) => (at < 0 ? null : values[at])));
    return { pairs, rows, columns, trace: { z, x0: columns.start, dx: columns.step, y0: rows.start, dy: rows.step } };
  }

  // Endpoints that are named at an axis: each, or every second, fourth and so on, as many ports of switches are.
  function ticks([from, to], count, labels) {
    const first = Math.max(0, Math.ceil(Math.min(from, to))), last = Math.min(count - 1, Math.floor(Math.max(from, to)));
    let step = 1;
    while ((last - first + 1) / step > (count <= 64 ? 64 : 40)) step *= 2;
    const tickvals = [];
    for (let at = Math.ceil(first / step) * step; at <= last; at += step) tickvals.push(at);
    return { tickvals, ticktext: tickvals.map((at) => labels[at]) };
  }

  // What Plotly shows of a figure in these ranges on so many pixels.
  function view(figure, labels, rangeX, rangeY, pixels) {
    const { count } = figure.pairs;
    return { ...reduced(figure, rangeX, rangeY, pixels), x: ticks(rangeX, count, labels), y: ticks(rangeY, count, labels) };
  }

  // The text of a cell that the pointer is on.
  function text(figure, names, shown, [row, column]) {
    const { pairs, rows, columns } = shown, { count } = figure.pairs, { unit, bytes } = figure;
    const many = (rows.groups[row]?.length ?? 0) * (columns.groups[column]?.length ?? 0);
    if (!many) return null;
    const at = pairs[row][column], to = at < 0 ? columns.groups[column][0] : at % count;
    const from = at < 0 ? rows.groups[row][0] : Math.floor(at / count), value = valuesOf(figure)[at];
    if (from === to) return names[from];
    const rate = unit === "µs" && bytes >= 4096 ? `, ${(bytes / value).toPrecision(4)} MB/s` : "";
    const figures = at < 0 ? "no time" : `${value.toPrecision(4)} ${unit}${rate}`;
    return `${names[from]} – ${names[to]}: ${figures}${many > 1 ? `; 1 of ${many} pairs here, zoom in for the others` : ""}`;
  }

  // What fits into the pixels of a chart, again after each zoom and each change of its size.
  const cells = new WeakMap();
  function prepare(chart, figure, { labels }, [trace], { xaxis, yaxis }) {
    const pixels = chart.querySelector(".nsewdrag")?.getBoundingClientRect().width || chart.clientWidth / 2;
    const shown = view(figure, labels, xaxis.range, yaxis.range, pixels);
    cells.set(chart, { shown, key: [xaxis.range, yaxis.range, Math.floor(pixels)].join() });
    Object.assign(trace, shown.trace);
    Object.assign(xaxis, shown.x);
    Object.assign(yaxis, shown.y);
  }

  function adapt(chart, figure, columns) {
    const { key } = cells.get(chart), { xaxis, yaxis } = chart.layout, trace = {}, axes = { xaxis: { range: xaxis.range }, yaxis: { range: yaxis.range } };
    prepare(chart, figure, columns, [trace], axes);
    if (cells.get(chart).key === key) return;
    const { z, ...places } = trace, { x, y } = cells.get(chart).shown;
    Plotly.update(chart, { z: [z], ...places }, {
      "xaxis.tickvals": x.tickvals, "xaxis.ticktext": x.ticktext, "yaxis.tickvals": y.tickvals, "yaxis.ticktext": y.ticktext,
    }, [0]);
  }

  // The pair under the pointer with its figures.
  function listen(chart, figureNow, columns) {
    const key = chart.parentElement.querySelector(".key"), usual = key.textContent;
    chart.on("plotly_hover", ({ points: [{ pointNumber }] }) => {
      key.textContent = text(figureNow(), columns.names, cells.get(chart).shown, pointNumber) ?? usual;
    });
    chart.on("plotly_unhover", () => { key.textContent = usual; });
    chart.on("plotly_relayout", () => adapt(chart, figureNow(), columns));
  }

  return { prepare, adapt, listen };
})();
