/**
 * Signals that come before anybody can act on them: loading a program takes a while, and a signal in that time would
 * end the process without a word, where an exit code and an object are promised. Imports nothing, so that it stands
 * before all else is loaded.
 */

/** The signals that ask a command to stop: Ctrl-C, a service manager, a closed terminal. */
export const stopping = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Where signals come from: the process, or a stand-in for it. */
export interface SignalSource {
  on(name: NodeJS.Signals, heard: (name: NodeJS.Signals) => void): unknown;
  off(name: NodeJS.Signals, heard: (name: NodeJS.Signals) => void): unknown;
}

/** Keeps each kind of signal until somebody listens for it, who is then told at once. */
export class EarlySignals implements SignalSource {
  readonly #source: SignalSource;
  readonly #kept = new Set<NodeJS.Signals>();
  readonly #keep = (name: NodeJS.Signals) => void this.#kept.add(name);

  constructor(source: SignalSource = process) {
    this.#source = source;
    for (const name of stopping) source.on(name, this.#keep);
  }

  on(name: NodeJS.Signals, heard: (name: NodeJS.Signals) => void): void {
    // In this order, so that at no moment nobody listens.
    this.#source.on(name, heard);
    this.#source.off(name, this.#keep);
    if (this.#kept.delete(name)) heard(name);
  }

  off(name: NodeJS.Signals, heard: (name: NodeJS.Signals) => void): void {
    this.#source.off(name, heard);
  }
}
