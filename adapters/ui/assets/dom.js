/** Building elements without markup: text is always text. */

const svgNamespace = 'http://www.w3.org/2000/svg';

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'text') element.textContent = value;
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** An HTML element. `on…` adds a listener, `text` sets its text, anything else is an attribute. */
export function h(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** An SVG element. */
export function s(tag, properties = {}, ...children) {
  return fill(document.createElementNS(svgNamespace, tag), properties, children);
}

/** The element with an id. */
export function byId(id) {
  return document.getElementById(id);
}

/** Sets a text only when it is another one: what a screen reader or a layout need not hear of stays quiet. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
