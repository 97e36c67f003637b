// A page opened from a folder (file:) may not start a worker, and the search runs in one. There, and only there, a
// hidden frame of the same page takes the worker's place.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.ready = new Promise((loaded) => {
        frame.onload = () => loaded(frame.contentWindow);
      });
      window.addEventListener("message", (event) => {
        if (event.source !== frame.contentWindow) return;
        const answer = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(answer);
        if (this.onmessage) this.onmessage(answer);
      });
      const script = String(address).replace(/&/g, "&amp;").replace(/"/g, "&quot;");
      frame.srcdoc = `<script>
        self.importScripts = (...addresses) => addresses.reduce((before, address) => before.then(() =>
          new Promise((done, failed) => document.head.append(Object.assign(document.createElement("script"),
            { src: address, onload: done, onerror: failed })))), Promise.resolve());
        self.postMessage = (data) => parent.postMessage(data, "*");
      <\/script><script src="${script}"><\/script>`;
      document.body.appendChild(frame);
    }
    postMessage(data) {
      this.ready.then((inside) => inside.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {}
  };
