// The interactive part of the report: everything is drawn from the JSON in #data. No network, no storage.
'use strict';
(function () {
const data = JSON.parse(document.getElementById('data').textContent);
const cases = data.cases;
const byId = id => document.getElementById(id);
const make = (tag, attributes, ...children) => {
  const element = Object.assign(document.createElement(tag), attributes || {});
  element.append(...children);
  return element;
};
const num = (value, digits) => value === null || value === undefined || !isFinite(value) ? '\u2013' :
  Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toExponential(2) :
  Number(value).toFixed(digits === undefined ? 2 : digits);
const label = c => c.name || c.descriptor;
const family = c => (c.algorithm || '').split('+')[0];
const colorOf = c => data.colors[c.algorithm] || '#8c564b';
const lost = c => c.bound_us ? c.time_us - c.bound_us : null;
const lossList = c => (c.losses || []).slice().sort((a, b) => b.us - a.us);

// ---- table ----
const columns = [
  ['case', c => label(c), 'text'], ['descriptor', c => c.descriptor, 'text'], ['threads', c => c.threads, 0],
  ['mode', c => c.mode, 'text'], ['kernel', c => c.kernel, 'text'], ['time \u00b5s', c => c.time_us, 2],
  ['\u00b1 %', c => c.spread, 1], ['GFLOP/s', c => c.gflops, 1], ['FLOP/byte', c => c.intensity, 2],
  ['bound \u00b5s', c => c.bound_us, 2], ['roof', c => c.binding, 'text'],
  ['% bound', c => c.bound_us ? 100 * c.bound_us / c.time_us : null, 1], ['model \u00b5s', c => c.model_us, 2],
  ['lost \u00b5s', lost, 2], ['largest loss', c => { const l = lossList(c)[0]; return l ? l.name : ''; }, 'text'],
  ['vs same', c => c.same && c.same.speedup, 3], ['verdict', c => c.same ? c.same.verdict : '', 'text'],
  ['vs best', c => c.best && c.best.speedup, 3], ['verdict', c => c.best ? c.best.verdict : '', 'text'],
  ['max error', c => c.max_error, 2],
];
const used = columns.filter(column => cases.some(c => { const v = column[1](c);
  return v !== null && v !== undefined && v !== ''; }));
let order = { column: -1, down: true };
const verdictClass = v => ({ FASTER: 'faster', SLOWER: 'slower', AMBIGUOUS: 'ambiguous' }[v] || '');

function cell(column, c) {
  const value = column[1](c);
  if (column[2] !== 'text') {
    const over = column[0] === '% bound' && value > 103;
    return make('td', { className: over ? 'error' : '', textContent: num(value, column[2]) + (over ? ' OVER ROOF' : '') });
  }
  return make('td', { className: 'text ' + verdictClass(value), textContent: value || '', title: value || '' });
}
function fillTable() {
  const wanted = byId('filter').value.toLowerCase();
  let rows = cases.map((c, i) => [c, i]).filter(([c]) =>
    !wanted || [label(c), c.descriptor, c.kernel].join(' ').toLowerCase().includes(wanted));
  if (order.column >= 0) {
    const get = used[order.column][1];
    rows.sort(([a], [b]) => {
      const x = get(a), y = get(b);
      const missing = v => v === null || v === undefined || v === '';
      if (missing(x) || missing(y)) return missing(x) - missing(y);
      const result = typeof x === 'string' ? x.localeCompare(y) : x - y;
      return order.down ? -result : result;
    });
  }
  byId('case-table').tBodies[0].replaceChildren(...rows.map(([c, i]) => {
    const row = make('tr', { id: 'case-' + i });
    if (c.error) {
      row.append(make('td', { className: 'text', textContent: label(c) }),
        make('td', { className: 'text error', colSpan: used.length - 1, textContent: 'error: ' + c.error }));
    } else {
      row.append(...used.map(column => cell(column, c)));
    }
    return row;
  }));
}
function fillHead() {
  const cells = used.map((column, i) => make('th', {
    className: column[2] === 'text' ? 'text' : '', textContent: column[0], tabIndex: 0,
    onclick: () => { order = { column: i, down: order.column === i ? !order.down : column[2] !== 'text' };
      fillHead(); fillTable(); },
  }));
  if (order.column >= 0) cells[order.column].setAttribute('aria-sort', order.down ? 'descending' : 'ascending');
  byId('case-table').tHead.replaceChildren(make('tr', {}, ...cells));
}
function showRow(i) {
  if (byId('filter').value) { byId('filter').value = ''; fillTable(); }
  document.querySelectorAll('tr.lit').forEach(row => row.classList.remove('lit'));
  const row = byId('case-' + i);
  if (!row) return;
  row.classList.add('lit');
  row.scrollIntoView({ block: 'center' });
}

// ---- charts ----
const powers = value => { const e = Math.log2(value); if (Math.abs(e - Math.round(e)) > 1e-9) return null;
  return e >= 0 ? String(2 ** Math.round(e)) : '1/' + 2 ** Math.round(-e); };
const powerTicks = axis => { axis.ticks = []; const from = Math.ceil(Math.log2(axis.min) - 1e-9),
  to = Math.floor(Math.log2(axis.max) + 1e-9), step = Math.max(1, Math.ceil((to - from) / 14));
  for (let e = from; e <= to; e += step) axis.ticks.push({ value: 2 ** e }); };
const logAxis = (title, low, high) => ({ type: 'logarithmic', min: low, max: high, title: { display: true, text: title },
  afterBuildTicks: powerTicks, ticks: { callback: powers } });
const wrapped = words => { const lines = []; let line = '';
  for (const word of words.split(' ')) { if ((line + word).length > 58) { lines.push(line); line = ''; }
    line += (line ? ' ' : '') + word; }
  return lines.concat(line); };

function describeCase(c) {
  const lines = [label(c)];
  if (c.name) lines.push(c.descriptor);
  lines.push(`${num(c.time_us)} \u00b5s (${c.mode}), ${num(c.gflops, 1)} GFLOP/s, ${num(c.intensity)} FLOP/byte`);
  lines.push(`${c.kernel} (${c.algorithm})`);
  if (c.bound_us) {
    lines.push(`bound ${num(c.bound_us)} \u00b5s (${c.binding}): ${num(100 * c.bound_us / c.time_us, 1)} % of it reached` +
      (c.direct_bound_us ? `; GFLOP/s are effective, the direct sum's bound is ${num(c.direct_bound_us)} \u00b5s` : ''));
  }
  if (c.model_us) lines.push(`model ${num(c.model_us)} \u00b5s`);
  for (const loss of lossList(c).slice(0, 4)) lines.push(`  loses ${num(loss.us)} \u00b5s: ${loss.name}`);
  return lines;
}

function rooflineConfig(view) {
  const dots = view.dots, longest = Math.max(...dots.map(d => cases[d[0]].time_us), 1e-9);
  let left = 1, right = 1, low = Infinity, high = view.peak || 1;
  for (const [, x, y] of dots) { left = Math.min(left, x); right = Math.max(right, x);
    low = Math.min(low, y); high = Math.max(high, y); }
  for (const level of view.levels) right = Math.max(right, level.ridge * 4);
  const sheets = data.sheets.filter(s => (!s.threads || s.threads === view.threads) && s.gflops > 0 && s.gflops < 64 * (view.peak || s.gflops));
  for (const sheet of sheets) high = Math.max(high, sheet.gflops);
  if (!isFinite(low)) low = 1;
  // Half an octave to the right, so that no dot is cut off.
  const x0 = 2 ** Math.floor(Math.log2(left)), x1 = 2 ** Math.ceil(Math.log2(right) + 0.5);
  const y0 = 2 ** (Math.floor(Math.log2(low)) - 1), y1 = 2 ** Math.ceil(Math.log2(high) + 0.3);
  const roof = (gflops, bandwidth) => { const ridge = bandwidth ? gflops / bandwidth : 0, start = Math.max(x0, bandwidth ? y0 / bandwidth : x0);
    return (ridge > start ? [{ x: start, y: start * bandwidth }, { x: Math.min(ridge, x1), y: Math.min(gflops, x1 * bandwidth) }] : [{ x: x0, y: gflops }])
      .concat(ridge < x1 ? [{ x: x1, y: gflops }] : []); };
  const line = (name, points, more) => Object.assign({ label: name, data: points, showLine: true, pointRadius: 0,
    pointHitRadius: 0, borderWidth: 1.5, fill: false, kind: 'roof' }, more);
  const shades = { L1: '#999', L2: '#777', L3: '#555', DRAM: '#222' };
  const sets = view.levels.map(level => line(`${level.name} ${num(level.gb_per_s, 0)} GB/s, ridge ${num(level.ridge, 1)}`,
    roof(view.peak, level.gb_per_s), { borderColor: shades[level.name] || '#444' }));
  if (view.peak) {
    sets.push(line(`measured peak ${num(view.peak, 1)} GFLOP/s`, roof(view.peak, 0), { borderColor: '#222', borderWidth: 2 }));
    sets.push({ label: 'ridge points', data: view.levels.map(l => ({ x: l.ridge, y: view.peak, level: l })), kind: 'ridge',
      pointStyle: 'rectRot', radius: 5, backgroundColor: '#222' });
  }
  for (const sheet of sheets) {
    sets.push(line(`data sheet: ${sheet.name}, ${num(sheet.gflops, 1)} GFLOP/s`, roof(sheet.gflops, sheet.gb_per_s), { borderColor: '#b36', borderDash: [2, 4] }));
  }
  const families = [...new Set(dots.map(d => cases[d[0]].algorithm))].sort();
  for (const name of families) {
    const own = dots.filter(d => cases[d[0]].algorithm === name);
    const hollow = cases[own[0][0]].hollow;
    sets.push({ label: name, kind: 'dots', data: own.map(d => ({ x: d[1], y: d[2], i: d[0] })),
      radius: own.map(d => Math.max(3, 16 * Math.sqrt(cases[d[0]].time_us / longest))), hoverRadius: own.map(d => Math.max(5, 18 * Math.sqrt(cases[d[0]].time_us / longest))),
      borderColor: data.colors[name], borderWidth: hollow ? 2 : 1, backgroundColor: hollow ? 'transparent' : data.colors[name] + '99' });
  }
  return { type: 'scatter', data: { datasets: sets }, options: {
    responsive: true, maintainAspectRatio: false, animation: false,
    scales: { x: logAxis('intensity, FLOP/byte', x0, x1), y: logAxis('GFLOP/s', y0, y1) },
    onClick: (event, hits, chart) => { const hit = hits.find(h => chart.data.datasets[h.datasetIndex].kind === 'dots');
      if (hit) showRow(chart.data.datasets[hit.datasetIndex].data[hit.index].i); },
    plugins: { legend: { position: 'bottom', labels: { boxWidth: 12, font: { size: 11 } } }, tooltip: { displayColors: false,
      callbacks: { label: item => { const point = item.raw;
        if (item.dataset.kind === 'dots') return describeCase(cases[point.i]);
        if (item.dataset.kind === 'ridge') return `ridge ${point.level.name}: ${num(point.x)} FLOP/byte`;
        return item.dataset.label; } } } },
  } };
}

function drawRoofline() {
  const controls = document.querySelector('#roofline .controls');
  let chart = null;
  const show = index => { if (chart) chart.destroy(); chart = new Chart(byId('roofline-chart'), rooflineConfig(data.views[index]));
    document.body.dataset.drawn = chart.data.datasets.filter(s => s.kind === 'dots').reduce((n, s) => n + s.data.length, 0); };
  if (data.views.length > 1) {
    const select = make('select', { onchange: () => show(select.selectedIndex) }, ...data.views.map(v =>
      make('option', { textContent: `${v.threads} thread${v.threads === 1 ? '' : 's'}${v.mode ? ', ' + v.mode : ''}` })));
    controls.append(select);
  }
  if (data.views.length) show(0);
}

const lossColors = ['#e67e22', '#8e44ad', '#c0392b', '#16a085', '#2980b9', '#d4ac0d', '#7f8c8d', '#a04000', '#6c3483', '#117864'];
function drawLosses() {
  const worst = cases.filter(c => !c.error && c.bound_us > 0 && lost(c) > 0).sort((a, b) => lost(b) - lost(a)).slice(0, 10);
  if (!worst.length) { byId('losses').remove(); return; }
  const names = [...new Set(worst.flatMap(c => (c.losses || []).map(l => l.name)))];
  const share = (c, us) => 100 * us / Math.max(c.time_us, c.model_us || 0);
  const rest = c => Math.max(0, c.time_us - Math.max(c.model_us || 0, c.bound_us));
  const bar = (text, color, value) => ({ label: text, backgroundColor: color, data: worst.map(value) });
  const find = (c, name) => { const l = (c.losses || []).find(one => one.name === name); return l ? l.us : 0; };
  const sets = [bar('bound', '#aab7c4', c => share(c, c.bound_us))]
    .concat(names.map((name, i) => bar(name, lossColors[i % lossColors.length], c => share(c, find(c, name)))))
    .concat([bar('unexplained', '#222', c => share(c, rest(c)))]);
  byId('loss-chart').parentElement.style.height = 90 + 42 * worst.length + 'px';
  new Chart(byId('loss-chart'), { type: 'bar', data: { labels: worst.map(c => `${label(c)} (${c.threads})`.slice(-34)), datasets: sets },
    options: { indexAxis: 'y', responsive: true, maintainAspectRatio: false, animation: false,
      scales: { x: { stacked: true, max: 100, title: { display: true, text: '% of the measured time' } }, y: { stacked: true } },
      plugins: { legend: { position: 'bottom', labels: { boxWidth: 12 } }, tooltip: { callbacks: {
        label: item => `${item.dataset.label}: ${num(item.raw, 1)} %`,
        afterBody: items => { const c = worst[items[0].dataIndex];
          const l = (c.losses || []).find(one => one.name === items[0].dataset.label);
          return (l && l.why ? wrapped(l.why) : []).concat(`time ${num(c.time_us)} \u00b5s, bound ${num(c.bound_us)} \u00b5s`); } } } } } });
}

function drawVersus() {
  const section = byId('versus'), some = cases.filter(c => c.best);
  if (!some.length) { section.append(make('p', { textContent: 'No comparison was asked for (--vs onednn).' })); return; }
  const ratios = some.map(c => c.best.speedup), mean = Math.exp(ratios.reduce((s, r) => s + Math.log(r), 0) / ratios.length);
  const count = v => some.filter(c => c.best.verdict === v).length;
  section.append(make('p', { textContent: `${data.baseline}: against its fastest of own layout, its own choice and blocks of 16: ` +
    `geomean ${num(mean, 3)} over ${some.length} cases, ${count('FASTER')} faster, ${count('SAME')} same, ` +
    `${count('SLOWER')} slower, ${count('AMBIGUOUS')} ambiguous. Above 1: rafter is faster.` }));
  const holder = make('div', { className: 'chart screen' }, make('canvas'));
  section.append(holder);
  const sorted = some.slice().sort((a, b) => a.best.speedup - b.best.speedup);
  holder.style.height = Math.min(1400, 80 + 16 * sorted.length) + 'px';
  const color = { FASTER: '#1e8449', SLOWER: '#c0392b', SAME: '#85929e', AMBIGUOUS: '#d68910' };
  new Chart(holder.firstChild, { type: 'bar', data: { labels: sorted.map(c => `${label(c)} (${c.threads})`.slice(-34)), datasets: [{
    label: 'speed-up over its best', data: sorted.map(c => c.best.speedup), base: 1, backgroundColor: sorted.map(c => color[c.best.verdict] || '#85929e') }] },
    options: { indexAxis: 'y', responsive: true, maintainAspectRatio: false, animation: false,
      scales: { x: { type: 'logarithmic', title: { display: true, text: 'time of it / time of rafter' } }, y: { ticks: { autoSkip: sorted.length > 80, font: { size: 10 } } } },
      plugins: { legend: { display: false }, tooltip: { callbacks: { label: item => { const b = sorted[item.dataIndex].best;
        return [`${num(b.speedup, 3)} [${num(b.ci_low, 3)}, ${num(b.ci_high, 3)}] ${b.verdict}`, `${b.implementation} ${b.layout}`]; } } } } } });
}

function drawCliffs() {
  const section = byId('cliffs');
  if (!data.sweep) { section.remove(); document.querySelector('nav a[href="#cliffs"]').remove(); return; }
  section.append(make('p', { className: 'hint', textContent: 'Time per valid FLOP against the swept parameter: flat is good, a step is a cliff. Red: a named cliff.' }));
  for (const axis of data.sweep.axes) {
    const key = c => data.sweep.axes.filter(a => a !== axis && data.sweep.kind === 'product').map(a => `${a.name}=${c.sweep[a.name]}`)
      .concat(data.threads > 1 ? [`${c.threads} thr`] : [], data.modes > 1 ? [c.mode] : []).join(', ') || axis.name;
    const groups = new Map();
    cases.filter(c => !c.error && c.sweep && c.flops).forEach(c => { const k = key(c); groups.set(k, (groups.get(k) || []).concat(c)); });
    if (![...groups.values()].some(g => g.length > 1)) continue;
    const holder = make('div', { className: 'chart small screen' }, make('canvas'));
    section.append(make('h3', { textContent: axis.name }), holder);
    const cliff = c => data.cliffs.find(one => one.axis === axis.name && one.case === cases.indexOf(c));
    const sets = [...groups].slice(0, 12).map(([name, group], i) => { group.sort((a, b) => a.sweep[axis.name] - b.sweep[axis.name]);
      const marks = group.map(cliff), color = lossColors[i % lossColors.length];
      return { label: name, showLine: true, borderColor: color, borderWidth: 1.5, kind: 'sweep',
        data: group.map((c, j) => ({ x: c.sweep[axis.name], y: 1e3 * c.time_us / c.flops, c, cliff: marks[j] })),
        radius: marks.map(m => m ? 6 : 2.5), backgroundColor: marks.map(m => m ? '#c0392b' : color) }; });
    const values = axis.values, wide = Math.min(...values) > 0 && Math.max(...values) / Math.min(...values) > 20;
    new Chart(holder.firstChild, { type: 'scatter', data: { datasets: sets }, options: { responsive: true, maintainAspectRatio: false, animation: false,
      scales: { x: { type: wide ? 'logarithmic' : 'linear', title: { display: true, text: axis.name } }, y: { beginAtZero: true, title: { display: true, text: 'ns per 1000 FLOPs' } } },
      onClick: (event, hits, chart) => { if (hits.length) showRow(cases.indexOf(chart.data.datasets[hits[0].datasetIndex].data[hits[0].index].c)); },
      plugins: { legend: { position: 'bottom', labels: { boxWidth: 12 } }, tooltip: { displayColors: false, callbacks: {
        label: item => describeCase(item.raw.c).concat(item.raw.cliff ? wrapped('CLIFF: ' + item.raw.cliff.text) : []) } } } } });
  }
  if (data.cliffs.length) {
    section.append(make('h3', { textContent: 'Cliffs' }), make('ul', {}, ...data.cliffs.map(one => make('li', { textContent: one.text }))));
  } else {
    section.append(make('p', { textContent: 'No cliff was found.' }));
  }
}

function showEnvironment() {
  const list = make('dl');
  const walk = (object, prefix) => { for (const [name, value] of Object.entries(object)) {
    if (value === null || value === '' || (Array.isArray(value) && !value.length)) continue;
    if (typeof value === 'object' && !Array.isArray(value)) { walk(value, prefix + name + '.'); continue; }
    list.append(make('dt', { textContent: prefix + name }), make('dd', { textContent: typeof value === 'string' ? value :
      Array.isArray(value) && typeof value[0] === 'object' ? value.map(v => Object.values(v).filter(x => x !== '').join(' ')).join('; ') : JSON.stringify(value) }));
  } };
  walk(data.environment, '');
  byId('environment-table').append(list);
  byId('download').onclick = () => { const url = URL.createObjectURL(new Blob([JSON.stringify(data, null, 1)], { type: 'application/json' }));
    make('a', { href: url, download: 'rafter-report.json' }).click(); URL.revokeObjectURL(url); };
}

byId('filter').oninput = fillTable;
fillHead();
fillTable();
showEnvironment();
if (typeof Chart === 'undefined') {
  document.body.classList.add('no-charts');
} else {
  drawRoofline();
  drawCliffs();
  drawLosses();
  drawVersus();
}
document.body.dataset.ready = 'yes';
})();
