/** SigV4 as the service checks it: recomputed over exactly what was signed (`control-plane-api.md` 1.2). */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { SignatureV4 } from '@aws-sdk/signature-v4';
import type { Credentials } from '../../../effects/index.ts';
import { ServiceError } from './service-error.ts';

/** The signing name of the service. */
const service = 'lambda';

/** How far a signature's date may be from the clock. */
const skewMs = 15 * 60_000;

/** What the signer hashes. */
type Source = string | ArrayBuffer | ArrayBufferView;

function bytesOf(source: Source): Buffer {
  if (typeof source === 'string') return Buffer.from(source);
  return ArrayBuffer.isView(source)
    ? Buffer.from(source.buffer, source.byteOffset, source.byteLength)
    : Buffer.from(source);
}

/** SHA-256, plain or keyed, as the signer wants it. */
class Sha256 {
  readonly #hash: ReturnType<typeof createHash> | ReturnType<typeof createHmac>;

  constructor(secret?: Source) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(secret));
  }

  update(data: Source): void {
    this.#hash.update(bytesOf(data));
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {}
}

/** What came in, as far as a signature covers it. */
export interface SignedRequest {
  readonly method: string;
  readonly rawPath: string;
  readonly query: ReadonlyMap<string, readonly string[]>;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
}

/** The region in the credential scope; null for a request that is not signed. */
export function scopeRegion(authorization: string | undefined): string | null {
  return /Credential=[^/,\s]+\/\d{8}\/([^/,\s]+)\//.exec(authorization ?? '')?.[1] ?? null;
}

interface Authorization {
  readonly accessKeyId: string;
  readonly date: string;
  readonly region: string;
  readonly service: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
}

function parseAuthorization(text: string): Authorization {
  const member = (name: string) => new RegExp(`${name}=([^,\\s]+)`).exec(text)?.[1] ?? '';
  const [accessKeyId = '', date = '', region = '', named = '', terminator = ''] = member('Credential').split('/');
  const signedHeaders = member('SignedHeaders').split(';').filter(Boolean);
  const signature = member('Signature');
  if (!text.startsWith('AWS4-HMAC-SHA256 ') || terminator !== 'aws4_request' || signature === '') {
    throw new ServiceError(
      'IncompleteSignatureException',
      "Authorization header requires 'Credential', 'SignedHeaders' and 'Signature' parameters.",
    );
  }
  return { accessKeyId, date, region, service: named, signedHeaders, signature };
}

function parseAmzDate(text: string): Date | null {
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text) ?? [];
  if (year === undefined) return null;
  return new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

const mismatch = () =>
  new ServiceError(
    'InvalidSignatureException',
    'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.',
  );

/** Checks one request and resolves, or rejects with the service's error. */
export type SignatureCheck = (request: SignedRequest) => Promise<void>;

/**
 * A check against the one identity that is known. `wallNow` is null where the clock is none of this world's, so that
 * the date of a signature means nothing.
 */
export function makeSignatureCheck(credentials: Credentials, wallNow: (() => number) | null): SignatureCheck {
  const signers = new Map<string, SignatureV4>();
  const signerFor = (region: string) => {
    const known = signers.get(region);
    if (known !== undefined) return known;
    const { accessKeyId, secretAccessKey } = credentials;
    const signer = new SignatureV4({
      // The session token, where there is one, stands among the signed headers already.
      credentials: { accessKeyId, secretAccessKey },
      region,
      service,
      sha256: Sha256,
      applyChecksum: false,
    });
    if (signers.size < 64) signers.set(region, signer);
    return signer;
  };

  return async function check({ method, rawPath, query, headers, body }) {
    const text = headers['authorization'];
    if (typeof text !== 'string') {
      throw new ServiceError('MissingAuthenticationTokenException', 'Missing Authentication Token');
    }
    const claimed = parseAuthorization(text);
    const invalidIdentity = () =>
      new ServiceError('UnrecognizedClientException', 'The security token included in the request is invalid.');
    if (claimed.accessKeyId !== credentials.accessKeyId) throw invalidIdentity();
    if ((headers['x-amz-security-token'] ?? undefined) !== credentials.sessionToken) throw invalidIdentity();
    if (claimed.service !== service) {
      throw new ServiceError(
        'InvalidSignatureException',
        `Credential should be scoped to correct service: '${service}'. `,
      );
    }

    const dateText = headers['x-amz-date'];
    const date = typeof dateText === 'string' ? parseAmzDate(dateText) : null;
    if (date === null || !claimed.signedHeaders.includes('host') || !claimed.signedHeaders.includes('x-amz-date')) {
      throw mismatch();
    }
    if (wallNow !== null && Math.abs(date.getTime() - wallNow()) > skewMs) {
      const past = date.getTime() < wallNow();
      throw new ServiceError(
        'InvalidSignatureException',
        `Signature ${past ? 'expired' : 'not yet current'}: ${String(dateText)} is ${past ? 'earlier' : 'later'} than the service's clock allows.`,
      );
    }

    const declared = headers['x-amz-content-sha256'];
    if (declared !== undefined && declared !== 'UNSIGNED-PAYLOAD') {
      if (declared !== createHash('sha256').update(body).digest('hex')) throw mismatch();
    }
    const signed: Record<string, string> = {};
    for (const name of claimed.signedHeaders) {
      const value = headers[name];
      if (value === undefined) throw mismatch();
      signed[name] = typeof value === 'string' ? value : value.join(',');
    }
    const recomputed = await signerFor(claimed.region).sign(
      {
        method,
        protocol: 'http:',
        hostname: signed['host'] ?? '',
        path: rawPath,
        query: Object.fromEntries([...query].map(([name, values]) => [name, [...values]])),
        headers: signed,
        body,
      },
      { signingDate: date, signableHeaders: new Set(claimed.signedHeaders) },
    );
    const expected = /Signature=([0-9a-f]+)/.exec(recomputed.headers['authorization'] ?? '')?.[1] ?? '';
    const [left, right] = [Buffer.from(expected), Buffer.from(claimed.signature)];
    if (left.length !== right.length || !timingSafeEqual(left, right)) throw mismatch();
  };
}
