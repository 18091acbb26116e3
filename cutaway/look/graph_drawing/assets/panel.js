// What stands beside the drawing: an operator, a value or a module in words, numbers and colours.

export function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children.filter(child => child !== null && child !== undefined && child !== ""));
  return made;
}

export function short(value) {
  if (value === null || value === undefined) return "not a number";
  if (typeof value === "boolean") return String(value);
  const size = Math.abs(value);
  const words = Number.isInteger(value) && size < 1e15 ? value.toLocaleString("en")
    : size >= 1e4 && size < 1e15 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4)));
  return words.replace(/-/g, "−");
}

const shapeOf = shape => `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;

// A heat map, with the number under the pointer below it; or the numbers themselves if there are few.
function picture(content, graph, name) {
  if (content.numbers !== undefined) return make("pre", {class: "numbers"}, content.numbers);
  const {rows, columns, low, high, start, transposed} = content;
  const levelAt = (row, column) => graph.levels[start + (transposed ? column * rows + row : row * columns + column)];
  const colours = content.signed ? graph.signed : graph.magnitude;
  const canvas = make("canvas", {width: columns, height: rows, role: "img",
    "aria-label": `${name}: heat map from ${short(low)} to ${short(high)}`});
  const paint = canvas.getContext("2d"), image = paint.createImageData(columns, rows);
  for (let row = 0; row < rows; row++) for (let column = 0; column < columns; column++) {
    const level = levelAt(row, column);
    image.data.set(level ? [...colours[level - 1], 255] : [0, 0, 0, 0], 4 * (row * columns + column));
  }
  paint.putImageData(image, 0, 0);
  const side = Math.max(2, Math.min(14, Math.floor(300 / Math.max(columns, rows))));
  canvas.style.width = `${columns * side}px`;
  canvas.style.height = `${Math.max(rows * side, 6)}px`;
  const told = make("p", {class: "soft"});
  const caption = `${content.words} From ${short(low)} (${content.signed ? "blue" : "dark"}) to ${short(high)} `
    + `(${content.signed ? "red" : "light"}).`;
  told.textContent = caption;
  canvas.addEventListener("pointermove", event => {
    const box = canvas.getBoundingClientRect();
    const column = Math.min(columns - 1, Math.floor((event.clientX - box.left) / box.width * columns));
    const row = Math.min(rows - 1, Math.floor((event.clientY - box.top) / box.height * rows));
    const level = levelAt(row, column);
    told.textContent = `Row ${row * content.block[0]}, column ${column * content.block[1]}: `
      + (level ? `about ${short(low + (level - 1) / 254 * (high - low))}` : "not a finite number");
  });
  canvas.addEventListener("pointerleave", () => { told.textContent = caption; });
  return make("div", {}, canvas, told);
}

function statistics(told) {
  if (!told) return null;
  const words = told.mean === null ? ["no finite numbers"] : [
    `mean ${short(told.mean)} ± ${short(told.std)}`, `from ${short(told.min)} to ${short(told.max)}`,
    `norm ${short(told.norm)}`];
  if (told.zeros) words.push(`${short(100 * told.zeros)} % zeros`);
  if (told.nans) words.push(`${short(told.nans)} NaN`);
  if (told.infinities) words.push(`${short(told.infinities)} infinite`);
  return make("p", {class: "soft"}, words.join(" · "));
}

// A value with its content and δ. `given` says which shares of δ have arrived while stepping backwards (null: all).
export function card(graph, value, look, given = null) {
  const kind = value.kind === "value" ? "" : ` ${value.kind}`;
  const parts = [
    make("h4", {}, make("button", {class: "link", onclick: () => look(value)}, value.name),
      make("span", {class: "soft"}, `${kind} ${shapeOf(value.shape)} ${value.dtype}`)),
    statistics(value.statistics),
    value.content ? picture(value.content, graph, value.name) : make("p", {class: "soft"}, `No content: ${value.why}.`),
  ];
  if (graph.backward) {
    const uses = value.uses.filter(edge => graph.edges[edge].share);
    if (value.delta) {
      const waiting = given && uses.some(edge => !given.has(edge));
      parts.push(make("h5", {class: "delta"}, waiting ? "δ so far" : "δ, the gradient of the output"));
      if (uses.length > 1) parts.push(make("p", {}, `Used ${uses.length} times: δ is the sum of these shares.`),
        make("ul", {class: "shares"}, ...uses.map(edge => {
          const {share, node} = graph.edges[edge], here = !given || given.has(edge);
          return make("li", {class: here ? "delta" : "soft"},
            here ? `${share} through ${graph.nodes[node].title}` : `still to come through ${graph.nodes[node].title}`);
        })));
      if (!waiting) parts.push(statistics(value.delta.statistics), value.delta.content
        ? picture(value.delta.content, graph, `δ of ${value.name}`) : null);
    } else parts.push(make("p", {class: "soft"}, `No δ: ${value.why_no_delta}.`));
  }
  return make("section", {class: "card"}, ...parts);
}

export function operatorPanel(graph, node, look, step) {
  const given = step?.given ?? null, heading = text => make("h3", {}, text);
  const parts = [make("h2", {}, node.title)];
  if (node.module) parts.push(make("p", {class: "soft"}, `in ${node.module}`));
  if (node.arguments) parts.push(make("p", {class: "soft"}, `settings: ${node.arguments}`));
  if (node.rule) {
    parts.push(make("p", {}, node.rule.words),
      make("p", {class: step?.direction === "backward" ? "formula soft" : "formula"}, node.rule.forward),
      make("p", {class: "formula delta"}, node.rule.backward));
  } else if (step) parts.push(make("p", {}, step.words));
  const once = list => [...new Set(list)];
  const read = once(node.inputs.map(edge => graph.edges[edge].value)).map(i => graph.values[i]);
  const written = node.outputs.map(i => graph.values[i]);
  const lists = step?.direction === "backward" ? [["δ arrives at", written], ["and goes on to", read]]
    : [["Reads", read], ["Writes", written]];
  for (const [title, values] of lists) if (values.length)
    parts.push(heading(title), ...values.map(value => card(graph, value, look, given)));
  if (node.inside) parts.push(make("p", {class: "soft"}, node.inside));
  return parts;
}

export function valuePanel(graph, value, look) {
  const nodes = value.uses.map(edge => graph.nodes[graph.edges[edge].node].title);
  const made = value.producer === null ? `${value.kind}` : `made by ${graph.nodes[value.producer].title}`;
  return [make("h2", {}, value.name), make("p", {class: "soft"},
    `${made}; ${nodes.length ? `read by ${[...new Set(nodes)].slice(0, 8).join(", ")}` : "read by nobody"}`
    + (new Set(nodes).size > 8 ? " and others" : "")), card(graph, value, look)];
}

export function groupPanel(graph, group, toggle) {
  const rows = group.holds.map(([name, what]) => make("tr", {}, make("th", {scope: "row"}, name), make("td", {}, what)));
  return [make("h2", {}, group.path || group.kind || "The whole graph"), make("p", {}, group.words),
    make("p", {}, make("button", {onclick: toggle}, "Fold or unfold")),
    make("table", {}, make("tbody", {}, ...rows))];
}
