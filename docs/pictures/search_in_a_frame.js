/* The search of these pages runs in a worker, which browsers refuse to a page that is opened from a file.
   There it runs in a hidden frame instead, which answers to the same two calls: postMessage and "message". */
if (location.protocol === "file:") {
  window.IFrameWorker = true; // the search asks for this name, to find its other files
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.inside = frame.contentWindow;
      const load = address => new Promise((done, failed) => {
        const script = this.inside.document.createElement("script");
        script.src = new URL(address, location.href);
        script.onload = done;
        script.onerror = failed;
        this.inside.document.body.appendChild(script);
      });
      this.inside.importScripts = (...addresses) =>
        addresses.reduce((before, address) => before.then(() => load(address)), Promise.resolve());
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", {data}));
      this.ready = load(url);
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new this.inside.MessageEvent("message", {data})));
    }
  };
}
