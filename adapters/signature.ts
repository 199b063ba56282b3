/** What signing is made of: the maintained package, and the hash that it asks for on the native implementation. */
import { createHash, createHmac } from 'node:crypto';

export { SignatureV4 } from '@aws-sdk/signature-v4';

/** SHA-256 of a body, in hexadecimal. */
export function hashOf(body: string | Uint8Array): string {
  return createHash('sha256').update(body).digest('hex');
}

/** Hash of the shape that the signature package asks for. */
export class Sha256 {
  readonly #hash: ReturnType<typeof createHash> | ReturnType<typeof createHmac>;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash =
      secret === undefined
        ? createHash('sha256')
        : createHmac('sha256', typeof secret === 'string' ? secret : bytes(secret));
  }

  update(chunk: Uint8Array): void {
    this.#hash.update(chunk);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {
    throw new Error('A signing hash is used once.');
  }
}

function bytes(value: ArrayBuffer | ArrayBufferView): Uint8Array {
  return ArrayBuffer.isView(value)
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : new Uint8Array(value);
}
