import TransferHTTP
import TransferModel

/// A folder as a table for people, which works without scripts.
struct ListingPage {
    /// The texts of the page in one language.
    struct Words {
        let language: String
        let folder: String
        let name: String
        let size: String
        let modified: String
        let above: String
        let empty: String
        let send: String
        let signedIn: String
        let signOut: String
        /// For a client that may not read.
        let onlySend: String

        static let english = Words(
            language: "en", folder: "Folder", name: "Name", size: "Size", modified: "Changed", above: "Up",
            empty: "This folder is empty.", send: "Send files", signedIn: "Signed in as",
            signOut: "Sign out", onlySend: "You may send files here. What is here is not shown.")

        static let chinese = Words(
            language: "zh", folder: "文件夹", name: "名称", size: "大小", modified: "修改时间", above: "上一级",
            empty: "这里什么也没有。", send: "发送文件", signedIn: "已登录：", signOut: "退出",
            onlySend: "您可以在此发送文件，但看不到这里的内容。")

        static let german = Words(
            language: "de", folder: "Ordner", name: "Name", size: "Größe", modified: "Geändert", above: "Nach oben",
            empty: "Dieser Ordner ist leer.", send: "Dateien senden", signedIn: "Angemeldet als", signOut: "Abmelden",
            onlySend: "Du kannst hierher Dateien senden. Was hier liegt, wird nicht gezeigt.")
    }

    let words: Words

    /// Whether the client may send files.
    let maySend: Bool

    /// Whether links to folders ask for their tables.
    let isForced: Bool

    /// Name of the client that is signed in; nil without a session.
    var session: String?

    /// The page for a client that may not read: without a table.
    func withoutEntries(_ path: String) -> [UInt8] {
        Array((head(path) + "<p>\(words.onlySend)</p>\n</main>\n</body>\n</html>\n").utf8)
    }

    func opening(_ path: String) -> String { head(path) + table }

    private func head(_ path: String) -> String {
        let title = "\(words.folder) /\(path)".htmlEscaped
        let above = path.isEmpty ? "" : "<p><a href=\"../\(query)\">\(words.above)</a></p>\n"
        return """
            <!DOCTYPE html>
            <html lang="\(words.language)">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(title)</title>
            <style>
            \(SmallPage.look)
            body { max-width: 60rem; margin: 1rem auto }
            table { width: 100%; border-collapse: collapse }
            th, td { text-align: left; padding: .25rem .5rem; overflow-wrap: anywhere }
            .n { text-align: right; white-space: nowrap }
            tr:nth-child(even) { background: #8881 }
            @media (max-width: 40rem) { .n { white-space: normal } }
            </style>
            </head>
            <body>
            <main>
            <h1>\(title)</h1>
            \(signOut)\(above)\(maySend ? form : "")
            """
    }

    private var table: String {
        """
        <table>
        <thead><tr><th scope="col">\(words.name)</th><th scope="col" class="n">\(words.size)</th>\
        <th scope="col" class="n">\(words.modified)</th></tr></thead>
        <tbody>

        """
    }

    private var query: String { isForced ? "?\(PageShell.tableQuery)" : "" }

    private var signOut: String {
        guard let session else { return "" }
        return """
            <form method="post" action="/\(RelativePath.reservedName)/out">
            <p>\(words.signedIn) \(session.htmlEscaped) <button>\(words.signOut)</button></p>
            </form>

            """
    }

    /// A form that works without scripts: the browser sends the chosen files, and shows the folder again.
    private var form: String {
        """
        <form method="post" enctype="multipart/form-data">
        <p><label>\(words.send) <input type="file" name="file" multiple required></label> \
        <button>\(words.send)</button></p>
        </form>

        """
    }

    func row(_ entry: EntryDocument) -> String {
        let name =
            entry.path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(decoding: $0, as: UTF8.self) } ?? ""
        let end = entry.isDirectory ? "/" : ""
        let size = entry.isDirectory ? "" : ByteFormat.size(entry.size)
        let time = UTCTime(clamping: entry.modified.seconds)
        // The prefix makes the link relative, whatever the name begins with.
        let link = "./" + PercentEncoding.component(name.utf8) + (entry.isDirectory ? "/\(query)" : "")
        return """
            <tr><td><a href="\(link)">\((name + end).htmlEscaped)</a></td><td class="n">\(size)</td>\
            <td class="n"><time datetime="\(time)">\(time.forReaders)</time></td></tr>

            """
    }

    func ending(_ count: Int) -> String {
        "</tbody>\n</table>\n" + (count == 0 ? "<p>\(words.empty)</p>\n" : "") + "</main>\n</body>\n</html>\n"
    }
}

extension String {
    /// The string as text of a page, or as a quoted attribute. Characters that could change the display are shown as
    /// escapes.
    var htmlEscaped: String {
        var text = ""
        for scalar in escapedForDisplay.unicodeScalars {
            switch scalar {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            case "\"": text += "&quot;"
            case "'": text += "&#39;"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
