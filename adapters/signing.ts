/** Signature Version 4 by the maintained package, loaded on the first call. */
import type { SignatureV4 } from '@aws-sdk/signature-v4';
import type { Credentials, Signer } from '../effects/index.ts';
import type * as signatureTools from './signature.ts';

/** What is loaded on the first call. */
type SignatureTools = typeof signatureTools;

/** Settings of {@link sigV4Signer}; the defaults are right for MicroVMs. */
export interface SigV4Options {
  /** The service's signing name. */
  readonly service?: string;
  /** Whether `x-amz-content-sha256` is sent and signed. */
  readonly contentHashHeader?: boolean;
}

const emptyHash = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/**
 * Signs as the service verifies: the canonical path is the wire path encoded once more, so that an ARN in a
 * path segment is signed as `arn%253Aaws…`; the query is signed as it is sent.
 *
 * Signed are `host`, `x-amz-date`, `x-amz-content-sha256`, the session token when there is one, and the
 * content type when there is a body. Nothing is added that a proxy may change.
 */
export function sigV4Signer(options: SigV4Options = {}): Signer {
  const { service = 'lambda', contentHashHeader = true } = options;
  let loading: Promise<SignatureTools> | undefined;
  const load = async () => {
    loading ??= import('./signature.ts').catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  let latest: { readonly key: Credentials; readonly region: string; readonly signer: SignatureV4 } | undefined;

  /** One signer for one identity, so that the derived signing key is found again. */
  const signerFor = async (credentials: Credentials, region: string) => {
    const { Sha256, SignatureV4 } = await load();
    if (latest?.key !== credentials || latest.region !== region) {
      const { accessKeyId, secretAccessKey, sessionToken } = credentials;
      const identity = { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) };
      const signer = new SignatureV4({
        service,
        region,
        credentials: identity,
        sha256: Sha256,
        applyChecksum: contentHashHeader,
      });
      latest = { key: credentials, region, signer };
    }
    return latest.signer;
  };

  return {
    async sign(request, { region, credentials, atMs }) {
      const signer = await signerFor(credentials, region);
      const { hashOf } = await load();
      const url = new URL(request.url);
      const query: Record<string, string | string[]> = {};
      for (const name of new Set(url.searchParams.keys())) {
        const values = url.searchParams.getAll(name);
        query[name] = values.length === 1 ? (values[0] ?? '') : values;
      }
      const headers: Record<string, string> = { ...request.headers, host: url.host };
      if (contentHashHeader) {
        headers['x-amz-content-sha256'] = request.body === undefined ? emptyHash : hashOf(request.body);
      }
      const signed = await signer.sign(
        {
          method: request.method,
          protocol: url.protocol,
          hostname: url.hostname,
          path: url.pathname,
          query,
          headers,
          body: request.body,
        },
        { signingDate: new Date(atMs), unsignableHeaders: new Set(['accept']) },
      );
      return signed.headers;
    },
  };
}
