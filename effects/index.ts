/** Ports, typed operations, errors and the facades. */
export {
  VmchartError,
  allWireKinds,
  codeOf,
  errorCodes,
  fromRecord,
  isRetryable,
  kindOf,
  toVmchartError,
} from './errors.ts';
export type { ErrorDetails } from './errors.ts';
export type {
  Clock,
  Credentials,
  CredentialsProvider,
  Entropy,
  Http,
  HttpBody,
  HttpRequest,
  HttpResponse,
  HttpStream,
  Journal,
  Ports,
  Secrets,
  Signer,
} from './ports.ts';
