/** The memory of the packed search: states, their tree and their edges, in typed arrays that grow by doubling. */

/** The states seen so far: a set, a list and a tree in one. */
export class StateStore {
  readonly words: number;
  count = 0;
  states: Int32Array;
  parents: Int32Array;
  private slots: Int32Array;
  private mask: number;

  constructor(words: number) {
    this.words = words;
    this.states = new Int32Array(4096 * words);
    this.parents = new Int32Array(4096);
    this.slots = new Int32Array(16384);
    this.mask = this.slots.length - 1;
  }

  get bytes(): number {
    return this.states.byteLength + this.parents.byteLength + this.slots.byteLength;
  }

  /** The number of a state, adding it when it is new (then it is the old `count`). */
  add(from: Int32Array, at: number, parent: number): number {
    const { words, mask, slots, states } = this;
    let slot = this.hash(from, at) & mask;
    for (;;) {
      const found = (slots[slot] as number) - 1;
      if (found < 0) break;
      let word = 0;
      const base = found * words;
      while (word < words && states[base + word] === from[at + word]) word += 1;
      if (word === words) return found;
      slot = (slot + 1) & mask;
    }
    const index = this.count;
    slots[slot] = index + 1;
    this.count = index + 1;
    if (index === this.parents.length) this.grow();
    for (let word = 0; word < words; word += 1) this.states[index * words + word] = from[at + word] as number;
    this.parents[index] = parent;
    if (this.count * 2 > slots.length) this.rehash();
    return index;
  }

  private hash(from: Int32Array, at: number): number {
    let hash = 0x9e3779b9;
    for (let word = 0; word < this.words; word += 1) {
      hash = Math.imul(hash ^ (from[at + word] as number), 0x85ebca6b);
      hash ^= hash >>> 15;
    }
    hash = Math.imul(hash, 0xc2b2ae35);
    return hash ^ (hash >>> 16);
  }

  private grow(): void {
    const states = new Int32Array(this.states.length * 2);
    states.set(this.states);
    this.states = states;
    const parents = new Int32Array(this.parents.length * 2);
    parents.set(this.parents);
    this.parents = parents;
  }

  private rehash(): void {
    const slots = new Int32Array(this.slots.length * 2);
    const mask = slots.length - 1;
    for (let index = 0; index < this.count; index += 1) {
      let slot = this.hash(this.states, index * this.words) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = index + 1;
    }
    this.slots = slots;
    this.mask = mask;
  }
}

/** Edges in the order of the search: those of state `n` lie from `starts[n]` up to `starts[n + 1]`. */
export class EdgeList {
  starts = new Int32Array(1 << 16);
  targets = new Int32Array(1 << 20);
  count = 0;

  begin(state: number): void {
    if (state + 1 >= this.starts.length) this.starts = doubled(this.starts);
    this.starts[state] = this.count;
  }

  add(target: number): void {
    if (this.count === this.targets.length) this.targets = doubled(this.targets);
    this.targets[this.count] = target;
    this.count += 1;
  }

  get bytes(): number {
    return this.starts.byteLength + this.targets.byteLength;
  }
}

function doubled(array: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(array.length * 2);
  larger.set(array);
  return larger;
}
