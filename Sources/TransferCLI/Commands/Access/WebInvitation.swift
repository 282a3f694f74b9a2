internal import TransferAccess
private import TransferHTTP
private import TransferIO
internal import TransferModel

/// A link that begins the session of one browser.
struct WebInvitation: Sendable {
    /// What there is to say of its session.
    struct Terms: Sendable {
        /// What lists, logs and pages call it.
        let name: String

        /// When it ends.
        let ends: UTCTime

        /// Where browsers reach the server, without a slash at the end; nothing where the server is to be asked.
        let base: String?
    }

    /// When the link is good for nothing any more.
    let expires: UTCTime

    private let id: String
    private let terms: Terms
    private let options: AccessOptions
    private let link: String
    private let drawn: DrawnLink

    /// Makes a link that is good for ten minutes.
    ///
    /// - Parameters:
    ///   - base: where browsers reach the server.
    ///   - options: what the session may do.
    ///   - drawsCode: whether the link is drawn also where the output is no terminal.
    init(
        _ lists: any AccessLists, _ terms: Terms, base: String, options: AccessOptions, drawsCode: Bool, at now: UTCTime
    ) throws(AccessFault) {
        expires = now.advanced(bySeconds: AccessSecret.pairingSeconds)
        var options = options
        options.expires = expires
        let secret = try lists.issueLink(name: terms.name, options: options, sessionEnds: terms.ends, at: now)
        (id, self.terms, self.options) = (secret.id, terms, options)
        link = "\(base)/\(RelativePath.reservedName)/in/\(secret.text)"
        drawn = DrawnLink(link, isAsked: drawsCode)
    }

    /// Whether the link can be drawn.
    var hasCode: Bool { drawn.isDrawn }

    var json: JSONLine {
        AccessOutput.json("web", id, terms.name, options, secret: link, sessionExpires: terms.ends)
    }

    /// Draws the link where there is room, and prints it.
    func print() {
        drawn.print()
        StandardStream.output.write(link + "\n")
    }

    /// - Parameter text: as the flag has it.
    /// - Returns: nothing for what is no URL of a server.
    static func base(_ text: String) -> String? {
        guard let address = WebAddress(text), address.credentials == nil, address.path.utf8.elementsEqual("/".utf8)
        else {
            return nil
        }
        return text.utf8.last == UInt8(ascii: "/") ? String(text.dropLast()) : text
    }

    /// - Parameter host: without brackets.
    static func base(host: String, port: UInt16) -> String {
        "https://\(Endpoint.internet(host: host, port: port).description)"
    }
}
