// @ts-check
/** The words of uploads. */

import { define, say } from "./words.js";

/** English, simplified Chinese, German. Chinese has no form for one. @type {Record<string, string[]>} */
const table = {
    chooseFiles: ["Send files", "发送文件", "Dateien senden"],
    chooseFolder: ["Send a folder", "发送文件夹", "Ordner senden"],
    camera: ["Take a picture", "拍照", "Foto aufnehmen"],
    pasted: ["Pasted", "粘贴", "Eingefügt"],
    uploads: ["Uploads", "上传", "Uploads"],
    done: ["{finished} of {files} stored", "已存储 {finished}/{files}", "{finished} von {files} gespeichert"],
    bytes: ["{sent} of {size}", "{sent}/{size}", "{sent} von {size}"],
    atLeast: ["{sent} of at least {size}", "{sent}，总共至少 {size}", "{sent} von mindestens {size}"],
    left: ["{time} left", "剩余 {time}", "noch {time}"],
    "failed.one": ["1 file failed", "", "1 Datei fehlgeschlagen"],
    "failed.other": ["{n} files failed", "{n} 个文件失败", "{n} Dateien fehlgeschlagen"],
    end: [
        "Uploads have ended: {finished} stored, {checked} of them checked.",
        "上传结束：已存储 {finished} 个，其中 {checked} 个已校验。",
        "Uploads beendet: {finished} gespeichert, davon {checked} geprüft.",
    ],
    pauseAll: ["Pause all", "全部暂停", "Alle anhalten"],
    pause: ["Pause", "暂停", "Anhalten"],
    goOn: ["Go on", "继续", "Fortsetzen"],
    retry: ["Try again", "重试", "Erneut versuchen"],
    retryAll: ["Try failed ones again", "重试失败的文件", "Fehlgeschlagene erneut versuchen"],
    onlyFailed: ["Only failed ones", "只看失败的文件", "Nur fehlgeschlagene"],
    clear: ["Clear stored ones", "清除已存储的文件", "Gespeicherte ausblenden"],
    remove: ["Remove", "移除", "Entfernen"],
    receipt: ["Receipt", "回执", "Quittung"],
    sendAgain: ["Send again and replace", "重新发送并替换", "Erneut senden und ersetzen"],
    sendAnyway: ["Send anyway", "仍然发送", "Trotzdem senden"],
    chooseAgain: ["Choose again", "重新选择", "Erneut auswählen"],
    "wrong.one": [
        "The server has other content of 1 file than this page has read: keep the file, and send it again.",
        "",
        "Der Server hat von 1 Datei anderen Inhalt, als diese Seite gelesen hat: behalte sie und sende sie erneut.",
    ],
    "wrong.other": [
        "The server has other content of {n} files than this page has read: keep them, and send them again.",
        "{n} 个文件在服务器上的内容与此页面读取的不同：请保留文件并重新发送。",
        "Der Server hat von {n} Dateien anderen Inhalt, als diese Seite gelesen hat: behalte sie und sende sie erneut.",
    ],
    "damaged.one": [
        "1 stored picture is cut off or damaged: look at the original before you remove it.",
        "",
        "1 gespeichertes Bild ist abgeschnitten oder beschädigt: sieh dir das Original an, bevor du es entfernst.",
    ],
    "damaged.other": [
        "{n} stored pictures are cut off or damaged: look at the originals before you remove them.",
        "{n} 张已存储的图片不完整或已损坏：删除原件之前请先查看。",
        "{n} gespeicherte Bilder sind abgeschnitten oder beschädigt: sieh dir die Originale an, bevor du sie entfernst.",
    ],
    signedOut: [
        "Your session is over. Sign in again in another tab, then go on here: the list stays.",
        "会话已结束。请在另一个标签页重新登录，然后在这里继续：列表会保留。",
        "Die Sitzung ist beendet. Melde dich in einem anderen Tab neu an, dann setze hier fort: die Liste bleibt.",
    ],
    cut: [
        "The connection is lost, or the server is busy. The uploads go on by themselves.",
        "连接中断或服务器繁忙。上传会自动继续。",
        "Die Verbindung ist weg, oder der Server ist ausgelastet. Die Uploads gehen von selbst weiter.",
    ],
    "conflict.one": [
        "1 file has the name of a stored file with other content.",
        "",
        "1 Datei heißt wie eine gespeicherte mit anderem Inhalt.",
    ],
    "conflict.other": [
        "{n} files have names of stored files with other content.",
        "{n} 个文件与已存储的文件同名，但内容不同。",
        "{n} Dateien heißen wie gespeicherte mit anderem Inhalt.",
    ],
    noTrash: [
        "What is replaced cannot be restored on this server.",
        "此服务器上被替换的内容无法恢复。",
        "Was ersetzt wird, lässt sich auf diesem Server nicht wiederherstellen.",
    ],
    keepBoth: ["Keep both", "两者都保留", "Beide behalten"],
    replace: ["Replace", "替换", "Ersetzen"],
    skip: ["Skip", "跳过", "Auslassen"],
    "kept.one": ["1 earlier upload is not complete.", "", "1 früherer Upload ist unvollständig."],
    "kept.other": [
        "{n} earlier uploads are not complete.",
        "{n} 个之前的上传未完成。",
        "{n} frühere Uploads sind unvollständig.",
    ],
    "resume.one": ["Go on with 1 file", "", "1 Datei fortsetzen"],
    "resume.other": ["Go on with {n} files", "继续上传 {n} 个文件", "{n} Dateien fortsetzen"],
    "missing.one": ["1 earlier upload needs its file again.", "", "1 früherer Upload braucht seine Datei noch einmal."],
    "missing.other": [
        "{n} earlier uploads need their files again.",
        "{n} 个之前的上传需要重新选择文件。",
        "{n} frühere Uploads brauchen ihre Dateien noch einmal.",
    ],
    chooseSame: ["Choose the same files again", "重新选择相同的文件", "Dieselben Dateien erneut auswählen"],
    stayOpen: [
        "Keep this page open: the phone stops uploads of hidden pages.",
        "请保持此页面打开：手机会中断隐藏页面的上传。",
        "Lass diese Seite offen: das Telefon bricht Uploads verdeckter Seiten ab.",
    ],
    "state.waiting": ["Waiting", "等待中", "Wartet"],
    "state.looking": ["Asking whether it is stored", "正在询问是否已存储", "Fragt, ob sie gespeichert ist"],
    "state.reading": ["Reading", "正在读取", "Wird gelesen"],
    "state.storing": [
        "All is sent, the server is storing it",
        "已全部发送，服务器正在存储",
        "Alles gesendet, der Server speichert",
    ],
    "state.checked": ["Checked, stored as {path}", "已校验，存储为 {path}", "Geprüft, gespeichert als {path}"],
    "state.stored": [
        "Stored as {path}, not checked: the server has named no digest to compare",
        "已存储为 {path}，未校验：服务器没有给出可比较的摘要",
        "Gespeichert als {path}, nicht geprüft: der Server nennt keine vergleichbare Prüfsumme",
    ],
    "state.damaged": [
        "Stored and checked, but the picture is cut off or damaged: look at the original before you remove it.",
        "已存储并校验，但图片不完整或已损坏：删除原件之前请先查看。",
        "Gespeichert und geprüft, aber das Bild ist abgeschnitten oder beschädigt: sieh dir das Original an, bevor du es entfernst.",
    ],
    taken: ["{pixels}, taken {date}", "{pixels}，拍摄于 {date}", "{pixels}, aufgenommen am {date}"],
    "state.made": ["Folder made", "文件夹已创建", "Ordner angelegt"],
    "state.same": [
        "Checked, was stored already with the same content",
        "已校验，之前已存储相同内容",
        "Geprüft, war schon mit demselben Inhalt gespeichert",
    ],
    "state.likely": [
        "Not sent: a stored file looks the same (size and time)",
        "未发送：已存储的文件看起来相同（大小和时间）",
        "Nicht gesendet: eine gespeicherte Datei sieht gleich aus (Größe und Zeit)",
    ],
    "state.skipped": ["Skipped: the name is taken", "已跳过：名称已被占用", "Ausgelassen: der Name ist vergeben"],
    "state.conflict": [
        "The name is taken by other content",
        "名称已被其他内容占用",
        "Der Name ist an anderen Inhalt vergeben",
    ],
    "state.paused": ["Paused", "已暂停", "Angehalten"],
    "state.choose": ["Not complete", "未完成", "Unvollständig"],
    "state.wrong": [
        "Stored as {path}, but the server has {theirs}, and this page has read {ours}",
        "已存储为 {path}，但服务器上是 {theirs}，此页面读取的是 {ours}",
        "Gespeichert als {path}, aber der Server hat {theirs}, und diese Seite hat {ours} gelesen",
    ],
    "note.notDurable": [
        "The server does not say that it is safe on disk.",
        "服务器没有说明内容已安全写入磁盘。",
        "Der Server sagt nicht, dass sie sicher auf der Platte ist.",
    ],
    "note.lost": [
        "The connection was lost, goes on by itself",
        "连接中断，将自动继续",
        "Verbindung verloren, geht von selbst weiter",
    ],
    "note.refused": [
        "Not stored. The server says: {detail}",
        "未存储。服务器说：{detail}",
        "Nicht gespeichert. Der Server sagt: {detail}",
    ],
    "note.changed": [
        "Not stored: the file has changed since its first part was sent. Try again to send it from the start.",
        "未存储：发送第一部分之后文件已改变。重试将从头发送。",
        "Nicht gespeichert: die Datei wurde geändert, seit ihr erster Teil gesendet ist. Ein neuer Versuch sendet sie von vorn.",
    ],
    "note.unreadable": [
        "Not stored: the file can no longer be read. Choose it again.",
        "未存储：无法再读取该文件。请重新选择。",
        "Nicht gespeichert: die Datei ist nicht mehr lesbar. Wähle sie erneut aus.",
    ],
    "note.quotaExceeded": [
        "Not stored: your quota is used up. Remove something, then try again. {detail}",
        "未存储：配额已用完。请删除一些内容后重试。{detail}",
        "Nicht gespeichert: dein Kontingent ist erschöpft. Entferne etwas, dann versuche es erneut. {detail}",
    ],
    "note.insufficientStorage": [
        "Not stored: the server has no room. Try again later. {detail}",
        "未存储：服务器空间不足。请稍后重试。{detail}",
        "Nicht gespeichert: der Server hat keinen Platz. Versuche es später erneut. {detail}",
    ],
    "note.uploadTooLarge": [
        "Not stored: the file is larger than the server accepts. {detail}",
        "未存储：文件超过服务器允许的大小。{detail}",
        "Nicht gespeichert: die Datei ist größer, als der Server annimmt. {detail}",
    ],
    "note.invalidPath": [
        "Not stored: the server does not allow this name. Rename the file, then choose it again. {detail}",
        "未存储：服务器不允许此名称。请重命名后重新选择。{detail}",
        "Nicht gespeichert: der Server erlaubt diesen Namen nicht. Benenne die Datei um, dann wähle sie erneut aus. {detail}",
    ],
    "note.forbidden": [
        "Not stored: you may not store files here. Choose another folder. {detail}",
        "未存储：您不能在此存储文件。请选择其他文件夹。{detail}",
        "Nicht gespeichert: du darfst hier nichts speichern. Wähle einen anderen Ordner. {detail}",
    ],
    "note.pathConflict": [
        "Not stored: the name is taken. Rename the file, then choose it again. {detail}",
        "未存储：名称已被占用。请重命名后重新选择。{detail}",
        "Nicht gespeichert: der Name ist vergeben. Benenne die Datei um, dann wähle sie erneut aus. {detail}",
    ],
};

/** @param {number} at */
const words = (at) =>
    Object.fromEntries(
        Object.entries(table).filter(([, texts]) => texts[at]).map(([key, texts]) => [`upload.${key}`, texts[at]]),
    );
define({ en: words(0), zh: words(1), de: words(2) });

/** The text of a key of uploads. @param {string} key @param {Record<string, string | number>} [values] */
export const word = (key, values) => say(`upload.${key}`, values);
