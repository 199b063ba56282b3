/** The statechart of a life: the current state lit, the last transition traced. */
import { byId, h, setText } from './dom.js';
import { topOf } from './fold.js';
import { read } from './connection.js';
import { eventName } from './event-log.js';

/** The chart panel. */
export class ChartView {
  #charts = new Map();
  #life = null;
  #view = 'overview';
  #shown = '';
  #canvas = byId('chart');

  constructor() {
    for (const [view, title] of [
      ['overview', 'Overview'],
      ['inside', 'Inside'],
    ]) {
      const button = h('button', { type: 'button', 'data-view': view, 'aria-pressed': 'false', text: title });
      button.addEventListener('click', () => {
        this.#view = view;
        // At once: the drawing may still have to be made.
        for (const other of byId('chart-views').children) other.setAttribute('aria-pressed', String(other === button));
        void this.#draw();
      });
      byId('chart-views').append(button);
    }
    const wide = h('button', { type: 'button', 'aria-pressed': 'false', class: 'wide', text: 'Wide' });
    wide.addEventListener('click', () => {
      const on = document.querySelector('.panels').classList.toggle('wide');
      wide.setAttribute('aria-pressed', String(on));
    });
    byId('chart-title').after(wide);
  }

  /** Shows a life as it stands. */
  show(life) {
    this.#life = life;
    void this.#draw();
  }

  /** A drawing of a machine, fetched once. */
  async #chartOf(machine, part) {
    const path = `/charts/${[machine, ...(part === null ? [] : [part])].map(encodeURIComponent).join('/')}`;
    if (!this.#charts.has(path))
      this.#charts.set(
        path,
        read(path).catch(() => null),
      );
    const chart = await this.#charts.get(path);
    if (chart === null) this.#charts.delete(path);
    return chart;
  }

  async #draw() {
    const life = this.#life;
    if (life === null || life.machine === '') return;
    const overview = await this.#chartOf(life.machine, null);
    const around = ancestry(life.state);
    const top = overview?.parts.find((part) => around.has(part)) ?? topOf(life.state);
    const divisible = overview?.parts.includes(top) === true;
    const inside = this.#view === 'inside' && divisible;
    const chart = inside ? await this.#chartOf(life.machine, top) : overview;
    if (life !== this.#life || (divisible && !ancestry(life.state).has(top))) return;
    this.#showViews(inside, divisible ? top : null);
    const wanted = `${life.machine} ${chart === null ? '' : inside ? top : 'overview'}`;
    if (wanted !== this.#shown) {
      this.#shown = wanted;
      this.#canvas.replaceChildren(
        chart === null
          ? h('p', { class: 'empty', text: `No chart of ${life.machine} is known.` })
          : drawing(chart.picture),
      );
    }
    const lit = light(this.#canvas, life);
    if (inside) lit?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    setText(byId('trace'), traceOf(life));
  }

  #showViews(inside, top) {
    for (const button of byId('chart-views').children) {
      const isInside = button.dataset.view === 'inside';
      button.setAttribute('aria-pressed', String(isInside === inside));
      if (!isInside) continue;
      button.disabled = top === null;
      setText(button, top === null ? 'Inside' : `Inside ${top}`);
    }
  }
}

/** A drawing of the server's as an element. Its parser takes SVG only, and the page's policy runs no script in it. */
function drawing({ width, height, content }) {
  const source = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}">${content}</svg>`;
  const svg = document.importNode(new DOMParser().parseFromString(source, 'image/svg+xml').documentElement, true);
  svg.setAttribute('class', 'drawing');
  svg.setAttribute('role', 'img');
  // It shrinks to fit, but never so far that its words cannot be read; then it scrolls.
  svg.style.maxWidth = `${width}px`;
  svg.style.minWidth = `${Math.round(width * 0.57)}px`;
  return svg;
}

function light(canvas, life) {
  const svg = canvas.querySelector('svg.drawing');
  if (svg === null) return null;
  svg.setAttribute('aria-label', `${life.machine}: ${life.state || 'starting'}`);
  const around = ancestry(life.state);
  for (const element of svg.querySelectorAll('[data-state]')) {
    element.classList.toggle('lit', around.has(element.dataset.state));
  }
  const { from = null, to = '' } = life.lastMove ?? {};
  const candidates = from === null ? [] : [`${from} ${to} `, ...pairsAround(from, to)];
  for (const element of svg.querySelectorAll('[data-move]')) {
    element.classList.toggle(
      'traced',
      candidates.some((move) => `${element.dataset.move} `.startsWith(move)),
    );
  }
  return [...svg.querySelectorAll('.node.lit')].at(-1) ?? null;
}

/** A state's path and those around it; regions of a parallel state are joined by `|`. */
function ancestry(state) {
  const found = new Set();
  for (const region of state.split('|')) {
    const parts = region.split('.');
    for (let length = 1; length <= parts.length; length += 1) found.add(parts.slice(0, length).join('.'));
  }
  return found;
}

/**
 * The arrows that may stand for a transition: between the states themselves, or between any that are around them, in
 * each region for itself.
 */
function pairsAround(from, to) {
  const heads = to.split('|');
  const depth = heads.length > 1 ? 2 : 1;
  const outermost = (path) => path.split('.').slice(0, depth).join('.');
  return from.split('|').flatMap((tail, region) => {
    const head = heads[region] ?? '';
    if (outermost(tail) === outermost(head)) return tail === head ? [] : [`${tail} ${head} `];
    const law = depth === 1 ? '' : topOf(tail);
    return [...ancestry(tail), law].flatMap((outer) => [...ancestry(head)].map((inner) => `${outer} ${inner} `));
  });
}

function traceOf({ lastMove, state, reason, cause }) {
  if (lastMove === null || lastMove.from === null) return state === '' ? '' : `It began in ${state}.`;
  const why = [cause === null ? '' : `cause: ${cause}`, reason ?? ''].filter(Boolean).join(', ');
  return `${lastMove.from} → ${lastMove.to} by ${eventName(lastMove.event)}${why === '' ? '' : ` (${why})`}`;
}
