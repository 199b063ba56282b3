/** What an injected fault makes of an answer. */
import type { Fault } from '../faults.ts';
import { ServiceError } from './service-error.ts';

/** The page that a gateway answers with. */
export const gatewayPage =
  '<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n';

/** A body that says to be JSON and is none. */
export const garbageBody = '{"items":[';

/** A body that is JSON and says nothing. */
export const emptyBody = '{}';

/** The refusal that takes the operation's place; null when the operation runs all the same. */
export function refusalOf(fault: Fault, microvmId: string | null): ServiceError | null {
  const { retryAfterSec } = fault;
  // What was asked for is sent in any case; the rest of a throttle's looks nobody has seen.
  const throttle = { retryAfterSec: retryAfterSec ?? 1, unseen: retryAfterSec === undefined };
  switch (fault.kind) {
    case 'throttle':
      return new ServiceError('ThrottlingException', 'Rate exceeded', throttle);
    case 'throttle-as-400':
      return new ServiceError('ThrottlingException', 'Rate exceeded', { ...throttle, status: 400 });
    case 'quota':
      return new ServiceError(
        'ServiceQuotaExceededException',
        'The base maximum allocated memory limit has been reached for this account.',
      );
    case 'internal':
      return new ServiceError(
        'InternalServerException',
        'An internal error occurred.',
        retryAfterSec === undefined ? {} : { retryAfterSec },
      );
    case 'capacity':
      return new ServiceError('InsufficientCapacityException', 'Insufficient capacity to fulfill the request.', {
        unseen: true,
      });
    case 'not-found':
      return new ServiceError('ResourceNotFoundException', `MicroVM not found: ${microvmId ?? ''}`);
    case 'conflict':
      return new ServiceError('ConflictException', 'The resource is in use by another request.');
    case 'access-denied':
      return new ServiceError('AccessDeniedException', null);
    default:
      return null;
  }
}
