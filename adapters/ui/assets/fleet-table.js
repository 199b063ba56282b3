/** The table of VMs: a grid that is walked with the arrow keys, kept up to date row by row. */
import { byId, h, setText } from './dom.js';
import { span } from './format.js';
import { topOf } from './fold.js';

/** The states of the service in the order of a life; others sort after them. */
export const stateOrder = ['PENDING', 'RUNNING', 'SUSPENDING', 'SUSPENDED', 'TERMINATING', 'TERMINATED'];

const ended = new Set(['TERMINATING', 'TERMINATED']);

/** What the columns show, and what they sort by. */
const columns = [
  { key: 'name', title: 'VM', show: null, by: (life) => life.title },
  { key: 'state', title: 'State', show: null, by: (life) => rank(life.state) },
  {
    key: 'age',
    title: 'Age',
    show: (life, now) => (ended.has(topOf(life.state)) ? null : now - startOf(life)),
    by: (life) => -startOf(life),
  },
  {
    key: 'window',
    title: 'Window',
    hint: 'Suspended window left: how long it can still be resumed',
    show: windowLeft,
    by: (life, now) => windowLeft(life, now) ?? Infinity,
  },
  {
    key: 'life',
    title: 'Lifetime',
    hint: 'Lifetime left: when it is ended for its maximum duration',
    show: lifetimeLeft,
    by: (life, now) => lifetimeLeft(life, now) ?? Infinity,
  },
];

function rank(state) {
  const at = stateOrder.indexOf(topOf(state));
  return at === -1 ? stateOrder.length : at;
}

function startOf(life) {
  return life.facts?.startedAt ?? life.bornAt;
}

function windowLeft(life, now) {
  return topOf(life.state) === 'SUSPENDED' && life.facts?.windowEndsAt ? life.facts.windowEndsAt - now : null;
}

function lifetimeLeft(life, now) {
  return !ended.has(topOf(life.state)) && life.facts?.lifetimeEndsAt ? life.facts.lifetimeEndsAt - now : null;
}

/** The table over a fleet. `onSelect` is told the name of the life that a person chose. */
export class FleetTable {
  /** The moment that times are counted to. */
  now = Date.now;
  #fleet;
  #onSelect;
  #rows = new Map();
  #dirty = new Set();
  #order = [];
  #selected = null;
  #filter = '';
  #state = null;
  #sort = { key: 'age', descending: true };
  #body = byId('fleet');

  constructor(onSelect) {
    this.#onSelect = onSelect;
    for (const { key, title, hint } of columns) {
      const button = h('button', {
        type: 'button',
        text: title,
        title: hint ?? null,
        onclick: () => this.#sortBy(key),
      });
      byId('fleet-columns').append(h('th', { scope: 'col', 'data-key': key, role: 'columnheader' }, button));
    }
    this.#body.addEventListener('click', (event) => this.#choose(event.target.closest('tr')));
    this.#body.addEventListener('keydown', (event) => this.#walk(event));
    byId('filter').addEventListener('input', (event) => {
      this.#filter = event.target.value.trim().toLowerCase();
      this.arrange();
    });
    byId('filter').addEventListener('keydown', (event) => {
      if (event.key !== 'ArrowDown') return;
      event.preventDefault();
      this.#body.querySelector('tr')?.focus();
    });
    this.#showSort();
  }

  /** Shows another fleet. */
  reset(fleet) {
    this.#fleet = fleet;
    this.#rows.clear();
    this.#order = [];
    this.#body.replaceChildren();
    for (const name of fleet.lives.keys()) this.#dirty.add(name);
    this.flush();
    this.arrange();
  }

  /** Marks a life whose row has to be written anew. */
  touch(name) {
    this.#dirty.add(name);
  }

  /** Shows only lives in a state, or all of them again. */
  only(state) {
    this.#state = state;
    this.arrange();
  }

  select(name) {
    const before = this.#rows.get(this.#selected);
    before?.row.setAttribute('aria-selected', 'false');
    this.#selected = name;
    const chosen = this.#rows.get(name);
    if (chosen === undefined) return;
    chosen.row.setAttribute('aria-selected', 'true');
    this.#makeReachable(chosen.row);
  }

  /** Writes the rows that changed. Returns whether the order may have changed, too. */
  flush() {
    if (this.#dirty.size === 0) return;
    const now = this.now();
    for (const name of this.#dirty) {
      const life = this.#fleet.lives.get(name);
      if (life === undefined) continue;
      let entry = this.#rows.get(name);
      if (entry === undefined) {
        entry = this.#makeRow(life);
        this.#rows.set(name, entry);
      }
      this.#write(entry, life, now);
    }
    this.#dirty.clear();
  }

  #makeRow(life) {
    const cells = { name: h('td', { role: 'gridcell', class: 'name' }), state: h('td', { role: 'gridcell' }) };
    const pill = h('span', { class: 'pill' });
    cells.state.append(pill);
    for (const { key, show } of columns) if (show !== null) cells[key] = h('td', { role: 'gridcell', class: 'time' });
    const row = h(
      'tr',
      { role: 'row', tabindex: '-1', 'aria-selected': 'false', 'data-life': life.id },
      ...columns.map(({ key }) => cells[key]),
    );
    return { row, cells, pill };
  }

  #write({ cells, pill, row }, life, now) {
    setText(cells.name, life.title);
    cells.name.title = life.facts?.microvmId ?? life.title;
    const top = topOf(life.state);
    setText(pill, top === '' ? 'starting' : top);
    pill.dataset.state = top;
    row.classList.toggle('busy', life.pending !== null);
    row.classList.toggle('over', ended.has(top));
    this.#writeTimes(cells, life, now);
  }

  #writeTimes(cells, life, now) {
    for (const { key, show } of columns) if (show !== null) setText(cells[key], span(show(life, now)));
  }

  /** Writes the times that pass, of the rows that can be seen. */
  tick() {
    const now = this.now();
    const { top, bottom } = byId('fleet-scroll').getBoundingClientRect();
    const height = this.#body.firstElementChild?.offsetHeight ?? 0;
    if (height === 0) return;
    const start = this.#body.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor((top - start) / height) - 2);
    const last = Math.ceil((bottom - start) / height) + 2;
    for (const name of this.#order.slice(first, last)) {
      const entry = this.#rows.get(name);
      if (entry !== undefined) this.#writeTimes(entry.cells, this.#fleet.lives.get(name), now);
    }
  }

  /** Puts the rows in order, and leaves out those that are not asked for. */
  arrange() {
    if (this.#fleet === undefined) return;
    const now = this.now();
    const { by } = columns.find(({ key }) => key === this.#sort.key);
    const lives = [...this.#fleet.lives.values()].filter((life) => this.#isAskedFor(life));
    const keys = new Map(lives.map((life) => [life.id, by(life, now)]));
    lives.sort((a, b) => {
      const [x, y] = [keys.get(a.id), keys.get(b.id)];
      const way = x < y ? -1 : x > y ? 1 : a.title.localeCompare(b.title, 'en', { numeric: true });
      return this.#sort.descending ? -way : way;
    });
    const order = lives.map(({ id }) => id);
    if (order.length !== this.#order.length || order.some((name, index) => name !== this.#order[index])) {
      const focused = document.activeElement?.closest?.('tr[data-life]')?.dataset.life;
      this.#order = order;
      this.#body.replaceChildren(...order.map((name) => this.#rows.get(name)?.row).filter(Boolean));
      if (focused !== undefined) this.#rows.get(focused)?.row.focus({ preventScroll: true });
      const reachable = this.#rows.get(this.#selected)?.row ?? this.#body.firstElementChild;
      if (reachable !== null) this.#makeReachable(reachable);
    }
    const empty = byId('fleet-empty');
    empty.hidden = order.length > 0;
    setText(empty, this.#fleet.lives.size === 0 ? 'No VM yet.' : 'No VM matches.');
  }

  #isAskedFor(life) {
    if (this.#state !== null && topOf(life.state) !== this.#state) return false;
    if (this.#filter === '') return true;
    return [life.title, life.state, life.facts?.microvmId ?? ''].some((text) =>
      text.toLowerCase().includes(this.#filter),
    );
  }

  #sortBy(key) {
    this.#sort = { key, descending: this.#sort.key === key ? !this.#sort.descending : false };
    this.#showSort();
    this.arrange();
  }

  #showSort() {
    for (const column of byId('fleet-columns').children) {
      if (column.dataset.key !== this.#sort.key) column.removeAttribute('aria-sort');
      else column.setAttribute('aria-sort', this.#sort.descending ? 'descending' : 'ascending');
    }
  }

  #choose(row) {
    if (row === null || row === undefined) return;
    row.focus();
    this.#onSelect(row.dataset.life);
  }

  /** One row at a time can be reached with Tab; the arrow keys go on from there. */
  #makeReachable(row) {
    for (const other of this.#body.querySelectorAll('tr[tabindex="0"]')) other.tabIndex = -1;
    row.tabIndex = 0;
  }

  #walk(event) {
    const row = event.target.closest('tr');
    const next = {
      ArrowDown: row?.nextElementSibling,
      ArrowUp: row?.previousElementSibling,
      Home: this.#body.firstElementChild,
      End: this.#body.lastElementChild,
      Enter: row,
      ' ': row,
    }[event.key];
    if (next === null || next === undefined) return;
    event.preventDefault();
    this.#choose(next);
  }
}
