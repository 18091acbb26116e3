// A placed drawing as SVG elements: svg.py once more, with what a pointer and a keyboard can reach.

const SPACE = "http://www.w3.org/2000/svg";

export function element(name, attributes = {}, ...children) {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function outline(kind, {left: x, top: y, width: w, height: h}) {
  if (kind === "parameter") {
    const d = `M${x + 8},${y}H${x + w - 8}L${x + w},${y + h / 2}L${x + w - 8},${y + h}H${x + 8}L${x},${y + h / 2}Z`;
    return [element("path", {class: "shape", d})];
  }
  const rx = kind === "input" || kind === "output" ? h / 2 : kind === "constant" ? 2 : 6;
  const behind = kind === "stack" ? [6, 3] : [];
  return [...behind, 0].map(d => element("rect", {class: "shape", x: x + d, y: y + d, width: w, height: h, rx}));
}

function text(words, style, size, x, y, anchor = "middle") {
  const made = element("text", {class: style, x, y, "font-size": size, "text-anchor": anchor}, words);
  if (style === "name") made.setAttribute("font-weight", 600);
  return made;
}

function texts(box, look, letters) {
  const size = style => style === "name" ? letters.name : letters.small;
  const tall = look.texts.reduce((sum, [, style]) => sum + size(style) * letters.line, 0);
  let y = box.top + (box.height - tall) / 2;
  return look.texts.map(([words, style]) => {
    y += size(style) * letters.line;
    return text(words, style, size(style), box.left + box.width / 2, y - 0.32 * size(style));
  });
}

function curve({stops, label}) {
  let [x, first, y] = stops[0];
  let d = `M${x},${first}V${y}`;
  stops.slice(1).forEach(([at, top, bottom], i) => {
    const half = (y + top) / 2;
    d += Math.abs(at - x) < 0.05 ? `V${top}` : `C${x},${half} ${at},${half} ${at},${top}`;
    if (label && i === stops.length - 3) d += `V${label.top}M${at},${label.top + label.height}`;
    d += `V${bottom}`;
    [x, y] = [at, bottom];
  });
  return d;
}

// Draws into `layers` ({frames, lines, chips, boxes, labels}); `graph` has looks and groups, `act` what a click does.
export function draw(graph, sheet, placed, left, top, layers, act) {
  const moved = box => ({...box, left: box.left + left, top: box.top + top});
  for (const [slot, part] of placed.inner) {
    const box = moved(placed.boxes.get(slot)), group = graph.groups[Number(slot.slice(6))];
    layers.frames.append(element("g", {class: "frame", "data-slot": slot}, element("rect",
      {class: "shape", x: box.left, y: box.top, width: box.width, height: box.height, rx: 9})));
    const [name, kind] = group.texts, x = box.left + 5, y = box.top + 5;
    const chip = element("g", {class: "chip", "data-chip": slot},
      element("rect", {class: "shape", x, y, width: group.title - 14, height: 20, rx: 5}),
      text(name[0], "name", graph.letters.name, x + 6, y + 14, "start"),
      text(kind[0], "soft", graph.letters.small, x + 16 + group.name, y + 14, "start"));
    act(chip, `${group.path || group.kind}, open module; fold it`, () => act.fold(slot), () => act.look(slot));
    layers.chips.append(chip);
    draw(graph, sheet.inner.get(slot), part, box.left, box.top, layers, act);
  }
  for (const [slot, own] of placed.boxes) {
    if (!/^(op|value|end|group):/.test(slot) || placed.inner.has(slot)) continue;
    const box = moved(own), look = graph.looks[slot];
    const made = element("g", {class: `box ${look.kind}`, "data-slot": slot},
      element("title", {}, look.hint), ...outline(look.kind, box), ...texts(box, look, graph.letters));
    const folded = slot.startsWith("group:");
    const words = look.texts.map(part => part[0]).join(", ");
    act(made, folded ? `${words}; open it` : words, () => folded ? act.fold(slot) : act.look(slot), () => act.look(slot));
    layers.boxes.append(made);
  }
  for (const route of placed.routes) {
    const lines = route.bundle.lines.map(number => sheet.lines[number]);
    const stops = route.stops.map(([x, a, b]) => [x + left, a + top, b + top]);
    const label = route.label && moved(route.label);
    const edges = lines.flatMap(line => line[3]), values = lines.map(line => line[2]);
    const told = {"data-edges": edges.join(" "), "data-values": values.join(" ")};
    const still = graph.backward && !lines.some(line => line[4]);
    const made = element("g", {class: still ? "line still" : "line", ...told},
      element("path", {class: "stroke", d: curve({stops, label})}));
    if (route.bundle.labelled) {
      const [x, , y] = stops.at(-1);
      made.append(element("path", {class: "tip", d: `M${x},${y}l-3.2,-6.5h6.4Z`}));
      const look = labelOf(sheet, route.bundle.lines);
      layers.labels.append(element("g", {class: "label", ...told},
        element("title", {}, look.hint), ...texts(label, look, graph.letters)));
    }
    layers.lines.append(made);
  }
}

// The words on a stroke: those of its line, or how many values it carries.
export function labelOf(sheet, numbers) {
  if (numbers.length === 1) return sheet.labels[numbers[0]];
  return sheet.merged[numbers.join(" ")];
}
