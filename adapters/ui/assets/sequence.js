/** Who asked whom for what: commands, answers and calls as a sequence diagram. */
import { h, s } from './dom.js';
import { brief, moment } from './format.js';
import { isWired } from './event-log.js';
import { topOf } from './fold.js';

const lanes = ['caller', 'lifecycle', 'service', 'VM'];
const width = 560;
const laneAt = [58, 214, 370, 510];
const rowHeight = 30;
const headHeight = 34;
const shown = 80;

/** The messages of a log, in order: from which lane to which, with words. Equal calls in a row are told once. */
export function messagesOf(log) {
  const wired = isWired(log);
  const messages = [];
  let last = null;
  for (const entry of log) {
    const told = tellers[entry.kind]?.(entry, wired) ?? [];
    if (told.length === 0) continue;
    const key = entry.kind === 'call' ? JSON.stringify(told.map(({ text, tone }) => [text, tone])) : null;
    if (key !== null && last?.key === key) {
      last.count += 1;
      last.first.times = last.count;
      continue;
    }
    messages.push(...told);
    last = { key, count: 1, first: told[0] };
  }
  return messages;
}

const tellers = {
  answer({ at, command, verdict, requirement, message }) {
    const refused = verdict === 'refused';
    return [
      { at, from: 0, to: 1, text: command, tone: 'command' },
      {
        at,
        from: 1,
        to: 0,
        text: refused ? `refused ${requirement ?? ''}`.trim() : verdict,
        tone: refused ? 'refused' : 'back',
        title: message,
      },
    ];
  },
  settled({ at, command, error }) {
    return [
      {
        at,
        from: 1,
        to: 0,
        text: `${command} ${error === null ? 'done' : 'failed'}`,
        tone: error === null ? 'back' : 'refused',
        title: error,
      },
    ];
  },
  state({ at, from, state }) {
    const top = topOf(state);
    return topOf(from ?? '') === top ? [] : [{ at, from: 1, to: 1, text: top, tone: 'state' }];
  },
  call({ at, layer, operation, status, ok, durationMs, note }, wired) {
    if ((layer === 'wire') !== wired) return [];
    const to = operation.includes('/') ? 3 : 2;
    const end = [status ?? (ok ? 'ok' : 'failed'), wired ? '' : brief(durationMs)].filter(Boolean).join(', ');
    return [
      { at, from: 1, to, text: operation, tone: 'call' },
      { at, from: to, to: 1, text: end, tone: ok ? 'back' : 'refused', title: note },
    ];
  },
};

/** The diagram panel. */
export class SequenceView {
  #panel;

  constructor(panel) {
    this.#panel = panel;
  }

  show(life) {
    // A call is told when it has ended, but it belongs where it began.
    const messages = messagesOf(life.log.slice().sort((a, b) => a.at - b.at)).slice(-shown);
    if (messages.length === 0) {
      this.#panel.replaceChildren(h('p', { class: 'empty', text: 'No call yet.' }));
      return;
    }
    const names = s('svg', { class: 'sequence names', viewBox: `0 0 ${width} ${headHeight}`, 'aria-hidden': 'true' });
    const height = messages.length * rowHeight + 24;
    const summary = messages
      .map(({ from, to, text }) => (from === to ? text : `${lanes[from]} to ${lanes[to]}: ${text}`))
      .join('; ');
    const svg = s('svg', {
      class: 'sequence',
      viewBox: `0 0 ${width} ${height}`,
      role: 'img',
      'aria-label': `Sequence of calls. ${summary}`,
    });
    for (const [index, lane] of lanes.entries()) {
      svg.append(s('line', { class: 'lane', x1: laneAt[index], x2: laneAt[index], y1: 0, y2: height - 6 }));
      names.append(s('text', { class: 'lane-name', x: laneAt[index], y: 21, 'text-anchor': 'middle', text: lane }));
    }
    for (const [index, message] of messages.entries()) svg.append(arrow(message, index * rowHeight + 24));
    const atEnd = this.#panel.scrollHeight - this.#panel.scrollTop - this.#panel.clientHeight < 40;
    this.#panel.replaceChildren(names, svg);
    if (atEnd) this.#panel.scrollTop = this.#panel.scrollHeight;
  }
}

function arrow({ at, from, to, text: words, tone, title, times = 1 }, y) {
  const text = times === 1 ? words : `${words} ×${times}`;
  const group = s('g', { class: `message ${tone}` }, s('title', { text: title ?? moment(at) }));
  const [x1, x2] = [laneAt[from], laneAt[to]];
  if (from === to) {
    const half = 6 + text.length * 3.6;
    group.append(
      s('rect', { x: x1 - half, y: y - 13, width: half * 2, height: 18, rx: 9, 'data-state': words }),
      s('text', { x: x1, y, 'text-anchor': 'middle', text }),
    );
    return group;
  }
  const way = Math.sign(x2 - x1);
  group.append(
    s('text', { x: (x1 + x2) / 2, y: y - 4, 'text-anchor': 'middle', text }),
    s('path', { d: `M${x1},${y + 2}H${x2 - way * 6}`, class: 'shaft' }),
    s('path', { d: `M${x2 - way * 8},${y - 2}L${x2},${y + 2}L${x2 - way * 8},${y + 6}Z`, class: 'head' }),
  );
  return group;
}
