/** The states of a life along time, as a strip. */
import { h } from './dom.js';
import { brief, span } from './format.js';

/** Below ten seconds a tenth makes a difference. */
const length = (ms) => (ms < 10_000 ? brief(ms) : span(ms));

/** With more stretches than this there is no room for gaps between them. */
const dense = 60;

/** Draws the strip of a life up to a moment. */
export function drawTimeline(container, life, now) {
  const { marks } = life;
  const [first] = marks;
  if (first === undefined) {
    container.replaceChildren();
    return;
  }
  const end = Math.max(now, marks.at(-1).at + 1);
  const whole = Math.max(1, end - first.at);
  const stretches = marks.map(({ at, state }, index) => ({ state, at, until: marks[index + 1]?.at ?? end }));
  const label = stretches.map(({ state, at, until }) => `${state} ${length(until - at)}`).join(', ');
  const strip = h('div', {
    class: stretches.length > dense ? 'strip dense' : 'strip',
    role: 'img',
    'aria-label': `States over ${length(whole)}: ${label}`,
  });
  for (const { state, at, until } of stretches) {
    const share = (until - at) / whole;
    const piece = h('span', { class: 'stretch', 'data-state': state, title: `${state}, ${length(until - at)}` });
    // A moment still has to be seen.
    piece.style.flexGrow = String(Math.max(share, 0.012));
    if (share > 0.1) piece.append(h('span', { text: state }));
    strip.append(piece);
  }
  const scale = h(
    'div',
    { class: 'scale', 'aria-hidden': 'true' },
    h('span', { text: '0' }),
    h('span', { text: length(whole / 2) }),
    h('span', { text: length(whole) }),
  );
  container.replaceChildren(strip, scale);
}
