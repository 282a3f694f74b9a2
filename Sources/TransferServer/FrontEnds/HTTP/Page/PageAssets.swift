import CPage
import TransferCodec
import TransferHTTP
import TransferModel

/// The scripts, style sheet and icons of the page for browsers, which are a part of the program.
struct PageAssets: Sendable {
    struct Asset: Sendable {
        let type: String
        let bytes: [UInt8]
        /// The bytes as one zlib stream, the content coding `deflate` (RFC 9110, section 8.4.1.2); nil if that is not shorter.
        let deflated: [UInt8]?
    }

    /// Made when a browser first asks for the page.
    static let shared = PageAssets()

    private let assets: [PathKey: Asset]

    /// Identifies the content of all assets: their addresses change with it, so that browsers can keep them for good.
    let version: String

    /// The scripts that the page in a language needs for its first folder.
    static func modules(_ language: String) -> [String] {
        let always = [
            "main", "actions", "dialog", "dom", "format", "list", "live", "places", "readings", "server", "shell",
            "table",
            "trash", "words", "words-\(language)",
        ]
        return always.map { "\($0).js" }
    }

    private init() {
        let hasher = BlockHasher(.sha256)
        let deflater = Deflater(level: 9, engine: .zlib)
        var assets: [PathKey: Asset] = [:]
        for index in 0..<cpage_count() {
            let file = cpage_file_at(index)
            let bytes = UnsafeBufferPointer(start: file.bytes, count: file.size)
            let name = String(cString: file.name)
            let sent = name.hasSuffix(".svg") ? Array(bytes) : Self.withoutComments(bytes)
            hasher.update(UnsafeRawBufferPointer(bytes))
            assets[PathKey(name)] = Asset(
                type: Self.type(of: name), bytes: sent,
                deflated: sent.withUnsafeBytes { Self.deflated($0, deflater) })
        }
        self.assets = assets
        version = String(String(hexadecimal: hasher.finish()).prefix(16))
    }

    subscript(name: String) -> Asset? { assets[PathKey(name)] }

    /// The folder of the assets, with slashes at both ends.
    var folder: String { "/\(RelativePath.reservedName)/page/\(version)/" }

    /// Leaves out indentation, empty lines, and comments that take whole lines: a third of the scripts. No text of the scripts has several
    /// lines.
    static func withoutComments(_ text: some Sequence<UInt8>) -> [UInt8] {
        let (slashes, begin, end) = (Array("//".utf8), Array("/*".utf8), Array("*/".utf8))
        var sent: [UInt8] = []
        var isInComment = false
        for line in Array(text).split(separator: UInt8(ascii: "\n")) {
            let code = line.drop { $0 == UInt8(ascii: " ") }
            let begins = !isInComment && code.starts(with: begin)
            if isInComment || begins {
                let endsHere = code.suffix(end.count).elementsEqual(end)
                // Code follows a comment such as a type in front of it.
                let isCode = begins && !endsHere && code.firstRange(of: end) != nil
                isInComment = !endsHere && !isCode
                guard isCode else { continue }
            } else if code.isEmpty || code.starts(with: slashes) {
                continue
            }
            sent += code + [UInt8(ascii: "\n")]
        }
        return sent
    }

    private static func deflated(_ bytes: UnsafeRawBufferPointer, _ deflater: Deflater) -> [UInt8]? {
        var output = [UInt8](repeating: 0, count: max(1, bytes.count))
        let count = output.withUnsafeMutableBytes { deflater.deflate(bytes, into: $0) }
        return count.flatMap { $0 < bytes.count ? Array(output[..<$0]) : nil }
    }

    /// The media type of a file of the page. Stored files have other types, so that none of them can run.
    private static func type(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "js": "text/javascript; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "svg": "image/svg+xml"
        default: "application/octet-stream"
        }
    }
}

/// Answers `/.transfer/page/VERSION/NAME`: the files of the page. They are the same for every client, and need no credentials.
struct AssetHandler: HTTPHandler {
    let context: HTTPContext

    private static let folder = Array("/\(RelativePath.reservedName)/page/".utf8)

    static func isAsset(_ head: RequestHead) -> Bool { head.resource.utf8.starts(with: folder) }

    func give(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) -> HTTPResponse {
        guard [.get, .head].contains(request.head.method) else {
            throw HTTPRefusal(405, .wrongForm, "This path allows only GET and HEAD.", [("Allow", "GET, HEAD")])
        }
        let assets = PageAssets.shared
        let names = target.path.split(separator: "/", omittingEmptySubsequences: false)
        guard names.count == 4, !target.isFolder, let asset = assets[String(names[3])] else {
            throw HTTPRefusal(404, .notFound, "The page has no such file.")
        }
        // The page of an earlier server may ask for its own files, which are gone.
        guard assets.version.hasSameBytes(as: String(names[2])) else {
            throw HTTPRefusal(404, .notFound, "The server has been updated: load the page again.")
        }
        let fields = [("Cache-Control", "public, max-age=31536000, immutable"), ("Vary", "Accept-Encoding")]
        let codings = request.head.fields.list("accept-encoding")
        guard let deflated = asset.deflated, codings.contains(where: { HTTPCharacter.areSame($0.utf8, "deflate") })
        else { return .reply(HTTPReply(200, fields, asset.bytes, type: asset.type)) }
        return .reply(HTTPReply(200, fields + [("Content-Encoding", "deflate")], deflated, type: asset.type))
    }
}
