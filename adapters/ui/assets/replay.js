/** A recorded life, walked step by step. */
import { byId, h, s, setText } from './dom.js';
import { tell } from './event-log.js';
import { emptyFleet, fold } from './fold.js';

const paceMs = 900;

/** The steps of a recording: what happened at one moment belongs together. */
export function stepsOf(entries) {
  const steps = [];
  for (const entry of entries) {
    const last = steps.at(-1);
    if (last !== undefined && last.at === entry.at) last.entries.push(entry);
    else steps.push({ at: entry.at, entries: [entry] });
  }
  return steps;
}

/** Symbols as drawings: not every typeface has them. */
const symbols = {
  'First step': 'M3 3v10M13 3 6 8l7 5Z',
  'Step back': 'M11 3 4 8l7 5Z',
  'Step on': 'M5 3l7 5-7 5Z',
  'Last step': 'M13 3v10M3 3l7 5-7 5Z',
};

/** The bar with which a recording is walked. `onMove` is told the fleet as it stood at a step, and the moment. */
export class ReplayBar {
  #steps;
  #lives;
  #at = 0;
  #timer = null;
  #onMove;
  #slider;
  #play;
  #says = h('p', { class: 'says', role: 'status' });

  constructor({ title, entries }, onMove) {
    this.#steps = stepsOf(entries);
    this.#lives = new Set(entries.map(({ life }) => life));
    this.#onMove = onMove;
    const last = this.#steps.length - 1;
    this.#slider = h('input', {
      type: 'range',
      min: '0',
      max: String(Math.max(0, last)),
      value: '0',
      'aria-label': 'Step',
      oninput: () => this.#stop(Number(this.#slider.value)),
    });
    this.#play = h('button', {
      type: 'button',
      class: 'primary',
      text: 'Play',
      onclick: () => (this.#timer === null ? this.#start() : this.#stop(this.#at)),
    });
    const button = (label, to) =>
      h(
        'button',
        { type: 'button', 'aria-label': label, title: label, onclick: () => this.#stop(to()) },
        s(
          'svg',
          { viewBox: '0 0 16 16', width: '14', height: '14', 'aria-hidden': 'true' },
          s('path', { d: symbols[label], fill: 'currentColor', stroke: 'currentColor', 'stroke-width': '1.5' }),
        ),
      );
    const bar = byId('replay');
    bar.hidden = false;
    bar.append(
      h('strong', { text: title }),
      h(
        'div',
        { class: 'walk', role: 'group', 'aria-label': 'Replay' },
        button('First step', () => 0),
        button('Step back', () => this.#at - 1),
        this.#play,
        button('Step on', () => this.#at + 1),
        button('Last step', () => last),
      ),
      this.#slider,
      this.#says,
    );
  }

  /** Shows the first step. */
  begin() {
    this.#go(0);
  }

  #go(step) {
    this.#at = Math.min(Math.max(0, step), this.#steps.length - 1);
    this.#slider.value = String(this.#at);
    const fleet = emptyFleet();
    for (const { entries } of this.#steps.slice(0, this.#at + 1)) for (const entry of entries) fold(fleet, entry);
    const { at = 0, entries = [] } = this.#steps[this.#at] ?? {};
    const said = entries
      .map((entry) => this.#words(entry))
      .filter(Boolean)
      .join(' · ');
    const where = `Step ${this.#at} of ${this.#steps.length - 1}`;
    setText(this.#says, said === '' ? where : `${where}: ${said}`);
    this.#slider.setAttribute('aria-valuetext', `${where}: ${said}`);
    this.#onMove(fleet, at);
  }

  /** What an entry says; where there are several lives, which one it is about. */
  #words(entry) {
    const told = tell(entry);
    if (told === null) return '';
    const { badge, text, note } = told;
    // Who acted stands before what was done; what else it changed is in the log.
    if (entry.kind === 'event') return `${badge}: ${text}`;
    // The badge of a state says nothing that its words do not say.
    const head = entry.kind === 'state' ? this.#nameOf(entry.life) : badge;
    return [head, text, note && `(${note})`].filter(Boolean).join(' ');
  }

  #nameOf(life) {
    return this.#lives.size > 1 ? life : '';
  }

  #start() {
    if (this.#at >= this.#steps.length - 1) this.#go(0);
    this.#play.textContent = 'Pause';
    this.#timer = setInterval(() => {
      this.#go(this.#at + 1);
      if (this.#at >= this.#steps.length - 1) this.#stop(this.#at);
    }, paceMs);
  }

  #stop(step) {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#play.textContent = 'Play';
    this.#go(step);
  }
}
