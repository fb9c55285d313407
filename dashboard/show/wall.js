// Tells of new critical incidents on the wall, if somebody asked for it there: by a notification of the browser, by a
// sound, or both. What was asked for, and what was told already, is kept in this browser.

const KEPT = "linewatch-wall";
const TONES = [880, 660, 880]; // Hz
const LENGTH = 0.22; // seconds of each
const walls = new WeakMap();

export default function ({ data, parentElement }) {
  const wall = walls.get(parentElement) ?? begun(parentElement);
  const seen = wall.kept.seen;
  const fresh = seen ? data.critical.filter((each) => !seen.includes(each.id)) : []; // at first sight nothing is new
  keep(wall, { seen: data.critical.map((each) => each.id) });
  if (fresh.length) tell(wall, fresh);
  return () => {
    walls.delete(parentElement);
    wall.audio?.close();
    parentElement.replaceChildren();
  };
}

function begun(parentElement) {
  const wall = { kept: stored(), audio: null, notify: button("Notify"), sound: button("Sound") };
  parentElement.replaceChildren(wall.notify, wall.sound);
  wall.notify.addEventListener("click", () => askToNotify(wall));
  wall.sound.addEventListener("click", () => askForSound(wall));
  walls.set(parentElement, wall);
  if (wall.kept.sound) openAudio(wall);
  show(wall);
  return wall;
}

function button(name) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "lw-wall-ask";
  made.textContent = name;
  return made;
}

function show(wall) {
  const mayNotify = "Notification" in window && Notification.permission !== "denied";
  const isAsked = Boolean(wall.kept.notify) && mayNotify && Notification.permission === "granted";
  const isWaiting = wall.audio?.state === "suspended"; // until somebody presses something, browsers play nothing
  wall.notify.disabled = !mayNotify;
  wall.notify.title = mayNotify ? "Notify of new critical incidents" : "This browser forbids notifications here";
  wall.notify.setAttribute("aria-pressed", String(isAsked));
  wall.sound.textContent = isWaiting ? "Sound: press once" : "Sound";
  wall.sound.title = "Play a sound at new critical incidents";
  wall.sound.setAttribute("aria-pressed", String(Boolean(wall.kept.sound)));
}

async function askToNotify(wall) {
  const isOn = wall.notify.getAttribute("aria-pressed") === "true";
  const answer = isOn ? "" : await Notification.requestPermission();
  keep(wall, { notify: answer === "granted" });
  show(wall);
}

async function askForSound(wall) {
  if (wall.kept.sound && wall.audio?.state !== "suspended") {
    keep(wall, { sound: false });
    await wall.audio?.close();
    wall.audio = null;
  } else {
    keep(wall, { sound: true });
    openAudio(wall);
    await wall.audio.resume();
    play(wall.audio);
  }
  show(wall);
}

function openAudio(wall) {
  if (wall.audio) return;
  wall.audio = new AudioContext();
  wall.audio.addEventListener("statechange", () => show(wall));
}

function tell(wall, incidents) {
  if (wall.kept.sound && wall.audio?.state === "running") play(wall.audio);
  if (!wall.kept.notify || !("Notification" in window) || Notification.permission !== "granted") return;
  const lines = new Map(incidents.map((each) => [each.title, each.id])); // one line may be about many
  for (const [body, tag] of lines) {
    try {
      new Notification("Linewatch: critical", { body, tag });
    } catch {
      return; // browsers of phones let only service workers notify
    }
  }
}

function play(audio) {
  TONES.forEach((tone, place) => {
    const begins = audio.currentTime + place * LENGTH, ends = begins + LENGTH;
    const source = audio.createOscillator(), volume = audio.createGain();
    source.frequency.value = tone;
    volume.gain.setValueAtTime(0.2, begins);
    volume.gain.exponentialRampToValueAtTime(0.001, ends);
    source.connect(volume).connect(audio.destination);
    source.start(begins);
    source.stop(ends);
  });
}

function keep(wall, changes) {
  wall.kept = { ...wall.kept, ...changes };
  try {
    localStorage.setItem(KEPT, JSON.stringify(wall.kept));
  } catch {
    // it may be forbidden: the wall remembers as long as it is open
  }
}

function stored() {
  try {
    return JSON.parse(localStorage.getItem(KEPT)) ?? {};
  } catch {
    return {};
  }
}
