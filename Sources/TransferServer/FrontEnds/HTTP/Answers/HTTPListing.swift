import TransferHTTP
import TransferIO
import TransferIntake
import TransferModel
import TransferPorts

/// The answer to a request for a folder: a page, or JSON. Used by one task at a time.
final class HTTPListing: HTTPAnswer {
    /// The format of the entries.
    enum Form {
        case page(ListingPage)
        /// One JSON array of all entries.
        case json
        /// JSON, one line for each entry.
        case lines

        var type: String {
            switch self {
            case .page: "text/html; charset=utf-8"
            case .json: "application/json"
            case .lines: "application/x-ndjson"
            }
        }
    }

    /// Entries that are looked up together; each page is one query of the catalog.
    private static let pageSize = 128

    /// Folders with at most this many entries are sorted; larger ones have the order of the file system.
    private static let mostSorted = 4096

    let path: String
    private let form: Form
    private let fields: [(String, String)]
    private let body: StreamedBody
    private let known: KnownUploads
    private let listing: (any StoredListing)?
    /// Entries to write, the next one first.
    private var entries: ArraySlice<EntryDocument> = []
    private var hasBegun = false
    private var isAtEnd = false
    private var hasEnded = false
    private var count = 0

    var endsConnection: Bool { body.endsConnection }

    /// - Parameters:
    ///   - path: as the client knows it; empty for its top folder.
    ///   - listing: nil for a folder that does not exist yet.
    init(
        _ path: String, _ listing: (any StoredListing)?, _ form: Form, fields: [(String, String)], _ body: StreamedBody,
        _ known: KnownUploads
    ) {
        (self.path, self.listing, self.form, self.fields) = (path, listing, form, fields)
        (self.body, self.known) = (body, known)
    }

    func head(isLast: Bool) -> [UInt8] { body.head(fields + [("Content-Type", form.type)], isLast: isLast) }

    func fill(_ outcome: inout HTTPOutcome, from pool: BufferPool) throws(Failure) -> Bool {
        while outcome.room > 0, !hasEnded {
            if !hasBegun {
                try gather()
                body.write(Array(opening.utf8), to: &outcome)
                hasBegun = true
            } else if let entry = try next() {
                body.write(text(of: entry), to: &outcome)
                count += 1
            } else {
                body.write(Array(ending.utf8), to: &outcome)
                body.end(&outcome)
                hasEnded = true
            }
        }
        return hasEnded
    }

    func events(peer: String) -> [LogEvent] { [.listed(path, UInt64(count), peer: peer)] }

    // MARK: Entries

    /// Reads as many entries as can be sorted.
    private func gather() throws(Failure) {
        var first: [EntryDocument] = []
        while !isAtEnd, first.count < Self.mostSorted { first += try page() }
        if isAtEnd { first.sort { PathKey($0.path) < PathKey($1.path) } }
        entries = first[...]
    }

    private func next() throws(Failure) -> EntryDocument? {
        while entries.isEmpty, !isAtEnd { entries = try page()[...] }
        return entries.popFirst()
    }

    private func page() throws(Failure) -> [EntryDocument] {
        guard let page = try listing?.next(Self.pageSize), !page.isEmpty else {
            isAtEnd = true
            return []
        }
        let details = known.details(of: page.map { ($0.path, $0.attributes) })
        let folder = path.isEmpty ? "" : path + "/"
        return page.enumerated().map { index, entry in
            EntryDocument(
                folder + String(entry.path.name), entry.attributes,
                details.indices.contains(index) ? details[index] : nil)
        }
    }

    // MARK: Text

    private var opening: String {
        switch form {
        case .page(let page): page.opening(path)
        case .json: "["
        case .lines: ""
        }
    }

    private var ending: String {
        switch form {
        case .page(let page): page.ending(count)
        case .json: "\n]\n"
        case .lines: ""
        }
    }

    private func text(of entry: EntryDocument) -> [UInt8] {
        switch form {
        case .page(let page): Array(page.row(entry).utf8)
        case .json: Array(((count == 0 ? "\n" : ",\n") + entry.json.text).utf8)
        case .lines: entry.json.terminated
        }
    }
}

extension EntryDocument {
    /// - Parameter known: its entry in the catalog; nil if it has none.
    fileprivate init(_ path: String, _ attributes: StoredAttributes, _ known: CatalogEntry?) {
        self.init(
            path: path, isDirectory: attributes.isDirectory, size: attributes.size, modified: attributes.modified,
            permissions: attributes.permissions, kind: known?.kind, digest: known?.digest,
            stored: known.map {
                Timestamp(
                    seconds: $0.committed / 1_000_000_000, nanoseconds: UInt32(clamping: $0.committed % 1_000_000_000))
            })
    }
}

/// A folder as a page for people, which works without scripts.
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

        static let english = Words(
            language: "en", folder: "Folder", name: "Name", size: "Size", modified: "Changed", above: "Up",
            empty: "This folder is empty.", send: "Send files", signedIn: "Signed in as",
            signOut: "Sign out")

        static let chinese = Words(
            language: "zh", folder: "文件夹", name: "名称", size: "大小", modified: "修改时间", above: "上一级",
            empty: "这里什么也没有。", send: "发送文件", signedIn: "已登录：", signOut: "退出")
    }

    let words: Words

    /// Whether the client may send files.
    let maySend: Bool

    /// Name of the client that is signed in; nil without a session.
    var session: String?

    func opening(_ path: String) -> String {
        let title = "\(words.folder) /\(path)".htmlEscaped
        let above = path.isEmpty ? "" : "<p><a href=\"../\">\(words.above)</a></p>\n"
        return """
            <!DOCTYPE html>
            <html lang="\(words.language)">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(title)</title>
            <style>
            body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 1rem auto; padding: 0 1rem }
            table { width: 100%; border-collapse: collapse }
            th, td { text-align: left; padding: .25rem .5rem; overflow-wrap: anywhere }
            .n { text-align: right; white-space: nowrap }
            tr:nth-child(even) { background: #8881 }
            :root { color-scheme: light dark }
            </style>
            </head>
            <body>
            <h1>\(title)</h1>
            \(signOut)\(above)\(maySend ? form : "")<table>
            <thead><tr><th scope="col">\(words.name)</th><th scope="col" class="n">\(words.size)</th>\
            <th scope="col" class="n">\(words.modified)</th></tr></thead>
            <tbody>

            """
    }

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
        let time = UTCTime(clamping: entry.modified.seconds).description
        // The prefix makes the link relative, whatever the name begins with.
        let link = "./" + PercentEncoding.component(name.utf8) + end
        return """
            <tr><td><a href="\(link)">\((name + end).htmlEscaped)</a></td><td class="n">\(size)</td><td class="n">\(time)</td></tr>

            """
    }

    func ending(_ count: Int) -> String {
        "</tbody>\n</table>\n" + (count == 0 ? "<p>\(words.empty)</p>\n" : "") + "</body>\n</html>\n"
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
