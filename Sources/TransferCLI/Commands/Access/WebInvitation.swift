internal import TransferAccess
private import TransferHTTP
private import TransferIO
internal import TransferModel

/// A link that begins the session of one browser.
struct WebInvitation: Sendable {
    /// The properties of the browser's session.
    struct Terms: Sendable {
        /// The name of the session in lists, logs and pages.
        let name: String

        /// The time at which the session ends.
        let ends: UTCTime

        /// The server's URL without a slash at its end; nil to ask the running server for its address.
        let base: String?
    }

    /// When the link becomes invalid.
    let expires: UTCTime

    private let id: String
    private let terms: Terms
    private let options: AccessOptions
    private let link: String
    private let drawn: DrawnLink

    /// Creates a link that is valid for ten minutes.
    ///
    /// - Parameters:
    ///   - base: the URL at which browsers reach the server, without a slash at its end.
    ///   - options: the rights and limits of the session.
    ///   - drawsCode: whether the QR code is drawn even if the output is not a terminal.
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

    /// Whether there is a QR code to draw.
    var hasCode: Bool { drawn.isDrawn }

    var json: JSONLine {
        AccessOutput.json("web", id, terms.name, options, secret: link, sessionExpires: terms.ends)
    }

    /// Draws the QR code if there is room, and prints the link.
    func print() {
        drawn.print()
        StandardStream.output.write(link + "\n")
    }

    /// - Parameter text: the value of `--url`.
    /// - Returns: nil if the text is not the URL of a server without path and credentials.
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
