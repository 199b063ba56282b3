/** Reads request bodies within a limit. */
import type { IncomingMessage } from 'node:http';

/**
 * Reads a body to its end; null when it is larger than allowed, with the rest running into nothing so that an answer
 * can still be sent. Rejects when the client goes away first.
 */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const tooLarge = () => {
      chunks.length = 0;
      request.resume();
      resolve(null);
    };
    request.on('error', reject);
    request.on('aborted', () => reject(new Error('The client went away.')));
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) {
      tooLarge();
      return;
    }
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) tooLarge();
      else chunks.push(chunk);
    });
    request.on('end', () => {
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks));
    });
  });
}
