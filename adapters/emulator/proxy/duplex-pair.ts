/** Two ends of an in-process connection: what one writes, the other reads, with back-pressure. */
import { Duplex } from 'node:stream';

class End extends Duplex {
  /** Servers ask for it; whatever comes through the proxy comes from the VM's own loopback. */
  readonly remoteAddress = '127.0.0.1';
  #other: End | null = null;
  #go: (() => void) | null = null;

  connect(other: End): void {
    this.#other = other;
  }

  override _read(): void {
    const go = this.#go;
    this.#go = null;
    go?.();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    const other = this.#other;
    if (other === null || other.destroyed) {
      this.destroy();
      return;
    }
    if (other.push(chunk)) done();
    else other.#go = done;
  }

  override _final(done: () => void): void {
    this.#other?.push(null);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const other = this.#other;
    this.#other = null;
    // The peer sees a broken connection, as it would from a socket that was reset.
    if (other !== null && !other.destroyed) setImmediate(() => other.destroy());
    done(error);
  }

  // What HTTP and WebSocket servers call on a socket, without effect here.
  setTimeout(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/** Makes a connected pair. */
export function makeDuplexPair(): [Duplex, Duplex] {
  const [left, right] = [new End(), new End()];
  left.connect(right);
  right.connect(left);
  return [left, right];
}
