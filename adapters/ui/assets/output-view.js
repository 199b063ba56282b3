/** What the commands of a VM printed, and a line to run another one. */
import { h } from './dom.js';
import { send } from './connection.js';
import { size } from './format.js';

/** The output panel. */
export class OutputView {
  #life = null;
  #screen = h('pre', { class: 'screen', tabindex: '0', 'aria-label': 'Output' });
  #form;
  #input = h('input', {
    type: 'text',
    name: 'line',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: 'uname -a',
  });
  #error = h('p', { class: 'form-error', role: 'alert' });

  constructor(panel) {
    this.#form = h(
      'form',
      { class: 'run' },
      h('label', {}, h('span', { text: 'Run a line' }), this.#input),
      h('button', { type: 'submit', text: 'Run' }),
    );
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#run();
    });
    panel.append(this.#screen, this.#form, this.#error);
  }

  async #run() {
    const line = this.#input.value;
    this.#error.textContent = '';
    try {
      await send(`/lives/${encodeURIComponent(this.#life.id)}/lines`, { line });
      this.#input.value = '';
    } catch (error) {
      this.#error.textContent = error.message;
    }
  }

  show(life, maySend) {
    const outputs = life.log.filter(({ kind }) => kind === 'output');
    this.#life = life;
    this.#form.hidden = !life.takesLines || !maySend;
    const atEnd = this.#screen.scrollHeight - this.#screen.scrollTop - this.#screen.clientHeight < 40;
    this.#screen.replaceChildren(
      ...(outputs.length === 0
        ? [h('span', { class: 'empty', text: 'Nothing was printed.' })]
        : outputs.map(({ stream, text, bytes }) => h('span', { class: stream, text: printed(stream, text, bytes) }))),
    );
    if (atEnd) this.#screen.scrollTop = this.#screen.scrollHeight;
  }
}

function printed(stream, text, bytes) {
  if (text === null) return `(${size(bytes)} of ${stream}, not recorded)\n`;
  if (stream === 'stdin') return `$ ${text}\n`;
  return stream === 'end' ? `[${text}]\n` : text;
}
