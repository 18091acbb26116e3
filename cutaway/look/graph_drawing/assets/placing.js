// Where each part of a drawing stands: placing.py once more, for the browser, step by step the same.
// A sheet is {number, title, lines: [[start, stop, value, edges]], rows, paths, inner: Map(slot → sheet)}.

const isLane = slot => slot.startsWith("lane:") || slot.startsWith("label:");
const isPort = slot => slot.startsWith("in:") || slot.startsWith("out:");
const middle = box => box.left + box.width / 2;

export function bundles(sheet) {
  const found = new Map();
  sheet.lines.forEach(([start, stop], number) => {
    const merged = stop.startsWith("group:") && !sheet.inner.has(stop) && !sheet.inner.has(start);
    const key = merged ? `${start} ${stop}` : number;
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(number);
  });
  return [...found.values()].map(lines => {
    const stop = sheet.lines[lines[0]][1];
    return {lines, labelled: !stop.startsWith("out:") && !sheet.inner.has(stop)};
  });
}

export function place(sheet, size, label, metrics) {
  const inner = new Map([...sheet.inner].map(([slot, part]) => [slot, place(part, size, label, metrics)]));
  const drawn = bundles(sheet);
  const sizes = new Map();
  const sizeOf = slot => inner.has(slot) ? [inner.get(slot).width, inner.get(slot).height] : size(slot);
  for (const bundle of drawn) {
    for (const slot of sheet.paths[bundle.lines[0]]) {
      if (slot.startsWith("label:")) sizes.set(slot, bundle.labelled ? label(sheet, bundle.lines) : [0, 0]);
      else sizes.set(slot, isLane(slot) || isPort(slot) ? [0, 0] : sizeOf(slot));
    }
  }
  for (const row of sheet.rows) for (const slot of row)
    if (!sizes.has(slot) && !isLane(slot)) sizes.set(slot, sizeOf(slot));
  const rows = sheet.rows.map(row => row.filter(slot => sizes.has(slot)));
  const centres = across(rows, sizes, linksOf(sheet, drawn, inner), metrics);
  let left = Infinity, right = -Infinity;
  for (const [slot, [w]] of sizes) {
    left = Math.min(left, centres.get(slot) - w / 2);
    right = Math.max(right, centres.get(slot) + w / 2);
  }
  if (!sizes.size) left = right = 0;
  const framed = sheet.number > 0;
  const ports = rows[0].filter(slot => slot.startsWith("in:")).map(slot => centres.get(slot));
  if (framed && ports.length) left = Math.min(left, Math.min(...ports) - sheet.title + 18);
  const width = Math.max(right - left, framed ? sheet.title : 0) + 2 * metrics.pad;
  const shift = (width - (right - left)) / 2 - left;
  const boxes = new Map(), spans = new Map();
  let y = !framed ? metrics.pad : ports.length ? 0 : metrics.header;
  rows.forEach((row, r) => {
    const tall = Math.max(0, ...row.map(slot => sizes.get(slot)[1]));
    for (const slot of row) {
      const [w, h] = sizes.get(slot);
      boxes.set(slot, {left: centres.get(slot) + shift - w / 2, top: y + (tall - h) / 2, width: w, height: h});
      spans.set(slot, [y, y + tall]);
    }
    y += tall;
    if (r < rows.length - 1) y += y === 0 ? metrics.header : metrics.gap;
  });
  for (const slot of rows[0]) if (slot.startsWith("in:")) spans.set(slot, [0, metrics.header - metrics.gap]);
  const height = y + (rows.at(-1).some(slot => slot.startsWith("out:")) ? 0 : metrics.pad);
  return {width, height, boxes, routes: routesOf(sheet, drawn, inner, boxes, spans, metrics), inner};
}

function port(inner, slot, name) {
  return inner.has(slot) ? middle(inner.get(slot).boxes.get(name)) - inner.get(slot).width / 2 : 0;
}

function linksOf(sheet, drawn, inner) {
  const links = new Map();
  for (const bundle of drawn) {
    const value = sheet.lines[bundle.lines[0]][2], path = sheet.paths[bundle.lines[0]];
    for (let i = 0; i + 1 < path.length; i++) {
      const [upper, lower] = [path[i], path[i + 1]];
      const a = port(inner, upper, `out:${value}`), b = port(inner, lower, `in:${value}`);
      links.set(`${upper} ${lower} ${a} ${b}`, [upper, lower, a, b, [1, 2, 8][isLane(upper) + isLane(lower)]]);
    }
  }
  return [...links.values()];
}

function across(rows, sizes, links, metrics) {
  const up = new Map([...sizes.keys()].map(slot => [slot, []]));
  const down = new Map([...sizes.keys()].map(slot => [slot, []]));
  for (const [upper, lower, a, b, weight] of links) {
    up.get(lower).push([upper, a - b, weight]);
    down.get(upper).push([lower, b - a, weight]);
  }
  const x = new Map();
  const apart = rows.map(row => {
    const gaps = [];
    for (let i = 0; i + 1 < row.length; i++) {
      const one = sizes.get(row[i])[0], other = sizes.get(row[i + 1])[0];
      gaps.push((one + other) / 2 + (one === 0 && other === 0 ? metrics.lane : metrics.beside));
    }
    let at = -gaps.reduce((sum, gap) => sum + gap, 0) / 2;
    row.forEach((slot, i) => { x.set(slot, at); at += gaps[i] ?? 0; });
    return gaps;
  });
  const sweeps = Math.max(8, Math.min(metrics.sweeps, Math.floor(metrics.longest / Math.max(1, sizes.size))));
  for (let sweep = 0; sweep < sweeps; sweep++) {
    const downwards = sweep % 2 === 0;
    for (let i = 0; i < rows.length; i++) {
      const r = downwards ? i : rows.length - 1 - i;
      const wanted = [], weights = [];
      for (const slot of rows[r]) {
        const near = sweep < 4 ? (downwards ? up : down).get(slot) : [...up.get(slot), ...down.get(slot)];
        const total = near.reduce((sum, n) => sum + n[2], 0);
        const pulled = near.reduce((sum, [n, offset, weight]) => sum + (x.get(n) + offset) * weight, 0);
        wanted.push(near.length ? pulled / total : x.get(slot));
        weights.push(near.length ? total : 0.1);
      }
      apartAtLeast(wanted, weights, apart[r]).forEach((value, k) => x.set(rows[r][k], value));
    }
  }
  straighten(rows, apart, x, up, down, metrics);
  return x;
}

export function apartAtLeast(wanted, weights, gaps) {
  const offsets = [0];
  for (const gap of gaps) offsets.push(offsets.at(-1) + gap);
  const pools = [];
  wanted.forEach((want, i) => {
    let mean = want - offsets[i], total = weights[i], count = 1;
    while (pools.length && pools.at(-1)[0] > mean) {
      const [before, heavy, more] = pools.pop();
      mean = (mean * total + before * heavy) / (total + heavy);
      total += heavy;
      count += more;
    }
    pools.push([mean, total, count]);
  });
  const means = pools.flatMap(([mean, , count]) => Array(count).fill(mean));
  return means.map((mean, i) => mean + offsets[i]);
}

function straighten(rows, apart, x, up, down, metrics) {
  const chains = [], ends = new Map(), shift = new Map(), beside = new Map();
  for (const row of rows) for (const slot of row) {
    let before = up.get(slot).filter(n => isLane(slot) && isLane(n[0]));
    const above = up.get(slot);
    if (!before.length && above.length === 1 && down.get(above[0][0]).length === 1) before = above;
    let chain = [];
    if (before.length && ends.has(before[0][0])) {
      chain = ends.get(before[0][0]);
      ends.delete(before[0][0]);
      shift.set(slot, shift.get(before[0][0]) + before[0][1]);
    } else {
      shift.set(slot, 0);
      chains.push(chain);
    }
    chain.push(slot);
    ends.set(slot, chain);
  }
  rows.forEach((row, r) => row.forEach((slot, i) =>
    beside.set(slot, [row[i - 1], apart[r][i - 1], row[i + 1], apart[r][i]])));
  for (let turn = 0; turn < metrics.straight; turn++) {
    for (const chain of chains) {
      let low = -Infinity, high = Infinity, total = 0;
      for (const slot of chain) {
        const [left, gap, right, other] = beside.get(slot);
        if (left !== undefined) low = Math.max(low, x.get(left) + gap - shift.get(slot));
        if (right !== undefined) high = Math.min(high, x.get(right) - other - shift.get(slot));
        total += x.get(slot) - shift.get(slot);
      }
      if (low > high) continue;
      const at = Math.min(Math.max(total / chain.length, low), high);
      for (const slot of chain) x.set(slot, at + shift.get(slot));
    }
  }
}

function routesOf(sheet, drawn, inner, boxes, spans, metrics) {
  const paths = drawn.map(bundle => sheet.paths[bundle.lines[0]]);
  const first = drawn.map(bundle => sheet.lines[bundle.lines[0]]);
  const entering = new Map(), leaving = new Map();
  first.forEach(([start, stop, value], i) => {
    if (!entering.has(stop)) entering.set(stop, []);
    entering.get(stop).push([middle(boxes.get(paths[i].at(-2))), i]);
    if (!leaving.has(start)) leaving.set(start, new Map());
    if (!leaving.get(start).has(value)) leaving.get(start).set(value, middle(boxes.get(paths[i][1])));
  });
  const ordered = pairs => pairs.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(pair => pair[1]);
  const spread = (box, one, order) =>
    (order.indexOf(one) - (order.length - 1) / 2) * Math.min(metrics.ports, box.width / (order.length + 1));
  return drawn.map((bundle, i) => {
    const [start, stop, value] = first[i];
    const stops = paths[i].map(slot => {
      const box = boxes.get(slot), [top, bottom] = spans.get(slot);
      if (slot === start) {
        const order = ordered([...leaving.get(slot)].map(([v, at]) => [at, v]));
        const off = inner.has(slot) ? port(inner, slot, `out:${value}`) : spread(box, value, order);
        return [middle(box) + off, box.top + box.height, bottom];
      }
      if (slot === stop) {
        const order = ordered([...entering.get(slot)]);
        const off = inner.has(slot) ? port(inner, slot, `in:${value}`) : spread(box, i, order);
        return [middle(box) + off, top, box.top];
      }
      return [middle(box), top, bottom];
    });
    return {bundle, stops, label: bundle.labelled ? boxes.get(paths[i].at(-2)) : null};
  });
}
