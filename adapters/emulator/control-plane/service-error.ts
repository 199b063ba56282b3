/** The service's errors: a name in the header, a message and modelled members in the body (`control-plane-api.md` 3). */

/** The names that the service's own model declares, with their status. */
export const serviceErrorStatus = {
  ValidationException: 400,
  InvalidParameterValueException: 400,
  ServiceQuotaExceededException: 402,
  AccessDeniedException: 403,
  ResourceNotFoundException: 404,
  ConflictException: 409,
  ThrottlingException: 429,
  InternalServerException: 500,
  InsufficientCapacityException: 500,
  // Not in the model: the front door's refusals of a signature.
  InvalidSignatureException: 403,
  UnrecognizedClientException: 403,
  MissingAuthenticationTokenException: 403,
  IncompleteSignatureException: 403,
} as const;

/** A name of an error. */
export type ServiceErrorName = keyof typeof serviceErrorStatus;

/** Members beside the message; absent ones go out as null. */
const members: Partial<Record<ServiceErrorName, readonly string[]>> = {
  ServiceQuotaExceededException: ['resourceId', 'resourceType', 'serviceCode', 'quotaCode'],
  ResourceNotFoundException: ['resourceId', 'resourceType'],
  ConflictException: ['resourceId', 'resourceType'],
  ThrottlingException: ['serviceCode', 'quotaCode'],
  InvalidParameterValueException: ['Type'],
};

/** One refusal, thrown by an operation and written by the server. */
export class ServiceError extends Error {
  override readonly name: ServiceErrorName;
  readonly status: number;
  readonly text: string | null;
  readonly retryAfterSec: number | null;
  /** Nobody has seen the service say this. */
  readonly unseen: boolean;
  /** A few refusals, such as those of another account's ARN, spell it with a capital. */
  readonly #messageMember: 'message' | 'Message';

  constructor(
    name: ServiceErrorName,
    text: string | null,
    options: {
      readonly status?: number;
      readonly retryAfterSec?: number;
      readonly capitalMessage?: boolean;
      readonly unseen?: boolean;
    } = {},
  ) {
    super(text ?? name);
    this.name = name;
    this.text = text;
    this.status = options.status ?? serviceErrorStatus[name];
    this.retryAfterSec = options.retryAfterSec ?? null;
    this.unseen = options.unseen ?? false;
    this.#messageMember = options.capitalMessage === true ? 'Message' : 'message';
  }

  /** The body as the service writes it, with the text or with null in its place. */
  toBody(text: string | null = this.text): Record<string, string | null> {
    const body: Record<string, string | null> = { [this.#messageMember]: text };
    for (const member of members[this.name] ?? []) body[member] = null;
    return body;
  }
}

/** 400 ValidationException. */
export function invalid(text: string): ServiceError {
  return new ServiceError('ValidationException', text);
}

/** 404 ResourceNotFoundException. */
export function notFound(text: string): ServiceError {
  return new ServiceError('ResourceNotFoundException', text);
}

/** 409 ConflictException. */
export function conflict(text: string): ServiceError {
  return new ServiceError('ConflictException', text);
}
