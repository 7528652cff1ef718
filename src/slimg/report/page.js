"use strict";
// The table of nodes and the explanation of one. Values from files only ever become text nodes and attributes.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { nodes, classes, explained, folder, ranking, map, sets } = data;
  const SHOWN = 12, DETAILED = 4;  // rows of the table; components whose features are named
  const byId = (name) => document.getElementById(name);
  const search = byId("search"), kind = byId("class"), state = byId("state"), order = byId("order");
  const body = byId("rows"), count = byId("count"), detail = byId("detail");
  const names = nodes.names || [];
  const lower = nodes.ids.map((id, row) => (names[row] ? `${id}\n${names[row]}` : id).toLowerCase());
  const rowOf = new Map(names.length ? nodes.ids.map((id, row) => [id, row]) : []);
  let found = [], page = 0, chosen = null;

  function make(tag, text, attributes = {}) {
    const element = document.createElement(tag);
    if (text !== undefined && text !== null) element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  }

  function draw(tag, attributes = {}, text) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  // What people know a node by, with its id.
  const titled = (id) => (rowOf.has(id) && names[rowOf.get(id)] ? `${names[rowOf.get(id)]} (${id})` : id);
  const short = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
  const colour = (code) => `var(--k${data.colours[code]})`;
  const signed = (value) => (value <= -0.005 ? "−" : "+") + Math.abs(value).toFixed(2);
  const shows = (value) => Math.abs(value) >= 0.005;  // not ±0.00
  const chance = (row) => (nodes.probability[row] / 1000).toFixed(2);
  const percent = (share) => (100 * share).toFixed(1) + "%";
  const digits = (value) => String(Number(value.toPrecision(3)));

  // The probability of one class, in the order of the file of two classes' second.
  function chanceOf(row, code) {
    if (classes.length !== 2) return nodes.chances[code][row];
    return code === 1 ? nodes.chances[0][row] : 1 - nodes.chances[0][row];
  }

  // The class that nodes are ordered by, or null.
  const ordered = () => (/^\d+$/.test(order.value) ? Number(order.value) : null);

  function filter() {
    const wanted = search.value.trim().toLowerCase(), code = kind.value;
    found = [];
    for (let row = 0; row < nodes.ids.length; row++) {
      if (wanted && !lower[row].includes(wanted)) continue;
      if (code !== "" && nodes.prediction[row] !== Number(code)) continue;
      const label = nodes.label[row];
      if (state.value === "known" && label < 0) continue;
      if (state.value === "unknown" && label >= 0) continue;
      if (state.value === "differs" && (label < 0 || label === nodes.prediction[row])) continue;
      if (state.value === "explained" && !(row in explained)) continue;
      found.push(row);
    }
    const up = order.value === "least" ? 1 : -1, by = ordered();
    byId("shown").textContent = by === null ? "probability" : `probability of ${classes[by]}`;
    if (by !== null && classes.length === 2) {  // of two classes the stored one is exact
      found.sort((a, b) => (by === 1 ? -1 : 1) * (nodes.chances[0][a] - nodes.chances[0][b]) || a - b);
    } else if (by !== null) found.sort((a, b) => nodes.chances[by][b] - nodes.chances[by][a] || a - b);
    else if (order.value !== "file") found.sort((a, b) => up * (nodes.probability[a] - nodes.probability[b]) || a - b);
    if (wanted) {  // an exact name first
      const exact = found.findIndex((row) => nodes.ids[row].toLowerCase() === wanted);
      if (exact > 0) found.unshift(...found.splice(exact, 1));
    }
    page = 0;
    show();
  }

  function show() {
    const first = page * SHOWN, rows = found.slice(first, first + SHOWN);
    body.replaceChildren(...rows.map(line));
    count.textContent = found.length
      ? `${first + 1} to ${first + rows.length} of ${found.length.toLocaleString("en")} nodes`
      : "no nodes found";
    byId("previous").disabled = page === 0;
    byId("next").disabled = first + SHOWN >= found.length;
  }

  function line(row) {
    const tr = make("tr"), cell = make("td"), button = make("button", nodes.ids[row], { type: "button", class: "node" });
    if (row === chosen) button.setAttribute("aria-current", "true");
    button.dataset.row = row;
    button.addEventListener("click", () => choose(row, true));
    cell.append(button);
    if (names[row]) cell.append(make("span", names[row], { class: "name" }));
    const label = nodes.label[row];
    tr.append(cell, make("td", label < 0 ? "–" : classes[label], { class: "wide" }), make("td", classes[nodes.prediction[row]]), make("td", ordered() === null ? chance(row) : digits(chanceOf(row, ordered()))));
    return tr;
  }

  function choose(row, focus) {
    chosen = row;
    for (const button of body.querySelectorAll("button")) {
      if (Number(button.dataset.row) === row) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
    const label = nodes.label[row];
    const heading = make("h3", `${titled(nodes.ids[row])}: ${classes[nodes.prediction[row]]}`, { tabindex: "-1" });
    const told = `Probability ${chance(row)}; ` + (label < 0 ? "it has no label." : `its label is ${classes[label]}.`);
    detail.replaceChildren(heading, make("p", told + inSet(row)), ...(row in explained ? explanation(explained[row], row) : advice(row)));
    if (focus) heading.focus();
  }

  // The classes that are likely enough to be in the prediction set.
  function inSet(row) {
    const chances = row in explained ? explained[row].probabilities : nodes.chances ? classes.map((_, code) => chanceOf(row, code)) : null;
    if (!sets || !chances) return "";
    const likely = classes.filter((_, code) => chances[code] >= sets.least[code]);
    return likely.length ? ` Its prediction set at ${Math.round(100 * sets.coverage)}% coverage: ${likely.join(", ")}.` : " No class is likely enough to be relied on.";
  }

  function advice(row) {
    const quoted = "'" + nodes.ids[row].replaceAll("'", "'\\''") + "'";
    return [
      make("p", "This page explains only some of the nodes. To explain this one, run:"),
      make("code", `slimg explain --model ${folder}/model.slimg -- ${quoted}`, { class: "command" }),
    ];
  }

  function explanation(told, row) {
    const table = make("table", null, { class: "terms" });
    table.append(make("caption", `Score of ${classes[nodes.prediction[row]]} relative to the mean of all classes; the lines in bold add up to ${signed(told.score)}.`));
    const columns = make("colgroup");
    columns.append(make("col"), make("col", null, { class: "number" }));
    const rows = make("tbody");
    const add = (style, name, value) => {
      const tr = make("tr", null, { class: style });
      tr.append(make("th", name, { scope: "row" }), make("td", value));
      rows.append(tr);
    };
    add("part", "bias, the same for every node", signed(told.bias));
    const ordered = told.parts.filter((part) => !part.removed).sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    for (const part of ordered) {
      add("part", part.title + (part.absent ? `: ${part.absent}` : ""), signed(part.value));
      if (ordered.indexOf(part) >= DETAILED) continue;
      for (const [name, value, many] of part.features) add(many === 1 ? "term" : "other", name, signed(value));
    }
    const unused = told.parts.length - ordered.length;
    if (unused) add("other", unused === 1 ? "1 component is not used" : `${unused} components are not used`, "0");
    table.append(columns, rows);
    return [...drawing(told, row), table, ...sources(told)];
  }

  function sources(told) {
    const used = told.parts.filter((part) => part.nodes.some(([, value, many]) => many === 1 && shows(value)));
    return used.sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, DETAILED).map((part) => {
      const terms = part.nodes.filter(([, value]) => shows(value));
      const list = terms.map(([name, value, many]) => `${many === 1 ? titled(name) : name} ${signed(value)}`).join(", ");
      return make("p", `Contributions of nodes to ${part.title}: ${list}.`);
    });
  }

  function drawing(told, row) {
    if (!told.neighbours.length) return [make("p", "It has no neighbours.")];
    const size = 420, middle = size / 2, radius = 165, total = told.neighbours.length;
    const place = (k) => {
      const angle = (2 * Math.PI * k) / total - Math.PI / 2;
      return [middle + radius * Math.cos(angle), middle + radius * Math.sin(angle)];
    };
    const said = told.neighbours.map(([name, code, keys]) => `${titled(name)} (${[classes[code], ...keys].join(", ")})`).join("; ");
    const svg = draw("svg", { viewBox: `-140 0 ${size + 280} ${size}`, role: "img", "aria-label": `Neighbours with their predictions: ${said}` });
    for (const [a, b] of told.among) {
      const [x1, y1] = place(a), [x2, y2] = place(b);
      svg.append(draw("line", { x1, y1, x2, y2, class: "among" }));
    }
    const kindsOf = (keys) => [...new Set(keys.map((key) => key.replace(/ [→←]$/, "")))].join(", ");
    const all = new Set(told.neighbours.map(([, , keys]) => kindsOf(keys)));  // named once where it is one
    told.neighbours.forEach(([, , keys], k) => {
      const [x2, y2] = place(k);
      svg.append(draw("line", { x1: middle, y1: middle, x2, y2 }));
      if (keys.some((key) => key.endsWith("→"))) svg.append(arrow(middle, middle, x2, y2, 9));
      if (keys.some((key) => key.endsWith("←"))) svg.append(arrow(x2, y2, middle, middle, 13));
      const kinds = kindsOf(keys), along = k % 2 ? 0.5 : 0.66;
      if (kinds && all.size > 1) svg.append(draw("text", { x: middle + along * (x2 - middle), y: middle + along * (y2 - middle), "text-anchor": "middle", class: "kind" }, short(kinds, 20)));
    });
    told.neighbours.forEach(([name, code], k) => {
      const [x, y] = place(k), shown = rowOf.has(name) ? names[rowOf.get(name)] || name : name;
      svg.append(draw("circle", { cx: x, cy: y, r: 8, fill: colour(code) }));
      const side = x > middle + 5 ? "start" : x < middle - 5 ? "end" : "middle";
      const dx = side === "start" ? 11 : side === "end" ? -11 : 0, dy = side === "middle" ? (y < middle ? -13 : 22) : 4;
      svg.append(draw("text", { x: x + dx, y: y + dy, "text-anchor": side }, short(shown, 18)));
    });
    svg.append(draw("circle", { cx: middle, cy: middle, r: 12, fill: colour(nodes.prediction[row]) }));
    const figure = make("figure", null, { class: "around" });
    const [only] = all, relation = all.size === 1 && only && only !== "edges" ? `, all by ${only}` : "";
    figure.append(svg, make("figcaption", `${told.degree > total ? `${total} of ${told.degree.toLocaleString("en")} neighbours, those with the largest contributions` : "All neighbours"}${relation}; the colour is the prediction.`), legend(told, row));
    return [figure];
  }

  // The head of an arrow that ends `before` the second point.
  function arrow(x1, y1, x2, y2, before) {
    const long = Math.hypot(x2 - x1, y2 - y1), ux = (x2 - x1) / long, uy = (y2 - y1) / long;
    const x = x2 - before * ux, y = y2 - before * uy, bx = x - 10 * ux, by = y - 10 * uy;
    return draw("polygon", { points: `${x},${y} ${bx - 4 * uy},${by + 4 * ux} ${bx + 4 * uy},${by - 4 * ux}` });
  }

  function legend(told, row) {
    const list = make("ul", null, { class: "legend" }), named = new Map();  // colour: its classes
    for (const code of new Set([nodes.prediction[row], ...told.neighbours.map(([, code]) => code)])) {
      named.set(colour(code), [...(named.get(colour(code)) || []), classes[code]]);
    }
    for (const [fill, those] of named) {
      const item = make("li"), mark = draw("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" });
      mark.append(draw("circle", { cx: 5, cy: 5, r: 5, fill }));
      item.append(mark, those.join(", "));
      list.append(item);
    }
    return list;
  }

  // The node of the map that is nearest to a click.
  function nearest(event) {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(event.currentTarget.getScreenCTM().inverse());
    let best = -1, least = Infinity;
    map.rows.forEach((row, k) => {
      const far = (map.x[k] - at.x) ** 2 + (map.y[k] - at.y) ** 2;
      if (far < least && row < nodes.ids.length) [best, least] = [row, far];
    });
    if (best < 0) return;
    choose(best, true);
    detail.scrollIntoView({ block: "nearest" });
  }

  // Boxes that scroll sideways say so.
  function markWide() {
    for (const box of document.querySelectorAll(".scroll")) {
      box.classList.toggle("more", box.querySelector("table").offsetWidth > box.clientWidth);
    }
  }

  // What a threshold on the probability of the rarer class would find on held-out labels.
  function threshold() {
    const at = Number(byId("threshold").value), checked = ranking.checked[at], found = ranking.found[at];
    byId("threshold-told").textContent = `From ${digits(ranking.threshold[at])}: ${checked.toLocaleString("en")} of ${ranking.nodes.toLocaleString("en")} held-out nodes, of which ${found.toLocaleString("en")} are ${classes[ranking.code]} (precision ${percent(found / checked)}, recall ${percent(found / ranking.positives)}).`;
  }

  function step(event) {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const buttons = [...body.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
    event.preventDefault();
    if (at < 0) search.focus();
    else if (at < buttons.length) buttons[at].focus();
  }

  search.addEventListener("keydown", (event) => { if (event.key === "ArrowDown") step(event); });
  body.addEventListener("keydown", step);
  detail.addEventListener("keydown", (event) => {
    const button = body.querySelector("[aria-current=true]");
    if (event.key === "Escape") (button || search).focus();
  });
  byId("form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (found.length) choose(found[0], true);
  });
  search.addEventListener("input", filter);
  for (const each of [kind, state, order]) each.addEventListener("change", filter);
  byId("previous").addEventListener("click", () => { page -= 1; show(); });
  byId("next").addEventListener("click", () => { page += 1; show(); });
  if (ranking) {
    if (nodes.chances && sets && sets.by_class) order.value = String(ranking.code);  // whom to check first
    const half = ranking.threshold.findIndex((value) => value < 0.5);
    byId("threshold").value = Math.max(0, (half < 0 ? ranking.threshold.length : half) - 1);
    byId("threshold").addEventListener("input", threshold);
    byId("threshold-form").addEventListener("submit", (event) => event.preventDefault());
    byId("threshold-form").hidden = false;
    threshold();
  }
  byId("map-drawing").addEventListener("click", nearest);
  byId("browser").hidden = false;
  byId("explanations").hidden = true;  // the same ones
  filter();
  markWide();
  addEventListener("resize", markWide);
  const told = Object.keys(explained), first = told.find((row) => explained[row].neighbours.length > 2) || told[0];
  if (found.length) choose(first === undefined ? found[0] : Number(first), false);
})();
