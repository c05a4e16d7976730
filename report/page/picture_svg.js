/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The picture as SVG, for a paper or a slide: what picture.js paints on a canvas goes into elements instead. Of a
 * canvas' context this has just what is painted with.
 */

const rounded = x => Math.round(x * 100) / 100;
const SVG_STATE = ['fillStyle', 'strokeStyle', 'lineWidth', 'textAlign', 'font', 'globalAlpha', 'dash'];

class SvgContext {
  constructor(width, height) {
    Object.assign(this, { fillStyle: '#000', strokeStyle: '#000', lineWidth: 1, textAlign: 'start',
      font: '12px sans-serif', globalAlpha: 1, dash: [], kept: [], path: '', box: null });
    this.root = svg('svg', { xmlns: 'http://www.w3.org/2000/svg', width, height,
      viewBox: '0 0 ' + width + ' ' + height });
    this.ruler = element('canvas').getContext('2d');
  }

  save() {
    this.kept.push(SVG_STATE.map(name => this[name]));
  }

  restore() {
    this.kept.pop().forEach((value, i) => { this[SVG_STATE[i]] = value; });
  }

  put(name, attributes, ...children) {
    const faint = this.globalAlpha < 1 ? { opacity: this.globalAlpha } : {};
    const part = svg(name, { ...attributes, ...faint }, ...children);
    this.root.append(part);
    this.box = null;
    return part;
  }

  setLineDash(dash) {
    this.dash = dash;
  }

  beginPath() {
    this.path = '';
  }

  moveTo(x, y) {
    this.path += 'M' + rounded(x) + ' ' + rounded(y);
  }

  lineTo(x, y) {
    this.path += 'L' + rounded(x) + ' ' + rounded(y);
  }

  stroke() {
    this.put('path', { d: this.path, fill: 'none', stroke: this.strokeStyle, 'stroke-width': this.lineWidth,
      'stroke-dasharray': this.dash.join(' ') });
  }

  /* Columns of one colour are one shape; those of one height are one box of it. */
  fillRect(x, y, width, height) {
    const box = this.box, isMore = box && box.fill === this.fillStyle && box.alpha === this.globalAlpha;
    if (isMore && box.y === y && box.height === height && box.x + box.width === x) {
      box.width += width;
    } else {
      const shape = isMore ? box.shape : this.put('path', { fill: this.fillStyle });
      this.box = { shape, before: isMore ? shape.getAttribute('d') : '', fill: this.fillStyle,
        alpha: this.globalAlpha, x, y, width, height };
    }
    const now = this.box;
    now.shape.setAttribute('d', now.before + 'M' + rounded(now.x) + ' ' + rounded(now.y) + 'h' + rounded(now.width) +
      'v' + rounded(now.height) + 'h' + rounded(-now.width) + 'z');
  }

  measureText(text) {
    this.ruler.font = this.font;
    return this.ruler.measureText(text);
  }

  fillText(text, x, y) {
    this.put('text', { x: rounded(x), y: rounded(y), fill: this.fillStyle, style: 'font: ' + this.font, 'text-anchor':
      this.textAlign === 'end' ? 'end' : 'start' }, text);
  }
}

function saveSvg() {
  const context = new SvgContext(PICTURE_WIDTH, PICTURE_HEIGHT);
  paintCard(context);
  saveFile(new Blob([context.root.outerHTML], { type: 'image/svg+xml' }), '.svg');
}
