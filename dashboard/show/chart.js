// Draws a figure with the script of the Python package of Plotly, and draws the next one in its place:
// Streamlit takes each new figure for another chart, which loses the label at the pointer.

const charts = new WeakMap();
const decoder = new TextDecoder();
const PATIENCE = 200; // ms until a redraw is tried again that would break a drag
const DOUBLE = 300; // ms in which a second click makes a double click, as Plotly has it

export default function ({ data, parentElement, setTriggerValue }) {
  const chart = charts.get(parentElement) ?? begun(parentElement);
  chart.wanted = JSON.parse(decoder.decode(data));
  chart.report = (edges) => setTriggerValue("zoomed", edges);
  chart.reportBar = (number) => setTriggerValue("clicked", number);
  chart.plot.setAttribute("role", "figure");
  chart.plot.setAttribute("aria-label", chart.wanted.words);
  draw(chart);
  return () => {
    chart.resized.disconnect();
    charts.delete(parentElement);
    window.Plotly?.purge(chart.plot);
    chart.plot.remove();
  };
}

function begun(parentElement) {
  const plot = parentElement.appendChild(document.createElement("div"));
  plot.className = "lw-chart";
  const chart = { plot, drawn: null, wanted: null };
  chart.resized = new ResizeObserver(() => {
    if (chart.drawn && plot.clientWidth && plot.clientWidth !== plot._fullLayout?.width) {
      window.Plotly.Plots.resize(plot);
    }
  });
  chart.resized.observe(plot);
  charts.set(parentElement, chart);
  return chart;
}

async function draw(chart) {
  if (!window.Plotly) await import(window.plotlyAddress); // the index page says it
  const { plot, wanted } = chart;
  if (!plot.isConnected || wanted === chart.drawn) return;
  if (plot._dragging) {
    setTimeout(() => draw(chart), PATIENCE);
    return;
  }
  const isFirst = chart.drawn === null;
  chart.drawn = wanted;
  const { figure, config, height } = wanted;
  const layout = { ...figure.layout, height, width: undefined, autosize: true };
  const data = layout.xaxis?.type === "date" ? figure.data.map(inUtc) : figure.data;
  await window.Plotly.react(plot, data, layout, config);
  if (isFirst) listen(chart);
}

// Plotly draws a number in the browser's time zone and text as it is written; all times are UTC.
function inUtc(trace) {
  if (trace.x?.dtype !== "f8") return trace;
  const bytes = Uint8Array.from(atob(trace.x.bdata), (each) => each.charCodeAt(0));
  const written = (at) => (Number.isFinite(at) ? new Date(at).toISOString().slice(0, -1) : null);
  return { ...trace, x: Array.from(new Float64Array(bytes.buffer), written) };
}

function listen(chart) {
  chart.plot.on("plotly_relayout", (change) => {
    const edges = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
    if (chart.wanted.zooms && edges[0] !== undefined) chart.report(edges);
  });
  chart.plot.on("plotly_click", ({ points }) => {
    if (!chart.wanted.clicks || !points.length) return;
    clearTimeout(chart.click);
    chart.click = setTimeout(() => chart.reportBar(points[0].pointIndex), DOUBLE);
  });
  chart.plot.on("plotly_doubleclick", () => {
    clearTimeout(chart.click);
    if (!chart.wanted.zooms) return;
    window.Plotly.relayout(chart.plot, { "xaxis.range": chart.drawn.figure.layout.xaxis.range.slice() });
    chart.report(null);
  });
}
