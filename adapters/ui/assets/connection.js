/** The page's line to its server: entries come as an event stream, commands go out with the token of this start. */

const tokenKey = 'vmchart-token';

/** The token from the address, which is then taken out of it: what is not shown is not copied by accident. */
function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given !== null) {
    sessionStorage.setItem(tokenKey, given);
    history.replaceState(null, '', location.pathname);
  }
  return sessionStorage.getItem(tokenKey);
}

const token = takeToken();

/** Whether commands can be sent. */
export const maySend = token !== null;

/**
 * Follows the stream. The browser opens it again by itself when it breaks, and each time the greeting tells the whole
 * fleet anew.
 */
export function follow({ onHello, onEntries, onLink }) {
  const stream = new EventSource('/events');
  stream.addEventListener('hello', (event) => {
    onLink(true);
    onHello(JSON.parse(event.data));
  });
  stream.addEventListener('entries', (event) => onEntries(JSON.parse(event.data)));
  stream.addEventListener('error', () => onLink(false));
}

/** Reads something of the server's; `null` when there is none. */
export async function read(path) {
  const response = await fetch(path);
  return response.ok ? await response.json() : null;
}

/** Sends something that changes the world. What is refused is thrown as an error with one sentence. */
export async function send(path, body) {
  let response;
  try {
    response = await fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-vmchart-token': token ?? '' },
      body: JSON.stringify(body),
    });
  } catch {
    throw new Error('The server of this page does not answer: vmchart ui may have ended.');
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok)
    throw Object.assign(new Error(answer.error?.sentence ?? `The server answered ${response.status}.`), answer.error);
  return answer;
}
