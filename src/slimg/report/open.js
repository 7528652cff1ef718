"use strict";
// Asks the server and shows what it answers. Values from files only ever become text nodes and attributes.
(() => {
  const { columns, relations, weighted } = JSON.parse(document.getElementById("data").textContent);
  const byId = (name) => document.getElementById(name);
  const told = byId("told"), panel = byId("node");
  let current = null, page = 0, asked = 0, listed = 0;

  function make(tag, content, attributes = {}) {
    const element = document.createElement(tag);
    if (Array.isArray(content)) element.append(...content.filter((each) => each !== null));
    else if (content !== undefined && content !== null) element.textContent = content;
    for (const [name, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(name, value);
    return element;
  }

  const signed = (value) => (value <= -0.0005 ? "−" : "+") + Math.abs(value).toFixed(3);
  const share = (value) => (value > 0 && value < 0.0005 ? "<0.001" : value.toFixed(3));
  const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
  const row = (cells, attributes) => make("tr", cells, attributes);
  const number = (text, style = "number") => make("td", text, { class: style });

  async function ask(name, body) {
    const options = body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
    let response;
    try {
      response = await fetch(name, options);
    } catch {
      throw new Error("The server does not answer: it was stopped. Start it again with slimg open.");
    }
    const found = await response.json().catch(() => ({ error: `The server refused the request (${response.status}).` }));
    if (!response.ok) throw new Error(found.error);
    return found;
  }

  function sentence(text) {
    return text ? text[0].toUpperCase() + text.slice(1) + (/[.?!]$/.test(text) ? "" : ".") : "";
  }

  function refuse(place, error) {
    place.replaceChildren(make("span", sentence(error.message), { class: "wrong" }));
  }

  function nodeButton(id) {
    const button = make("button", id, { type: "button", class: "node" });
    button.addEventListener("click", () => explain(id));
    return button;
  }

  // A node by its id, with a value below it by which people know it.
  const named = (each, about = each.about, tag = "td") => make(tag, [nodeButton(each.id), make("span", about, { class: "about", title: about })], tag === "th" ? { scope: "row" } : {});

  // A field that suggests nodes as one types: arrow keys choose, Enter takes, Escape closes.
  function suggest(input, list, taken) {
    let at = -1, latest = 0;
    const options = () => [...list.children];
    const close = () => { list.hidden = true; at = -1; input.setAttribute("aria-expanded", "false"); input.removeAttribute("aria-activedescendant"); };
    const mark = () => {
      options().forEach((option, k) => option.setAttribute("aria-selected", k === at));
      if (at < 0) input.removeAttribute("aria-activedescendant");
      else { input.setAttribute("aria-activedescendant", options()[at].id); options()[at].scrollIntoView({ block: "nearest" }); }
    };
    const take = (id) => { input.value = id; latest += 1; close(); taken(id); };
    input.addEventListener("input", async () => {
      const mine = ++latest;
      close(); // what was found for the text before is not to be taken for this one
      if (!input.value.trim()) return;
      const found = await ask(`search?${new URLSearchParams({ text: input.value })}`).catch(() => []);
      if (mine !== latest) return;
      list.replaceChildren(...found.map((each, k) => {
        const option = make("li", [make("strong", each.id), make("span", each.about), make("span", each.prediction, { class: "kind" })], { role: "option", id: `${list.id}-${k}` });
        option.dataset.node = each.id;
        option.addEventListener("pointerdown", (event) => { event.preventDefault(); take(each.id); });
        return option;
      }));
      list.hidden = !found.length;
      input.setAttribute("aria-expanded", String(!list.hidden));
    });
    input.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") close();
      if (event.key === "Enter" && at >= 0) { event.preventDefault(); take(options()[at].dataset.node); }
      if (!step || list.hidden) return;
      event.preventDefault();
      at = Math.min(Math.max(at + step, 0), options().length - 1);
      mark();
    });
    input.addEventListener("blur", close);
  }

  async function explain(id) {
    const mine = ++asked;
    told.textContent = "";
    try {
      const found = await ask(`node?${new URLSearchParams({ id, class: byId("class").value })}`);
      if (mine !== asked) return;
      current = found;
      show(found);
    } catch (error) {
      if (mine !== asked) return;
      panel.hidden = true;
      refuse(told, error);
    }
  }

  function show(node) {
    const heading = make("h3", `${node.id}: ${node.prediction}`, { tabindex: "-1" });
    const label = node.label === null ? "It has no label." : `Its label is ${node.label}.`;
    panel.replaceChildren(
      heading,
      make("p", `Probability ${share(node.probability)}. ${label}`),
      make("div", [make("div", [likely(node), values(node)]), make("div", why(node))], { class: "pair" }),
      ...whatIf(node),
    );
    panel.hidden = false;
    heading.focus();
    heading.scrollIntoView({ block: "start" });
  }

  function bar(value, most) {
    const element = make("span", null, { class: value < 0 ? "bar below" : "bar", "aria-hidden": "true" });
    element.style.width = `${(100 * Math.abs(value)) / (most || 1)}%`;
    return make("span", [element], { class: "room" });
  }

  function likely(node) {
    const rows = node.probabilities.map(([name, value]) => row([make("th", name, { scope: "row" }), make("td", [bar(value, 1)], { class: "bars" }), number(share(value))]));
    return make("table", [make("caption", "Probabilities"), make("tbody", rows)], { class: "terms" });
  }

  function values(node) {
    const rows = Object.entries(node.attributes).filter(([, value]) => value).map(([name, value]) => row([make("th", name, { scope: "row" }), make("td", value, { class: "value" })]));
    return rows.length ? make("table", [make("caption", "Its values"), make("tbody", rows)], { class: "terms" }) : null;
  }

  // The parts of the score: those in bold add up to it, and those below one to that one.
  function why(node) {
    const most = Math.max(...node.parts.map((part) => Math.abs(part.value)), Math.abs(node.bias));
    const line = (name, value) => [make("span", name), bar(value, most), make("span", signed(value), { class: "number" })];
    const parts = node.parts.filter((part) => !part.removed).sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).map((part, k) => {
      const tables = [terms("Features", part.features), terms("Nodes it comes from", part.nodes)].filter(Boolean);
      const details = make("details", [make("summary", line(part.title + (part.absent ? `: ${part.absent}` : ""), part.value), { "data-part": part.name }), ...tables]);
      details.open = k === 0;
      return details;
    });
    const removed = node.parts.filter((part) => part.removed).map((part) => part.title);
    return [
      make("p", `Why: the score of ${node.class} is ${signed(node.score)} against the mean of all classes. These parts add up to it:`, { class: "caption" }),
      make("div", [
        ...parts,
        make("div", line("bias, the same for every node", node.bias), { class: "part", "data-part": "bias" }),
        make("div", line("rounding", node.rounding), { class: "part", "data-part": "rounding" }),
        make("div", [make("span", `score of ${node.class}`), make("span"), make("span", signed(node.score), { class: "number" })], { class: "part sum", "data-part": "score" }),
      ], { class: "parts" }),
      removed.length ? make("p", `Not used by the model: ${removed.join("; ")}.`, { class: "muted" }) : null,
    ].filter(Boolean);
  }

  function terms(title, found) {
    if (!found.length) return null;
    const rows = found.filter((term) => term.name !== "the average node" || Math.abs(term.value) >= 0.0005).map((term) => {
      const name = term.id === undefined ? make("th", term.name, { scope: "row" }) : named(term, [term.prediction, term.about].filter(Boolean).join("; "), "th");
      return row([name, number(signed(term.value))]);
    });
    return make("table", [make("caption", title), make("tbody", rows)], { class: "terms" });
  }

  function whatIf(node) {
    const form = make("form", null, { id: "what-if" });
    const result = make("div", null, { id: "result", role: "status" });
    const field = (label, input) => make("div", [make("label", label, { for: input.id }), input]);
    const parts = [make("h3", "What if?"), make("p", "Leave out edges, add one, or give another value. The scores are computed again on the changed graph with the fitted model.")];
    if (node.neighbours.length) {
      const shown = node.degree > node.neighbours.length ? `${node.neighbours.length} of ${plural(node.degree, "neighbour")}, those with the largest contributions` : plural(node.degree, "neighbour");
      const heads = [["leave out", "tick"], ["neighbour"], ...(relations.length ? [["relation"]] : []), ...(weighted ? [["weight", "number"]] : []), ["prediction", "wide"], ["contribution", "number"]];
      const rows = node.neighbours.map((each) => row([
        make("td", (relations.length ? each.relations : [""]).map((key) => make("label", [make("input", null, { type: "checkbox", "data-node": each.id, "data-relation": key, "aria-label": `leave out ${each.id} ${key}` })]))),
        named(each),
        relations.length ? make("td", each.relations.map((key) => make("div", key))) : null,
        weighted ? number(String(Number(each.weight.toPrecision(4)))) : null,
        make("td", each.prediction, { class: "wide" }), number(signed(each.value)),
      ]));
      parts.push(make("div", [make("table", [make("caption", shown), make("thead", [row(heads.map(([text, style]) => make("th", text, { scope: "col", class: style || null })))]), make("tbody", rows)], { class: "words list" })], { class: "scroll high", tabindex: "0", role: "region", "aria-label": "Neighbours" }));
    } else parts.push(make("p", "It has no neighbours."));
    const other = make("input", null, { type: "text", id: "other", role: "combobox", "aria-expanded": "false", "aria-controls": "others", "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false" });
    const list = make("ul", null, { id: "others", role: "listbox", "aria-label": "Nodes", hidden: "" });
    suggest(other, list, () => {});
    const combo = field("Add an edge to", other);
    combo.className = "combo";
    combo.append(list);
    const relation = make("select", relations.map((key) => make("option", key)), { id: "relation" });
    const weight = make("input", null, { id: "weight", inputmode: "decimal", size: "5", placeholder: "1" });
    const column = make("select", [make("option", "none", { value: "" }), ...columns.map((each) => make("option", each.name))], { id: "column" });
    const value = make("input", null, { id: "value", list: "known", size: "28", autocomplete: "off" });
    const known = make("datalist", null, { id: "known" }), hint = make("p", null, { class: "muted", id: "hint" });
    column.addEventListener("change", () => {
      const chosen = columns.find((each) => each.name === column.value);
      value.value = chosen ? node.attributes[chosen.name] || "" : "";
      known.replaceChildren(...(chosen ? chosen.values : []).map((each) => make("option", null, { value: each })));
      hint.textContent = chosen ? `${chosen.name}: ${chosen.kind}; empty if it is missing.` : "";
    });
    parts.push(
      make("div", [combo, relations.length ? field("by", relation) : null, weighted ? field("with weight", weight) : null], { class: "controls" }),
      columns.length ? make("div", [field("Change the value of", column), field("to", value), known], { class: "controls" }) : null,
      hint, make("p", [make("button", "Compute again", { type: "submit" })]), result,
    );
    form.append(...parts.filter(Boolean));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const without = [...form.querySelectorAll("input:checked")].map((box) => [box.dataset.node, box.dataset.relation]);
      const added = other.value.trim() ? [[other.value.trim(), relations.length ? relation.value : "", weighted ? weight.value : ""]] : [];
      const changed = column.value ? [[column.value, value.value]] : [];
      try {
        compared(result, await ask("what-if", { id: node.id, class: node.class, without, with: added, values: changed }));
      } catch (error) {
        refuse(result, error);
      }
    });
    return [form];
  }

  function compared(place, found) {
    const { before, after } = found;
    const change = before.prediction === after.prediction
      ? `It would still be ${after.prediction}`
      : `It would be ${after.prediction} instead of ${before.prediction}`;
    const lines = [["probability of " + found.class, share(before.probability), share(after.probability), null]];
    const titles = { bias: "bias, the same for every node", score: `score of ${found.class}` };
    for (const part of current.parts) titles[part.name] = part.title;
    for (const name of [...found.parts, "score"]) lines.push([titles[name], signed(before[name]), signed(after[name]), after[name] - before[name], name]);
    const rows = lines.map(([title, old, now, difference, name]) => row([make("th", title, { scope: "row" }), number(old), number(now), number(difference === null ? "" : signed(difference))], { "data-part": name || null, class: name === "score" ? "sum" : null }));
    const head = make("thead", [row(["", "now", "then", "change"].map((text, k) => make("th", text, { scope: "col", class: k ? "number" : null })))]);
    place.replaceChildren(
      make("p", `${change} (probability of ${found.class} ${share(after.probability)}, now ${share(before.probability)}).`, { class: "lead" }),
      ...found.notes.map((note) => make("p", note)),
      make("div", [make("table", [head, make("tbody", rows)], { class: "words compare" })], { class: "scroll", tabindex: "0", role: "region", "aria-label": "Before and after" }),
    );
    place.scrollIntoView({ block: "nearest" });
  }

  const asking = () => new URLSearchParams([...new FormData(byId("filter"))].filter(([, value]) => value));

  async function list() {
    const mine = ++listed;
    const query = asking();
    byId("download").href = `predictions.csv?${query}`;
    query.set("page", page);
    try {
      const found = await ask(`predictions?${query}`);
      if (mine !== listed) return; // the answer to an earlier text came later
      page = found.page;
      const first = page * found.size;
      byId("count").textContent = found.total ? `${(first + 1).toLocaleString("en")} to ${(first + found.rows.length).toLocaleString("en")} of ${plural(found.total, "node")}` : "No node fits.";
      byId("rows").replaceChildren(...found.rows.map((each) => row([
        named(each), make("td", each.label ?? "–", { class: "wide" }),
        make("td", each.prediction), number(share(each.probability)), number(share(each.margin), "number wide"),
      ])));
      byId("previous").disabled = page === 0;
      byId("next").disabled = page >= found.last;
    } catch (error) {
      if (mine === listed) refuse(byId("count"), error);
    }
  }

  async function score(event) {
    event.preventDefault();
    const place = byId("scored");
    try {
      const found = await ask("new-rows", { nodes: byId("nodes").value, edges: byId("edges").value });
      const rows = found.rows.map((each) => row([make("th", each.id, { scope: "row" }), make("td", each.prediction), number(share(each.probability)), number(share(each.margin))]));
      const head = make("thead", [row([["node"], ["prediction"], ["probability", "number"], ["margin", "number"]].map(([text, style]) => make("th", text, { scope: "col", class: style || null })))]);
      const link = make("a", "Download them as CSV", { download: "new_predictions.csv", href: URL.createObjectURL(new Blob([found.csv], { type: "text/csv" })) });
      const shown = found.total > found.rows.length ? `The first ${found.rows.length} of ${plural(found.total, "new node")}` : plural(found.total, "new node");
      place.replaceChildren(
        make("p", found.text), make("p", [link]),
        make("div", [make("table", [make("caption", shown), head, make("tbody", rows)], { class: "words list" })], { class: "scroll", tabindex: "0", role: "region", "aria-label": "New nodes" }),
        make("ul", found.notes.map((note) => make("li", note)), { class: "plain muted" }),
      );
    } catch (error) {
      refuse(place, error);
    }
  }

  suggest(byId("search"), byId("suggestions"), explain);
  byId("find").addEventListener("submit", (event) => { event.preventDefault(); if (byId("search").value.trim()) explain(byId("search").value.trim()); });
  byId("class").addEventListener("change", () => { if (current) explain(current.id); });
  byId("filter").addEventListener("submit", (event) => event.preventDefault());
  byId("filter").addEventListener("input", () => { page = 0; list(); });
  byId("previous").addEventListener("click", () => { page -= 1; list(); });
  byId("next").addEventListener("click", () => { page += 1; list(); });
  byId("new").addEventListener("submit", score);
  for (const name of ["nodes", "edges"]) {
    byId(`${name}-file`).addEventListener("change", async (event) => { if (event.target.files.length) byId(name).value = await event.target.files[0].text(); });
    byId(name).addEventListener("dragover", (event) => event.preventDefault());
    byId(name).addEventListener("drop", async (event) => {
      if (!event.dataTransfer.files.length) return;
      event.preventDefault();
      byId(name).value = await event.dataTransfer.files[0].text();
    });
  }
  list();
})();
