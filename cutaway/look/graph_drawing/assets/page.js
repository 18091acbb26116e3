// The page of a compute graph: fold and unfold, pan and zoom, select, step, search. State in, drawing out; no server.

import {readGraph} from "./unpacking.js";
import {place} from "./placing.js";
import {draw, element, labelOf} from "./svg.js";
import {groupPanel, make, operatorPanel, valuePanel} from "./panel.js";

const graph = await readGraph();
const at = id => document.getElementById(id);
const canvas = at("canvas"), panel = at("panel");
const open = new Set(graph.open);
const view = {x: 0, y: 0, zoom: 1};
const state = {selected: null, direction: "forward", step: -1};
let sizes = {width: 1, height: 1};
const svg = element("svg", {class: "cutaway-graph", width: "100%", height: "100%", "aria-label": graph.alt,
  role: "group", "font-family": graph.font});
const world = element("g");
svg.append(world);
canvas.append(svg);

// --- drawing ---------------------------------------------------------------------------------------------------------

const sheetOf = group => ({...group, inner: new Map(group.inner.filter(n => open.has(n))
  .map(n => [`group:${n}`, sheetOf(graph.groups[n])]))});

function act(made, label, press, inspect) {
  made.setAttribute("tabindex", 0);
  made.setAttribute("role", "button");
  made.setAttribute("aria-label", label);
  made.addEventListener("click", event => { if (!dragged) (event.shiftKey ? inspect : press)(); });
  made.addEventListener("keydown", event => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); (event.shiftKey ? inspect : press)(); }
  });
}
act.fold = slot => { toggle(Number(slot.slice(6))); select(slot); };
act.look = slot => select(slot);

function redraw() {
  const focused = document.activeElement?.dataset?.slot ?? document.activeElement?.dataset?.chip;
  const sheet = sheetOf(graph.groups[0]);
  const placed = place(sheet, slot => graph.looks[slot].size, (part, lines) => labelOf(part, lines).size, graph.metrics);
  const layers = Object.fromEntries(["frames", "lines", "chips", "boxes", "labels"].map(name => [name, element("g")]));
  draw(graph, sheet, placed, 0, 0, layers, act);
  world.replaceChildren(...Object.values(layers));
  sizes = placed;
  mark();
  if (focused) world.querySelector(`[data-slot="${focused}"][tabindex], [data-chip="${focused}"]`)?.focus({preventScroll: true});
}

const around = group => group.parent === null ? [group.number] : [...around(graph.groups[group.parent]), group.number];

function toggle(number) {
  const slot = `group:${number}`, before = where(slot);
  if (open.has(number)) open.delete(number); else open.add(number);
  redraw();
  const after = where(slot);  // what was clicked stays where it was
  if (before && after) { view.x += (before.x - after.x) * view.zoom; view.y += (before.y - after.y) * view.zoom; look(); }
}

function where(slot) {
  const found = world.querySelector(`[data-slot="${slot}"]`)?.getBBox();
  return found && {x: found.x + found.width / 2, y: found.y, width: found.width, height: found.height};
}

// The slot that shows something: itself, or the outermost folded module around it.
function shown(slot) {
  const group = graph.groups[graph.homes[slot]];
  const folded = around(group).find(number => !open.has(number));
  return folded === undefined ? slot : `group:${folded}`;
}

// --- pan and zoom ----------------------------------------------------------------------------------------------------

const READABLE = 0.8;  // the smallest zoom that words can be read at
let dragged = false;

function look() {
  world.setAttribute("transform", `translate(${view.x},${view.y}) scale(${view.zoom})`);
}

function fit(least = 0.05) {
  const {width, height} = canvas.getBoundingClientRect();
  view.zoom = Math.max(least, Math.min(1.25, (width - 24) / sizes.width, (height - 24) / sizes.height));
  view.x = (width - sizes.width * view.zoom) / 2;
  view.y = Math.max(8, (height - sizes.height * view.zoom) / 2);
  if (sizes.height * view.zoom > height || sizes.width * view.zoom > width) {  // too large: begin where it begins
    const tops = [...world.querySelectorAll(".box")].map(made => made.getBBox()).sort((a, b) => a.y - b.y);
    if (tops.length) view.x = width / 2 - (tops[0].x + tops[0].width / 2) * view.zoom;
  }
  look();
}

function zoom(by, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const next = Math.max(0.08, Math.min(4, view.zoom * by));
  view.x = x - (x - view.x) * next / view.zoom;
  view.y = y - (y - view.y) * next / view.zoom;
  view.zoom = next;
  look();
}

function reveal(slot) {
  const box = where(shown(slot));
  if (!box) return;
  const x = box.x * view.zoom + view.x, y = box.y * view.zoom + view.y, margin = 60;
  const {clientWidth: w, clientHeight: h} = canvas;
  if (x < margin || x > w - margin) view.x += w / 2 - x;
  if (y < margin || y + box.height * view.zoom > h - margin) view.y += h / 3 - y;
  look();
}

canvas.addEventListener("wheel", event => {
  event.preventDefault();
  if (event.ctrlKey || event.metaKey) zoom(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
  else { view.x -= event.shiftKey ? event.deltaY : event.deltaX; view.y -= event.shiftKey ? 0 : event.deltaY; look(); }
}, {passive: false});
canvas.addEventListener("pointerdown", event => {
  const start = {x: event.clientX - view.x, y: event.clientY - view.y, px: event.clientX, py: event.clientY};
  dragged = false;
  const move = now => {
    if (Math.hypot(now.clientX - start.px, now.clientY - start.py) > 4) dragged = true;
    if (dragged) { view.x = now.clientX - start.x; view.y = now.clientY - start.y; look(); }
  };
  const stop = () => { window.removeEventListener("pointermove", move); window.removeEventListener("pointerup", stop); };
  window.addEventListener("pointermove", move);
  window.addEventListener("pointerup", stop);
});

// --- selecting and stepping ------------------------------------------------------------------------------------------

function select(slot) {
  state.selected = slot;
  const [kind, key] = slot.split(":");
  const lookAt = value => select(value.producer === null ? `value:${value.index}` : `op:${value.producer}`);
  const step = state.step >= 0 ? steps()[state.step] : null;
  const now = step && `op:${step.node}` === slot ? {...step, direction: state.direction, given: given()} : null;
  const parts = kind === "op" ? operatorPanel(graph, graph.nodes[key], lookAt, now)
    : kind === "group" ? groupPanel(graph, graph.groups[key], () => { toggle(Number(key)); })
    : valuePanel(graph, graph.values[key], lookAt);
  if (shown(slot) !== slot && kind !== "group") parts.splice(1, 0, make("p", {}, make("button", {onclick: () => {
    for (const number of around(graph.groups[graph.homes[slot]])) open.add(number);
    redraw();
    reveal(slot);
  }}, `Unfold ${graph.groups[Number(shown(slot).slice(6))].path} to see it`)));
  panel.replaceChildren(...parts.filter(Boolean));
  panel.scrollTop = 0;
  mark();
}

const steps = () => graph.steps[state.direction];

// The edges whose share of δ has been handed on so far, stepping backwards.
function given() {
  if (state.direction !== "backward") return null;
  return new Set(steps().slice(0, state.step + 1).flatMap(step => step.shares));
}

function go(to) {
  state.step = Math.max(-1, Math.min(steps().length - 1, to));
  const step = steps()[state.step];
  at("count").textContent = step ? `${state.step + 1} of ${steps().length}: ${step.title}` : `${steps().length} steps`;
  at("back").disabled = at("first").disabled = state.step < 0;
  at("next").disabled = state.step >= steps().length - 1;
  if (step) { select(`op:${step.node}`); reveal(`op:${step.node}`); } else mark();
}

// Classes for what is selected, read, written, done and still to come.
function mark() {
  const step = state.step >= 0 ? steps()[state.step] : null, backward = state.direction === "backward";
  const current = step ? shown(`op:${step.node}`) : null, chosen = state.selected && shown(state.selected);
  const arrived = given();
  const done = step ? new Set(steps().slice(0, state.step + 1).map(one => one.node)) : null;
  const reads = new Set(step?.reads), writes = new Set(step?.writes), shares = new Set(step?.shares);
  const numbers = words => words ? words.split(" ").map(Number) : [];
  for (const made of world.querySelectorAll("[data-slot]")) {
    const slot = made.dataset.slot;
    made.classList.toggle("current", slot === current);
    made.classList.toggle("selected", slot === chosen && slot !== current);
    const nodes = slot.startsWith("op:") ? [Number(slot.slice(3))]
      : slot.startsWith("group:") ? graph.groups[Number(slot.slice(6))].nodes : [];
    made.classList.toggle("later", Boolean(done && nodes.length && !nodes.some(node => done.has(node))));
    const own = slot.startsWith("op:") ? graph.nodes[Number(slot.slice(3))].outputs
      : slot.startsWith("value:") ? [Number(slot.slice(6))] : [];
    const uses = own.flatMap(value => graph.values[value].uses).filter(edge => graph.edges[edge].share);
    made.classList.toggle("waiting", Boolean(arrived && step && uses.some(edge => !arrived.has(edge))));
  }
  for (const made of world.querySelectorAll("[data-values]")) {
    const edges = numbers(made.dataset.edges), values = numbers(made.dataset.values);
    const comes = step && (backward ? values.some(value => reads.has(value))
      : edges.some(edge => graph.edges[edge].node === step.node));
    const leaves = step && (backward ? edges.some(edge => shares.has(edge)) : values.some(value => writes.has(value)));
    made.classList.toggle("read", Boolean(comes));
    made.classList.toggle("written", Boolean(leaves && !comes));
    const makers = values.map(value => graph.values[value].producer).filter(node => node !== null);
    made.classList.toggle("later", Boolean(done && !backward && makers.length && !makers.some(node => done.has(node))));
    const waits = arrived && edges.length && state.step >= 0 && !edges.some(edge => arrived.has(edge));
    made.classList.toggle("waiting", Boolean(waits));
  }
}

// --- controls --------------------------------------------------------------------------------------------------------

at("first").onclick = () => go(-1);
at("back").onclick = () => go(state.step - 1);
at("next").onclick = () => go(state.step + 1);
for (const choice of document.querySelectorAll("[name=direction]"))
  choice.onchange = () => { state.direction = choice.value; go(-1); };
at("fit").onclick = () => fit();
at("larger").onclick = () => zoom(1.25);
at("smaller").onclick = () => zoom(0.8);
at("fold").onclick = () => { open.clear(); open.add(0); redraw(); fit(READABLE); };
at("unfold").onclick = () => {  // one level more
  for (const group of graph.groups.filter(one => !open.has(one.number) && one.parent !== null && open.has(one.parent)
    && around(one).slice(0, -1).every(number => open.has(number)))) open.add(group.number);
  redraw();
  fit(READABLE);
};

const places = [
  ...graph.groups.filter(group => group.path).map(group => [group.path, group.kind, `group:${group.number}`]),
  ...graph.nodes.map(node => [node.title, node.module, `op:${node.index}`]),
  ...graph.values.filter(value => value.producer === null && `value:${value.index}` in graph.homes)
    .map(value => [value.name, value.kind, `value:${value.index}`])];
at("search").addEventListener("input", () => {
  const words = at("search").value.trim().toLowerCase();
  const found = words ? places.filter(([name, of]) => `${name} ${of}`.toLowerCase().includes(words)) : [];
  at("found").replaceChildren(...found.slice(0, 12).map(([name, of, slot]) => make("li", {}, make("button", {
    onclick: () => { at("found").replaceChildren(); at("search").value = ""; find(slot); }}, name,
    make("span", {class: "soft"}, ` ${of}`)))), found.length > 12 ? make("li", {class: "soft"}, `and ${found.length - 12} more`) : "",
    words && !found.length ? make("li", {class: "soft"}, "Nothing of that name.") : "");
});
at("search").addEventListener("keydown", event => {
  if (event.key === "Enter") at("found").querySelector("button")?.click();
  if (event.key === "Escape") { at("search").value = ""; at("found").replaceChildren(); }
});

function find(slot) {
  const group = graph.groups[slot.startsWith("group:") ? Number(slot.slice(6)) : graph.homes[slot]];
  for (const number of around(group)) if (slot !== `group:${number}`) open.add(number);
  redraw();
  select(slot);
  reveal(slot);
}

document.addEventListener("keydown", event => {
  if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  const keys = {ArrowRight: () => go(state.step + 1), ArrowLeft: () => go(state.step - 1), Home: () => go(-1),
    "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: () => fit(), "/": () => at("search").focus()};
  if (event.key in keys) { event.preventDefault(); keys[event.key](); }
});

redraw();
fit(READABLE);
go(-1);
window.addEventListener("resize", look);
document.body.dataset.ready = "true";
